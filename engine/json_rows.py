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
EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 – the zone is written by us
# Of the years that a Python datetime knows, in microseconds from then.
FIRST_US: Final = -62_135_596_800_000_000
LAST_US: Final = 253_402_300_799_999_999


def json_rows(rows: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows as objects of column to JSON value."""
    names = rows.schema.names
    if not names:
        return [{} for _ in range(rows.num_rows)]
    columns = [json_column(rows.column(index)) for index in range(len(names))]
    return [dict(zip(names, values)) for values in zip(*columns, strict=True)]  # noqa: B905 – by far the most calls


def json_column(column: Any) -> list[Any]:
    """The values of an Arrow array, chunked or not, as JSON values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from .arrow_values import values_of

    values: list[Any]
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind):
        return values_of(column)
    if pa.types.is_integer(kind):
        bounds: Any = pc.min_max(column).as_py() if kind.bit_width == 64 else {"min": None}
        if bounds["min"] is None or (bounds["min"] >= -EXACT and bounds["max"] <= EXACT):
            return values_of(column)
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind) and not pa.types.is_duration(kind):
        return _moments(column)
    values = values_of(column)
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        known = [value for value in values if value is not None] if column.null_count else values
        if math.isfinite(sum(known)):
            return values
    return [json_value(value) for value in values]


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


def _moments(column: Any) -> list[str | None]:
    """Dates or times by Arrow's own text, for Python's types end at the year 9999 and at microseconds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from .arrow_values import values_of

    kind = column.type
    if pa.types.is_timestamp(kind) and kind.tz not in (None, "UTC"):
        column = column.cast(pa.timestamp(kind.unit, "UTC"))
        kind = column.type
    stored = pa.int32() if kind.bit_width == 32 else pa.int64()
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    numbers = pa.chunked_array([chunk.view(stored) for chunk in chunks], stored)
    bounds: Any = pc.min_max(numbers).as_py()
    is_common = pa.types.is_timestamp(kind) and kind.unit == "us" and bounds["min"] is not None
    if is_common and bounds["min"] >= FIRST_US and bounds["max"] <= LAST_US:
        zone = "Z" if kind.tz else ""
        return [None if number is None else _iso_us(number, zone) for number in values_of(numbers)]
    finish = _iso_moment if pa.types.is_timestamp(kind) else _without_zeros
    texts = [None if text is None else finish(text) for text in values_of(column.cast(pa.string()))]
    end = 2 ** (kind.bit_width - 1) - 1
    if bounds["min"] is None or (bounds["min"] > -end and bounds["max"] < end):
        return texts
    ends = {end: "infinity", -end: "-infinity"}
    return [
        None if text is None else ends.get(number, text) for number, text in zip(values_of(numbers), texts, strict=True)
    ]


def _iso_us(number: int, zone: str) -> str:
    text = (EPOCH + timedelta(microseconds=number)).isoformat()
    return f"{text.rstrip('0')}{zone}" if number % 1_000_000 else f"{text}{zone}"


def _without_zeros(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def _iso_moment(text: str) -> str:
    zone = "Z" if text.endswith("Z") else ""
    whole, point, fraction = text.removesuffix("Z").replace(" ", "T", 1).partition(".")
    fraction = fraction.rstrip("0") if point else ""
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
