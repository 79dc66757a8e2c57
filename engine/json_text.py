"""Rows as JSON text, written column by column: for a page of rows a tenth of what objects that are then encoded take.

The text says what `json_rows` says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa

from ..nodes.table import Columns
from .arrow_values import values_of
from .json_rows import EXACT, json_column, json_rows, json_value

FEW: Final = 8  # of so few rows the look at each column takes longer than the rows
MOMENTS: Final = (pa.timestamp("us"), pa.timestamp("us", "UTC"))
PLAIN: Final = frozenset(
    (pa.string(), pa.bool_(), pa.int16(), pa.int32(), pa.int64(), pa.float64(), pa.date32(), *MOMENTS)
)
ZEROS: Final = re.compile(r'(\.\d*?[1-9])0+(?=Z?")')  # at the end of a fraction
SPECIAL: Final = re.compile(r'[\x00-\x1f"\\]')
encode: Final = msgspec.json.Encoder().encode


def row_texts(rows: pa.Table) -> list[str]:
    """The JSON object of each row."""
    names = rows.schema.names
    if not names or len(set(names)) < len(names):
        return [encode(row).decode() for row in json_rows(rows)]
    if rows.num_rows <= FEW and all(kind in PLAIN or pa.types.is_decimal(kind) for kind in rows.schema.types):
        try:
            return [encode({name: _plain(value) for name, value in row.items()}).decode() for row in rows.to_pylist()]
        except (OverflowError, ValueError):
            pass  # a time outside of Python's calendar
    return _joined(names, [_texts(rows.column(index)) for index in range(len(names))])


def column_texts(names: Sequence[str], columns: Columns) -> list[str]:
    """The JSON object of each row of Python values, which are what Arrow would hold: `Table.columns`."""
    if len(set(names)) < len(names):
        rows = (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))
        return [encode({name: _plain(value) for name, value in row.items()}).decode() for row in rows]
    return _joined(names, [_value_texts(column) for column in columns])


def _joined(names: Sequence[str], columns: Sequence[Sequence[Any]]) -> list[str]:
    keys = (encode(name).decode().replace("%", "%%") for name in names)
    template = "{" + ",".join(f"{key}:%s" for key in keys) + "}"
    return list(map(template.__mod__, zip(*columns, strict=True)))


def _value_texts(column: Sequence[Any]) -> Sequence[Any]:
    """What `%s` makes the JSON of each value; the kinds in a column are few, so that most are seen to be one."""
    kinds = set(map(type, column))
    if kinds == {str}:
        return _quoted(column)
    if kinds == {float} and math.isfinite(sum(column)):
        return column
    if kinds == {int} and min(column) >= -EXACT and max(column) <= EXACT:
        return column
    if kinds in ({Decimal}, {datetime}):
        texts = encode(column).decode()[1:-1]  # without commas in them, and as we write them but for this:
        if "." in texts and kinds == {datetime}:
            texts = ZEROS.sub(r"\1", texts)
        if "E" not in texts:
            return texts.split(",")
    return [encode(_plain(value)).decode() for value in column]


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    return _iso(value) if kind is datetime else json_value(value)


def _iso(value: datetime) -> str:
    """Local time, or time in UTC, which is the zone of every table."""
    if value.tzinfo is None:
        text = value.isoformat()
        return text.rstrip("0") if value.microsecond else text
    text = value.isoformat()[:-6]
    return f"{text.rstrip('0')}Z" if value.microsecond else f"{text}Z"


def _texts(column: Any) -> list[Any]:
    """What `%s` makes the JSON of each value."""
    kind = column.type
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        numbers = values_of(column)
        if not column.null_count and math.isfinite(sum(numbers)):
            return numbers
        return [encode(json_value(number)).decode() for number in numbers]
    values = json_column(column)
    if pa.types.is_integer(kind) and not column.null_count and kind.bit_width < 64:
        return values
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_temporal(kind):
        return _quoted(values)
    return [value if type(value) is int else encode(value).decode() for value in values]


def _quoted(values: Sequence[Any]) -> list[str]:
    known = [value for value in values if value is not None]
    if SPECIAL.search("".join(known)):
        return ["null" if value is None else encode(value).decode() for value in values]
    return ["null" if value is None else f'"{value}"' for value in values]
