"""MySQL and MariaDB types: how each column is asked for and becomes Arrow, and how a comparison is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol

from .columns import Column, Kind
from .narrowing import Comparison
from .pushdown import Relation

if TYPE_CHECKING:
    import pyarrow as pa

# Type codes of the protocol.
TINY, SHORT, LONG, FLOAT, DOUBLE, NULL, TIMESTAMP, LONGLONG, INT24 = range(1, 10)
DATE, TIME, DATETIME, YEAR, BIT = 10, 11, 12, 13, 16
JSON, NEWDECIMAL, ENUM, SET = 245, 246, 247, 248
DECIMAL, NEWDATE, GEOMETRY = 0, 14, 255
INTEGERS: Final[Mapping[int, int]] = {TINY: 8, SHORT: 16, INT24: 32, LONG: 32, LONGLONG: 64}
UNSIGNED, BINARY_CHARSET = 32, 63

PART: Final = re.compile(r"`((?:[^`]|``)+)`|([^`.]+)")


class Field(Protocol):
    """A column of a result, as the protocol describes it."""

    name: str
    type_code: int
    length: int
    scale: int
    flags: int
    charsetnr: int


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def columns_of(fields: Sequence[Field]) -> tuple[Column, ...]:
    return tuple(_column(field) for field in fields)


def _column(field: Field) -> Column:
    name, code = field.name, field.type_code
    given = quoted(name)
    if code == TINY and field.length == 1:
        return Column(name, Kind.BOOL, "tinyint(1)", given)
    if code in INTEGERS:
        unsigned = bool(field.flags & UNSIGNED)
        return Column(name, Kind.INT, f"{'uint' if unsigned else 'int'}{INTEGERS[code]}", given)
    if code in (DECIMAL, NEWDECIMAL):
        return _decimal(field, given)
    if code == FLOAT:  # as it stands it would be rounded to six digits on its way
        return Column(name, Kind.FLOAT32, "float", f"({given} + 0e0)", verbatim=False)
    if code == DOUBLE:
        return Column(name, Kind.FLOAT64, "double", given)
    if code in (DATE, NEWDATE):
        return Column(name, Kind.DATE, "date", given, loose=True)
    if code in (DATETIME, TIMESTAMP):
        kind = Kind.TIMESTAMP if code == DATETIME else Kind.TIMESTAMPTZ
        return Column(name, kind, "datetime" if code == DATETIME else "timestamp", given, loose=True)
    if code == TIME:  # may be negative or of more than a day
        return Column(name, Kind.OPAQUE, "time", f"CAST({given} AS CHAR)", verbatim=False)
    if code == YEAR:  # compared there by rules for years of two digits
        return Column(name, Kind.OPAQUE, "year", given)
    if code == BIT:
        return Column(name, Kind.OPAQUE, "bit", f"({given} + 0)", verbatim=False)
    if code == JSON:
        return Column(name, Kind.OPAQUE, "json", given)
    if code == NULL:
        return Column(name, Kind.OPAQUE, "null", given)
    if field.charsetnr == BINARY_CHARSET or code == GEOMETRY:
        return Column(name, Kind.OPAQUE, "binary", given)
    return Column(name, Kind.TEXT, "text", given)


def _decimal(field: Field, given: str) -> Column:
    scale = field.scale if field.scale < 31 or field.length > 31 else 0
    precision = field.length - (1 if scale else 0) - (0 if field.flags & UNSIGNED else 1)
    declared = f"decimal({precision},{scale})"
    if precision > 38 or precision < 1:
        return Column(field.name, Kind.OPAQUE, "decimal", given)
    return Column(field.name, Kind.DECIMAL, declared, given, (precision, max(0, min(scale, precision))))


def schema_of(columns: Sequence[Column]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([pa.field(column.name, _arrow_type(column)) for column in columns])


def _arrow_type(column: Column) -> pa.DataType:
    import pyarrow as pa

    if column.kind is Kind.DECIMAL and column.digits is not None:
        return pa.decimal128(*column.digits)
    if column.kind is Kind.INT:
        sized: pa.DataType = getattr(pa, column.declared)()
        return sized
    simple: Mapping[Kind, Callable[[], pa.DataType]] = {
        Kind.BOOL: pa.bool_,
        Kind.FLOAT32: pa.float32,
        Kind.FLOAT64: pa.float64,
        Kind.DATE: pa.date32,
        Kind.TIMESTAMP: lambda: pa.timestamp("us"),
        Kind.TIMESTAMPTZ: lambda: pa.timestamp("us", "UTC"),
    }
    if column.kind in simple:
        return simple[column.kind]()
    if column.declared in ("year", "bit"):
        return pa.int16() if column.declared == "year" else pa.uint64()
    return pa.binary() if column.declared == "binary" else pa.string()


def batch_of(rows: Sequence[Sequence[Any]], schema: pa.Schema, columns: Sequence[Column]) -> pa.RecordBatch:
    """Rows of Python values, as text or decoded by the driver, column by column."""
    import pyarrow as pa

    by_column = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    arrays = [
        _array(values, field.type, column) for values, field, column in zip(by_column, schema, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], target: pa.DataType, column: Column) -> Any:
    import pyarrow as pa

    if column.kind is Kind.BOOL:
        return pa.array([None if value is None else bool(value) for value in values], target)
    if column.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        return _times(values, target)
    if column.kind is Kind.DECIMAL or column.declared in ("year", "bit"):
        return pa.array([None if value is None else str(value) for value in values], pa.string()).cast(target)
    if pa.types.is_string(target) and any(not isinstance(value, str) for value in values if value is not None):
        return pa.array([value if value is None else _text(value) for value in values], target)
    return pa.array(values, target)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _times(values: Sequence[Any], target: pa.DataType) -> Any:
    """Dates and moments; '0000-00-00' and days like '2024-02-00', which no calendar has, are null."""
    import pyarrow as pa

    if not any(isinstance(value, str) for value in values):
        return pa.array(values, target)
    naive = target if pa.types.is_date32(target) else pa.timestamp("us")
    try:
        found = pa.array(values, pa.string()).cast(naive)
    except pa.ArrowInvalid:
        found = pa.array([_moment(value) for value in values], pa.string()).cast(naive)
    return found.cast(target)


def _moment(value: str | None) -> str | None:
    if value is None:
        return None
    try:
        datetime.fromisoformat(value[:10])
    except ValueError:
        return None
    return value


class MySQLDialect:
    """Implements `pushdown.Dialect`. A value becomes a literal of a type of its own; text goes as hexadecimal digits,
    so that nothing in it can be SQL under any setting of the server.
    """

    def relation(self, table: str) -> Relation:
        parts = tuple(m[1].replace("``", "`") if m[1] else m[2] for m in PART.finditer(table))
        return Relation(".".join(map(quoted, parts)), name=table, parts=parts)

    def quoted(self, name: str) -> str:
        return quoted(name)

    def condition(self, comparison: Comparison, values: list[Any], *, shown: bool = False, exact: bool = False) -> str:
        write = hidden if shown else literal
        column = quoted(comparison.column.name)
        if comparison.kind is Kind.BOOL:
            return _bools(column, comparison.value if comparison.operator == "in" else (comparison.value,))
        if comparison.kind is Kind.TEXT:
            return _text_condition(column, comparison, write)
        if comparison.operator == "in":
            return f"{column} IN ({', '.join(write(value) for value in comparison.value)})"
        return f"{column} {comparison.operator} {write(comparison.value)}"


def hidden(value: Any) -> str:
    return "…"


def _bools(column: str, wanted: Sequence[bool]) -> str:
    if len(set(wanted)) == 2:
        return f"{column} IS NOT NULL"
    return f"{column} <> 0" if wanted[0] else f"{column} = 0"


def _text_condition(column: str, comparison: Comparison, write: Callable[[Any], str]) -> str:
    """By the column's collation, which may use an index, and then by bytes, as DuckDB compares.

    Other than ASCII text may have no place in the column's character set, and then the server refuses to compare.
    """
    texts = comparison.value if comparison.operator == "in" else (comparison.value,)
    exact = ", ".join(f"CAST({write(text)} AS BINARY)" for text in texts)
    bytewise = f"CAST(CONVERT({column} USING utf8mb4) AS BINARY) IN ({exact})"
    if not all(text.isascii() for text in texts):
        return bytewise
    return f"{column} IN ({', '.join(write(text) for text in texts)}) AND {bytewise}"


def literal(value: Any) -> str:
    """`value` as SQL that means just it, whatever the session's settings."""
    if isinstance(value, str):
        return f"_utf8mb4 0x{value.encode().hex()}" if value else "_utf8mb4''"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if "e" in text else f"{text}e0"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return f"TIMESTAMP'{value.replace(tzinfo=None).isoformat(' ', 'microseconds')}'"
    if isinstance(value, date):
        return f"DATE'{value.isoformat()}'"
    raise TypeError(f"no literal for {type(value).__name__}")
