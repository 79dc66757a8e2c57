"""Rows as JSON, losing nothing that the value says.

| Arrow | JSON |
|---|---|
| integers | number within ±(2^53-1), beyond it text, since most readers of JSON hold numbers as doubles |
| decimals | text, with their zeros: `"1.10"` |
| floats | number; `"NaN"`, `"Infinity"`, `"-Infinity"` as text |
| dates, times | ISO 8601 text, times with a zone in UTC with `Z`; `"infinity"` where DuckDB has it |
| intervals, durations | ISO 8601 text: `"P1M2DT3.5S"` |
| bytes | Base64 text |
| lists, structs | arrays, objects; maps objects if their keys are text, else arrays of pairs |
| NULL | null |
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from ..nodes.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

EXACT: Final = 2**53 - 1


def json_rows(rows: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows as objects of column to JSON value."""
    names = rows.schema.names
    columns = [json_column(rows.column(index)) for index in range(len(names))]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def json_column(column: Any) -> list[Any]:
    """The values of an Arrow array, chunked or not, as JSON values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values: list[Any]
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind):
        values = column.to_pylist()
        return values
    if pa.types.is_integer(kind):
        bounds: Any = pc.min_max(column).as_py()
        if kind.bit_width < 64 or bounds["min"] is None or (bounds["min"] >= -EXACT and bounds["max"] <= EXACT):
            values = column.to_pylist()
            return values
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind) and not pa.types.is_duration(kind):
        if pa.types.is_timestamp(kind) and kind.tz not in (None, "UTC"):
            column = column.cast(pa.timestamp(kind.unit, "UTC"))
        return [None if not scalar.is_valid else _moment(scalar) for scalar in column]
    return [json_value(value) for value in column.to_pylist()]


def json_value(value: Any) -> Any:
    """A Python value, with what is nested in it, as JSON. Rows of a Table become objects."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return value if -EXACT <= value <= EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else "NaN" if math.isnan(value) else f"{'-' * (value < 0)}Infinity"
    if isinstance(value, (Decimal, UUID)):
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    if isinstance(value, datetime):
        return _iso(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(0, value.days, value.seconds * 10**9 + value.microseconds * 1000)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, Mapping):
        return {str(key): json_value(held) for key, held in value.items()}
    if type(value).__name__ == "MonthDayNano":
        return _duration(value.months, value.days, value.nanoseconds)
    if isinstance(value, (list, tuple, set, frozenset)):
        return _sequence(value)
    if isinstance(value, Table):
        return json_rows(value.arrow())
    return json_value(value.as_json()) if hasattr(value, "as_json") else str(value)


def _sequence(value: Any) -> Any:
    """A list; or a map, which Arrow gives as a list of pairs, as an object when its keys are text."""
    if isinstance(value, list) and value and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        if all(isinstance(key, str) for key, _ in value):
            return {key: json_value(held) for key, held in value}
        return [[json_value(key), json_value(held)] for key, held in value]
    return [json_value(each) for each in value]


def _moment(scalar: Any) -> str:
    """A date or time by its own number, for Python's types end at the year 9999 and at microseconds."""
    import pyarrow as pa

    if abs(scalar.value) == (2**31 - 1 if pa.types.is_date32(scalar.type) else 2**63 - 1):
        return "infinity" if scalar.value > 0 else "-infinity"
    text: str = scalar.cast(pa.string()).as_py()
    if not pa.types.is_timestamp(scalar.type):
        return text.rstrip("0").rstrip(".") if "." in text else text
    zone = "Z" if text.endswith("Z") or scalar.type.tz else ""
    whole, _, fraction = text.removesuffix("Z").replace(" ", "T").partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}{zone}" if fraction else f"{whole}{zone}"


def _iso(value: datetime) -> str:
    text = value.isoformat()
    return text.removesuffix("+00:00") + "Z" if value.utcoffset() == timedelta(0) else text


def _duration(months: int, days: int, nanoseconds: int) -> str:
    """ISO 8601; a sign stands before each number that has one."""
    years, months = int(months / 12), int(math.fmod(months, 12))
    text = "".join(f"{number}{unit}" for number, unit in ((years, "Y"), (months, "M"), (days, "D")) if number)
    seconds = Decimal(nanoseconds).scaleb(-9).normalize()
    clock = f"T{format(seconds, 'f')}S" if nanoseconds else ""
    return f"P{text}{clock}" if text or clock else "PT0S"
