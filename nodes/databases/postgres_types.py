"""Postgres types: how each column is asked for, so that nothing is lost on its way through ADBC into Arrow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from .columns import Column, Kind
from .narrowing import Comparison
from .pushdown import Relation

if TYPE_CHECKING:
    import pyarrow as pa

PART: Final = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
INTEGERS: Final = frozenset({"int2", "int4", "int8"})
TEXTS: Final = frozenset({"text", "varchar", "name"})
NATIVE: Final = frozenset({"bytea", "time", "interval"})
# Elements that arrive as they are, in an array of one dimension; others are asked for as text.
ELEMENTS: Final = frozenset({"bool", "float4", "float8", "text", "varchar", "bpchar", "name", *INTEGERS})
SIMPLE: Final[Mapping[str, Kind]] = {
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamptz": Kind.TIMESTAMPTZ,
    "bool": Kind.BOOL,
    **dict.fromkeys(INTEGERS, Kind.INT),
    "float4": Kind.FLOAT32,
    "float8": Kind.FLOAT64,
    **dict.fromkeys(TEXTS, Kind.TEXT),
    "bpchar": Kind.PADDED,
    **dict.fromkeys(NATIVE, Kind.OPAQUE),
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def parts_of(table: str) -> list[str]:
    """The names in `schema.table`; one that has a dot in it is written in double quotes."""
    return [match[1].replace('""', '"') if match[1] else match[2] for match in PART.finditer(table)]


def columns_of(schema: pa.Schema) -> tuple[Column, ...]:
    """The columns of a result that ADBC describes; its metadata names the Postgres types."""
    return tuple(_column(field) for field in schema)


def _column(field: pa.Field[Any]) -> Column:
    metadata = field.metadata or {}
    declared = metadata.get(b"POSTGRESQL:type", b"?").decode()
    modifier = int(metadata.get(b"POSTGRESQL:typmod", b"-1"))
    name = field.name
    given = quoted(name)
    if (kind := SIMPLE.get(declared)) is not None:
        return Column(name, kind, declared, given)
    if declared == "numeric":
        return _numeric(name, declared, given, modifier)
    if declared == "money":
        amount = f"{given}::numeric(20,2)"
        return Column(name, Kind.DECIMAL, declared, amount, (20, 2), verbatim=False, operand=amount)
    if declared == "uuid":
        return Column(name, Kind.UUID, declared, f"{given}::text", verbatim=False)
    if declared == "oid":
        return Column(name, Kind.OPAQUE, declared, f"{given}::int8", verbatim=False)
    if declared.startswith("_"):
        return Column(name, Kind.OPAQUE, declared, _array(given, declared[1:]), verbatim=False)
    declared = "other" if declared.startswith("unnamed") else declared
    return Column(name, Kind.OPAQUE, declared, f"{given}::text", verbatim=False)


def _numeric(name: str, declared: str, given: str, modifier: int) -> Column:
    text = f"{given}::text"  # the driver makes text of it in any case, and takes three times as long as the server
    if modifier < 4:
        return Column(name, Kind.DECIMAL, declared, text, None, nan=True)
    precision = ((modifier - 4) >> 16) & 0xFFFF
    scale = (((modifier - 4) & 0x7FF) ^ 1024) - 1024  # 11 bits, signed since Postgres 15
    declared = f"numeric({precision},{scale})"
    if scale < 0:  # rounds to tens: without places, but with as many more digits
        precision, scale = precision - scale, 0
    precision = max(precision, scale)
    if precision > 38:
        return Column(name, Kind.OPAQUE, declared, text)
    return Column(name, Kind.DECIMAL, declared, text, (precision, scale), nan=True)


def _array(given: str, element: str) -> str:
    """An array of one dimension as a list. ADBC would flatten one of more, so that is an error which says it."""
    value = given if element in ELEMENTS else f"{given}::text[]"
    cast = element if element in ELEMENTS else "text"
    told = f"('an array of ' || array_ndims({given}) || ' dimensions')::{cast}[]"
    return f"CASE WHEN array_ndims({given}) > 1 THEN {told} ELSE {value} END"


class PostgresDialect:
    """Implements `pushdown.Dialect`. Every value is bound and cast: text is not inferred to other types.

    `inline` writes values as literals instead: only a statement that binds nothing is copied, and so can be streamed.
    """

    def __init__(self, *, inline: bool = False) -> None:
        self._inline = inline

    def relation(self, table: str) -> Relation:
        parts = tuple(parts_of(table))
        return Relation(".".join(map(quoted, parts)), name=table, parts=parts)

    def quoted(self, name: str) -> str:
        return quoted(name)

    def condition(self, comparison: Comparison, values: list[Any], *, shown: bool = False, exact: bool = False) -> str:
        column = comparison.column.operand or quoted(comparison.column.name)
        cast = CASTS[comparison.kind]
        if self._inline and not shown:
            listed = comparison.value if comparison.operator == "in" else (comparison.value,)
            literals = ", ".join(literal(comparison.kind, value) for value in listed)
            found = f"IN ({literals})" if comparison.operator == "in" else f"{comparison.operator} {literals}"
        elif comparison.operator == "in":
            values.append([_sent(value) for value in comparison.value])
            through = "text[]::" if cast.startswith("text::") else ""
            found = f"= ANY (${len(values)}::{through}{cast.removeprefix('text::')}[])"
        else:
            values.append(_sent(comparison.value))
            found = f"{comparison.operator} ${len(values)}::{cast}"
        if (
            exact and comparison.kind is Kind.TEXT
        ):  # a collation may take 'a' for 'A'; by the first test an index is used
            return f'{column} {found} AND {column} COLLATE "C" {found}'
        return f"{column} {found}"


CASTS: Final[Mapping[Kind, str]] = {
    Kind.BOOL: "bool",
    Kind.INT: "int8",
    Kind.DECIMAL: "text::numeric",
    Kind.FLOAT32: "float8",
    Kind.FLOAT64: "float8",
    Kind.TEXT: "text",
    Kind.PADDED: "text::bpchar",
    Kind.UUID: "text::uuid",
    Kind.DATE: "text::date",
    Kind.TIMESTAMP: "text::timestamp",
    Kind.TIMESTAMPTZ: "text::timestamptz",
}


def literal(kind: Kind, value: Any) -> str:
    """`value` as SQL that means just it. Text goes as the numbers of its letters: nothing in it can be SQL."""
    if kind in (Kind.TEXT, Kind.PADDED):
        letters = "".join(f"\\U{ord(letter):08X}" for letter in value)
        return f"E'{letters}'::{'bpchar' if kind is Kind.PADDED else 'text'}"
    plain = str(_sent(value))
    assert "'" not in plain, "numbers, times and UUIDs have no quotes"
    return f"'{plain}'::{CASTS[kind].removeprefix('text::')}"


def _sent(value: Any) -> Any:
    """As text what ADBC would bind wrongly: a moment with zone leaves its connection inside a transaction."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return value
