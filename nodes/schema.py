"""Declared schemas: what their type words mean, and what happens to rows that do not fit (`contract`).

| contract | a column that is not declared | a value that does not fit |
|---|---|---|
| evolve | kept | TYPE_MISMATCH |
| freeze | SCHEMA_CHANGED | TYPE_MISMATCH |
| discard_row | rows that have it are dropped | its row is dropped |
| discard_value | the column is dropped | becomes null |

A declared column that no row has is all null; under `freeze` it is SCHEMA_CHANGED, unless there are no rows.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ..graphs.errors import Code, JackfieldError
from .conversions import Column, converted, kind_of, misfits
from .source import Contract

if TYPE_CHECKING:
    import pyarrow as pa

_WORDS: Final[Mapping[str, str]] = {
    "int": "int64",
    "integer": "int64",
    "bigint": "int64",
    "float": "float64",
    "number": "float64",
    "double": "float64",
    "string": "string",
    "text": "string",
    "uuid": "string",
    "json": "string",  # an object or a list is kept whole, as JSON text
    "bool": "bool",
    "boolean": "bool",
    "date": "date32",
    "time": "time64",
    "datetime": "timestamptz",  # a value without a zone is read as UTC
    "timestamptz": "timestamptz",
    "timestamp(tz)": "timestamptz",
    "timestamp": "timestamp",  # a value with a zone is turned to UTC, and loses it
}
_DECIMAL: Final = re.compile(r"decimal\((\d{1,2}),\s*(\d{1,2})\)\Z")
TEXT_WORDS: Final = frozenset({"string", "text", "json", "uuid"})
TYPE_WORDS: Final = (*_WORDS, "decimal(p,s)")


def is_type_word(word: str) -> bool:
    """Whether `word` names a type: a word of `TYPE_WORDS`, or one with `[]` after it for a list."""
    item = word.strip().lower().removesuffix("[]")
    match = _DECIMAL.match(item)
    if match:
        return 1 <= int(match[1]) <= 38 and int(match[2]) <= int(match[1])
    return item in _WORDS


def arrow_type(word: str) -> pa.DataType:
    """The Arrow type of a type word. Raises CONFIG_INVALID with the near words."""
    import pyarrow as pa

    if not is_type_word(word):
        near = difflib.get_close_matches(word, TYPE_WORDS, 3) or TYPE_WORDS
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"'{word}' is not a type.",
            f"Use one of: {', '.join(near)}; `[]` after it makes a list.",
        )
    item = word.strip().lower()
    if item.endswith("[]"):
        return pa.list_(arrow_type(item[:-2]))
    match = _DECIMAL.match(item)
    if match:
        return pa.decimal128(int(match[1]), int(match[2]))
    name = _WORDS[item]
    if name == "timestamptz":
        return pa.timestamp("us", tz="UTC")
    if name in ("timestamp", "time64"):
        return pa.timestamp("us") if name == "timestamp" else pa.time64("us")
    plain: dict[str, pa.DataType] = {
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "date32": pa.date32(),
    }
    return plain[name] if name in plain else pa.string()


def arrow_schema(declared: Mapping[str, str]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, arrow_type(word)) for name, word in declared.items()])


def obey(table: pa.Table, declared: Mapping[str, str], contract: Contract, source: str) -> pa.Table:
    """`table` with the declared columns first, in their types, and the rest as the contract says.

    Raises SCHEMA_CHANGED naming the columns, TYPE_MISMATCH naming row (from 1) and column, CONFIG_INVALID for a word
    that is no type.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = arrow_schema(declared)
    extra = [name for name in table.column_names if name not in declared]
    missing = [name for name in declared if name not in table.column_names]
    if contract == "freeze" and table.num_rows and (extra or missing):
        raise _changed(source, extra, missing)
    if contract == "discard_row" and extra:
        kept = pc.is_null(table[extra[0]])
        for name in extra[1:]:
            kept = pc.and_(kept, pc.is_null(table[name]))
        table = table.filter(kept)
    columns: dict[str, Column] = {}
    unfit: set[int] = set()
    for field in wanted:
        if field.name in missing:
            columns[field.name] = pa.array([None] * table.num_rows, field.type)
            continue
        column = table[field.name]
        fitted: Column = converted(column, field.type)
        if fitted is None:
            fitted, rows = misfits(column, field.type)
            if rows and contract in ("evolve", "freeze"):
                raise _mismatch(source, field.name, declared[field.name], column[rows[0]].as_py(), rows)
            if contract == "discard_row":
                unfit.update(rows)
        columns[field.name] = fitted
    if contract == "evolve":
        columns.update((name, table[name]) for name in extra)
    result = pa.table(columns)
    if unfit:
        result = result.take([row for row in range(result.num_rows) if row not in unfit])
    return result


def _changed(source: str, extra: Sequence[str], missing: Sequence[str]) -> JackfieldError:
    found = [f"has new columns {_quoted(extra)}"] if extra else []
    found += [f"lacks the columns {_quoted(missing)}"] if missing else []
    return JackfieldError(
        Code.SCHEMA_CHANGED,
        f"Source '{source}' {' and '.join(found)}, and its schema is frozen.",
        "Bring its `schema` up to date, or set `contract` to 'evolve', 'discard_row' or 'discard_value'.",
        {"source": source, "added": list(extra), "missing": list(missing)},
    )


def _mismatch(source: str, column: str, word: str, value: object, rows: Sequence[int]) -> JackfieldError:
    more = f" ({len(rows) - 1:,} more rows do not fit)" if len(rows) > 1 else ""
    return JackfieldError(
        Code.TYPE_MISMATCH,
        f"Source '{source}', row {rows[0] + 1}, column '{column}': found {kind_of(value)}, expected {word}{more}.",
        "Declare the type that the values have, or set `contract` to 'discard_row' or 'discard_value'.",
        {"source": source, "row": rows[0] + 1, "column": column, "found": kind_of(value), "expected": word},
    )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:10]) + (", …" if len(names) > 10 else "")
