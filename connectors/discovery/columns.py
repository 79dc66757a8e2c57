"""Columns out of rows: their types, which one names a row, which hold few different values, which look secret."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from ...graphs.model import Json
from ..secret_text import KINDS, SECRET_FIELD
from .found import Column
from .naming import identifier, singular

if TYPE_CHECKING:
    import pyarrow as pa

FEW: Final = 12  # different values that an agent can be told of
EXAMPLES: Final = 3
LONGEST_EXAMPLE: Final = 60
_SECRET_NAME: Final = re.compile(r"(^|_)(hash|salt|pin|otp|cvv|cvc|ssn|private_key|secret|pwd)(_|$)", re.IGNORECASE)
_NOT_SECRET: Final = re.compile(r"(^|_)(next_page_token|page_token|tokens|token_count|max_tokens)$", re.IGNORECASE)
_KEY_NAMES: Final = ("id", "uuid", "guid", "key", "code", "slug", "number", "sku", "isbn", "email")


def columns_of(table: pa.Table, name: str = "", known: Mapping[str, Column] | None = None) -> tuple[Column, ...]:
    """The columns of a sample of rows; `known` says more of some of them: a database does.

    `name` is what one calls the rows: it tells `pet_id` of pets from `pet_id` of orders.
    """
    known = known or {}
    found = [_column(column_name, table[column_name], known.get(column_name)) for column_name in table.column_names]
    if any(column.is_key for column in found):
        return tuple(found)
    key = _key(found, table, name)
    return tuple(replace(column, is_key=True, nullable=False) if column.name == key else column for column in found)


def looks_secret_by_name(name: str) -> bool:
    if _NOT_SECRET.search(name):
        return False
    return SECRET_FIELD.search(name) is not None or _SECRET_NAME.search(identifier(name)) is not None


def _column(name: str, values: Any, known: Column | None) -> Column:
    held = [value for value in values.to_pylist() if value is not None]
    secret = looks_secret_by_name(name) or any(_is_secret(value) for value in held)
    column = Column(
        name,
        known.type if known else type_word(values.type),
        known.nullable if known else len(held) < len(values) or not held,
        known.is_key if known else False,
        known.values if known else (),
        native=known.native if known else "",
        refers=known.refers if known else None,
        is_secret=secret,
    )
    if secret:
        return column
    different = list(dict.fromkeys(value for value in held if isinstance(value, str | int | bool)))
    return replace(column, few=_few(held, different), examples=_examples(held))


def type_word(found: pa.DataType) -> str:
    """The word for an Arrow type that a source's `schema` has."""
    from pyarrow import types

    if types.is_list(found) or types.is_large_list(found):
        return "json" if types.is_nested(found.value_type) else f"{type_word(found.value_type)}[]"
    if types.is_decimal(found):
        return f"decimal({found.precision},{found.scale})"
    if types.is_timestamp(found):
        return "datetime" if found.tz else "timestamp"
    tests = (
        (types.is_binary, "binary"),
        (types.is_large_binary, "binary"),
        (types.is_boolean, "bool"),
        (types.is_integer, "int"),
        (types.is_floating, "float"),
        (types.is_date, "date"),
        (types.is_time, "time"),
        (types.is_nested, "json"),
    )
    return next((word for test, word in tests if test(found)), "string")


def _is_secret(value: Any) -> bool:
    return isinstance(value, str) and any(pattern.search(value) for _, pattern in KINDS)


def _few(held: Sequence[Any], different: Sequence[Any]) -> tuple[Json, ...]:
    """The different values, where they are few for so many rows: a state or a kind, not a name."""
    if len(different) < 2 or len(different) > FEW or len(different) * 2 > len(held) or len(held) < 4:
        return ()
    if any(not isinstance(value, str | int) for value in held):
        return ()
    if any(isinstance(value, str) and (len(value) > 40 or not value.isprintable()) for value in different):
        return ()
    return tuple(sorted(different, key=lambda value: (str(type(value)), value)))


def _examples(held: Sequence[Any]) -> tuple[Json, ...]:
    shown: list[Json] = []
    for value in held:
        example = as_json(value)
        if isinstance(example, str) and len(example) > LONGEST_EXAMPLE:
            continue
        if not isinstance(example, dict | list) and example not in shown:
            shown.append(example)
        if len(shown) == EXAMPLES:
            break
    return tuple(shown)


def as_json(value: Any) -> Json:
    if isinstance(value, dt.date | dt.datetime | dt.time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if isinstance(value, str | int | float | bool | list | dict) else str(value)


def _key(columns: Sequence[Column], table: pa.Table, name: str) -> str | None:
    """The column that tells one row from another: never null, never twice, and called like a key."""
    one = identifier(singular(identifier(name))) if name else ""
    wanted = [*_KEY_NAMES[:3], *(f"{one}_{suffix}" for suffix in _KEY_NAMES if one), *_KEY_NAMES[3:], one]
    unique = {column.name: column for column in columns if table.num_rows and _is_unique(column, table)}
    by_name = {identifier(column): column for column in unique}
    for candidate in wanted:
        if candidate in by_name:
            return by_name[candidate]
    first = columns[0].name if columns else ""
    return first if first in unique and table.num_rows > 1 else None


def _is_unique(column: Column, table: pa.Table) -> bool:
    values = table[column.name]
    if column.type not in ("int", "string") or column.is_secret or values.null_count:
        return False
    return len(values.unique()) == len(values)
