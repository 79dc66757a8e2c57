"""Columns from the type they came in to the one that was declared: whole columns where that is exact, else by value."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa

Column = Any  # an Arrow array, chunked or not
_INTEGER: Final = re.compile(r"[+-]?\d{1,19}(\.0*)?\Z")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?\Z")
_WIDE: Final = Context(prec=100)  # the usual 28 digits would round
_ENCODER: Final = msgspec.json.Encoder(decimal_format="number")


def json_text(value: Any) -> str:
    """`value` as JSON; text stays as it is."""
    return value if isinstance(value, str) else _ENCODER.encode(value).decode()


def kind_of(value: object) -> str:
    """What a value is, in words, without its content."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "text" if value else "empty text"
    if isinstance(value, int):
        return "an integer"
    if isinstance(value, float | Decimal):
        return "a number with a fraction" if value % 1 else "a number"
    names = {dict: "an object", list: "a list", bytes: "bytes", dt.date: "a date", dt.datetime: "a date with time"}
    return names.get(type(value), type(value).__name__)


def converted(column: Column, target: pa.DataType) -> Column | None:
    """The whole column at once where Arrow's cast is exact for every value; else None."""
    import pyarrow as pa
    from pyarrow import types

    if column.type == target:
        return column
    if types.is_null(column.type):
        return pa.array([None] * len(column), target)
    if not _is_exact(column.type, target):
        return None
    try:
        return column.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _is_exact(found: pa.DataType, target: pa.DataType) -> bool:
    """Whether Arrow's checked cast either keeps every value exactly or fails.

    Others it rounds (number to decimal), reads generously ('nan' as a number, 2 as true) or prints in a way of its own.
    """
    from pyarrow import types

    if types.is_string(found) or types.is_large_string(found):
        return bool(types.is_string(target) or types.is_date(target) or types.is_timestamp(target))
    if types.is_integer(found):
        return bool(types.is_integer(target) or types.is_floating(target) or types.is_string(target))
    if types.is_floating(found):
        return bool(types.is_integer(target))
    if types.is_decimal(found):
        return bool(types.is_decimal(target) or types.is_integer(target))
    if types.is_timestamp(found) or types.is_date(found):
        return bool(types.is_timestamp(target) or types.is_date(target))
    return bool(types.is_list(found) and types.is_list(target) and _is_exact(found.value_type, target.value_type))


def misfits(column: Column, target: pa.DataType) -> tuple[Column, list[int]]:
    """The column value by value, null where a value does not fit, and the rows (from 0) where that was so."""
    import pyarrow as pa

    convert = _converter(target)
    values: list[Any] = []
    rows: list[int] = []
    for row, value in enumerate(column.to_pylist()):
        try:
            values.append(None if value is None else convert(value))
        except (ValueError, ArithmeticError):
            values.append(None)
            rows.append(row)
    return pa.array(values, target), rows


def _converter(target: pa.DataType) -> Callable[[Any], Any]:
    from pyarrow import types

    if types.is_list(target):
        item = _converter(target.value_type)
        return lambda value: [None if each is None else item(each) for each in _as_list(value)]
    if types.is_decimal(target):
        return lambda value: _as_decimal(value, target.precision, target.scale)
    if types.is_timestamp(target):
        return _as_aware if target.tz else _as_naive
    if types.is_string(target):
        return lambda value: value.isoformat() if isinstance(value, dt.date | dt.time) else json_text(value)
    by_name: dict[str, Callable[[Any], Any]] = {
        "int64": _as_integer,
        "double": _as_number,
        "bool": _as_boolean,
        "date32[day]": _as_date,
        "time64[us]": _as_time,
    }
    return by_name[str(target)]


def _as_integer(value: Any) -> int:
    if isinstance(value, str) and not _INTEGER.match(value):
        raise ValueError
    if not isinstance(value, str | int | float | Decimal) or isinstance(value, bool):
        raise ValueError
    exact = Decimal(value) if isinstance(value, str) else value
    number = int(exact)
    if number != exact or not -(2**63) <= number < 2**63:
        raise ValueError
    return number


def _as_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise ValueError
    if isinstance(value, str) and not _NUMBER.match(value):
        raise ValueError
    number = float(value)
    if number in (float("inf"), float("-inf")):
        raise ValueError
    return number


def _as_decimal(value: Any, precision: int, scale: int) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        raise ValueError
    if isinstance(value, str) and not _NUMBER.match(value):
        raise ValueError
    try:
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        _, digits, exponent = _WIDE.normalize(exact).as_tuple()
    except InvalidOperation:
        raise ValueError from None
    if not isinstance(exponent, int) or -exponent > scale or len(digits) + exponent > precision - scale:
        raise ValueError
    return exact


def _as_boolean(value: Any) -> bool:
    known = {True: True, False: False, "true": True, "false": False, "1": True, "0": False}
    try:
        return known[value.lower() if isinstance(value, str) else value]
    except (KeyError, TypeError):
        raise ValueError from None


def _as_date(value: Any) -> dt.date:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    moment = _as_naive(value)
    if moment.time() != dt.time():
        raise ValueError
    return moment.date()


def _as_time(value: Any) -> dt.time:
    if isinstance(value, dt.time):
        return value
    if not isinstance(value, str):
        raise ValueError
    return dt.time.fromisoformat(value).replace(tzinfo=None)


def _moment(value: Any) -> dt.datetime:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001 (a date has no zone)
    if not isinstance(value, str) or len(value) < 8:
        raise ValueError
    return dt.datetime.fromisoformat(value)


def _as_aware(value: Any) -> dt.datetime:
    moment = _moment(value)
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)


def _as_naive(value: Any) -> dt.datetime:
    return _as_aware(value).replace(tzinfo=None)


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError
    return value
