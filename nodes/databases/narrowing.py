"""A predicate of the tool's SQL as comparisons that a database may make: never fewer rows than DuckDB would keep.

DuckDB compares again, so more rows are only slower; fewer would be a wrong answer. What is not surely a superset
is not pushed, and the reason is given in words.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import ceil, floor, isfinite
from typing import Any, Final

from ..scan import Operator, Predicate
from .columns import Column, Kind

INT64: Final = range(-(2**63), 2**63)
WHOLE_FLOATS: Final = 2**53  # every integer up to this is a double
FIRST: Final = date(1, 1, 1)
LAST: Final = date(9999, 12, 31)
CANONICAL_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ISO_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
ISO_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?")


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column operator value`, with `value` already of the Python type that belongs to `kind`."""

    column: Column
    operator: Operator
    value: Any
    kind: Kind


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Comparisons that all hold for every row that the predicate keeps; `exact`: and for no other row."""

    comparisons: tuple[Comparison, ...]
    exact: bool


class NotPushedError(Exception):
    """Why a predicate stays here."""


def narrow(column: Column, predicate: Predicate) -> Narrowed:
    """The comparisons for one predicate. Raises NotPushedError."""
    if column.kind is Kind.OPAQUE:
        raise NotPushedError(f"type {column.declared} is compared here")
    if predicate.operator == "in":
        return _in(column, predicate.value)
    if predicate.value is None:
        raise NotPushedError("a comparison with null keeps nothing")
    found = RULES[column.kind](column, predicate.operator, predicate.value)
    return Narrowed(found.comparisons, found.exact and not column.loose)


def _in(column: Column, values: Any) -> Narrowed:
    items = [value for value in values if value is not None]
    if not items:
        raise NotPushedError("an empty list keeps nothing")
    found = [RULES[column.kind](column, "=", item) for item in items]
    if any(len(one.comparisons) != 1 or one.comparisons[0].operator != "=" for one in found):
        raise NotPushedError("an item of the list is of another type than the column")
    kinds = {one.comparisons[0].kind for one in found}
    if len(kinds) != 1:
        raise NotPushedError("the list's items are of several types")
    listed = tuple(one.comparisons[0].value for one in found)
    exact = all(one.exact for one in found) and not column.loose
    return Narrowed((Comparison(column, "in", listed, kinds.pop()),), exact)


def _one(column: Column, operator: Operator, value: Any, *, exact: bool = True, kind: Kind | None = None) -> Narrowed:
    return Narrowed((Comparison(column, operator, value, kind or column.kind),), exact)


def _require_number(column: Column, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)) or not isfinite(value):
        raise _other_type(column, value)


def _other_type(column: Column, value: Any) -> NotPushedError:
    return NotPushedError(f"a {type(value).__name__} is compared with type {column.declared} here")


def _bool(column: Column, operator: Operator, value: Any) -> Narrowed:
    if not isinstance(value, bool) or operator != "=":
        raise NotPushedError("a boolean is pushed for = true and = false only")
    return _one(column, operator, value)


def _int(column: Column, operator: Operator, value: Any) -> Narrowed:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise _other_type(column, value)
    if isinstance(value, float) and not (isfinite(value) and abs(value) < WHOLE_FLOATS):
        raise NotPushedError("the number is not a whole one that a double holds exactly")
    if isinstance(value, Decimal) and not value.is_finite():
        raise _other_type(column, value)
    if operator == "=":
        if value != int(value):
            raise NotPushedError("no integer equals a fraction")
        whole = int(value)
    else:
        whole = ceil(value) if operator in (">=", "<") else floor(value)
    if whole not in INT64:
        raise NotPushedError("the number is beyond 64 bits")
    return _one(column, operator, whole)


def _decimal(column: Column, operator: Operator, value: Any) -> Narrowed:
    _require_number(column, value)
    if isinstance(value, float):  # DuckDB compares as doubles, the database as decimals
        return _around(column, operator, Decimal(value), Decimal("1e-12"), Decimal(0))
    exact = Decimal(value)
    if len(exact.as_tuple().digits) > 38:
        raise NotPushedError("the number has more than 38 digits")
    if operator in (">", ">="):
        return _above_but_no_nan(column, operator, exact)
    return _one(column, operator, exact)


def _above_but_no_nan(column: Column, operator: Operator, value: Decimal) -> Narrowed:
    """Postgres sorts NaN above all numbers, while a decimal here cannot be NaN."""
    if not column.nan:
        return _one(column, operator, value)
    if column.digits is None:  # may also be infinite, which only newer servers can write
        return _one(column, operator, value, exact=False)
    bound = Comparison(column, "<", Decimal("NaN"), Kind.DECIMAL)
    return Narrowed((Comparison(column, operator, value, Kind.DECIMAL), bound), True)


def _float64(column: Column, operator: Operator, value: Any) -> Narrowed:
    _require_number(column, value)
    if isinstance(value, float) and len(repr(value).partition("e")[0].replace(".", "").strip("-0")) <= 15:
        return _one(column, operator, value)
    if isinstance(value, int) and abs(value) <= WHOLE_FLOATS:
        return _one(column, operator, float(value))
    if abs(value) > 1e300:
        raise NotPushedError("the number is too near the end of the doubles")
    return _around(column, operator, Decimal(value), Decimal("1e-12"), Decimal("1e-300"))


def _float32(column: Column, operator: Operator, value: Any) -> Narrowed:
    _require_number(column, value)
    if abs(value) > 1e37:
        raise NotPushedError("the number is too near the end of the floats")
    # DuckDB rounds a decimal literal to the column's 32 bits before it compares.
    return _around(column, operator, Decimal(value), Decimal("1e-6"), Decimal("1e-37"))


def _around(column: Column, operator: Operator, value: Decimal, relative: Decimal, least: Decimal) -> Narrowed:
    """Bounds a little wider than `value`: neither side's rounding then loses a row."""
    slack = abs(value) * relative + least
    kind = Kind.DECIMAL if column.kind is Kind.DECIMAL else Kind.FLOAT64
    low, high = value - slack, value + slack
    bounds = (low, high) if kind is Kind.DECIMAL else (float(low), float(high))
    lower, upper = (Comparison(column, ">=", bounds[0], kind), Comparison(column, "<=", bounds[1], kind))
    if operator == "=":
        return Narrowed((lower, upper), False)
    return Narrowed((lower,) if operator in (">", ">=") else (upper,), False)


def _text(column: Column, operator: Operator, value: Any) -> Narrowed:
    if operator != "=":
        raise NotPushedError("text is ordered by collation there and by bytes here")
    if not isinstance(value, str):
        raise _other_type(column, value)
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise NotPushedError("the text has characters that the database cannot hold")
    return _one(column, operator, value, exact=column.kind is Kind.TEXT)


def _uuid(column: Column, operator: Operator, value: Any) -> Narrowed:
    text = str(value) if isinstance(value, uuid.UUID) else value
    if operator != "=" or not isinstance(text, str) or CANONICAL_UUID.fullmatch(text) is None:
        raise NotPushedError("a UUID is pushed for = and in its usual spelling only")
    return _one(column, operator, text)


def _date(column: Column, operator: Operator, value: Any) -> Narrowed:
    moment = _moment(value)
    if moment is None:
        raise _other_type(column, value)
    if isinstance(moment, datetime):  # a day is compared as its midnight
        return _within_calendar(column, _wider(operator), _utc(moment).date(), exact=False)
    return _within_calendar(column, operator, moment)


def _timestamp(column: Column, operator: Operator, value: Any) -> Narrowed:
    moment = _moment(value)
    if moment is None:
        raise _other_type(column, value)
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001 – naive, as the column is
    naive = _utc(moment).replace(tzinfo=None)
    return _within_calendar(column, operator, naive if column.kind is Kind.TIMESTAMP else naive.replace(tzinfo=UTC))


def _wider(operator: Operator) -> Operator:
    wider: dict[Operator, Operator] = {"<": "<=", ">": ">="}
    return wider.get(operator, operator)


def _within_calendar(column: Column, operator: Operator, value: date, *, exact: bool = True) -> Narrowed:
    """A range ends where the calendar does: infinite and ancient times are null here."""
    compared = Comparison(column, operator, value, column.kind)
    if operator == "=" or column.loose:
        return Narrowed((compared,), exact)
    end: date = LAST if operator in (">", ">=") else FIRST
    if isinstance(value, datetime):
        end = datetime(end.year, end.month, end.day, tzinfo=value.tzinfo)
        if operator in (">", ">="):
            end += timedelta(days=1, microseconds=-1)
    bound = Comparison(column, "<=" if operator in (">", ">=") else ">=", end, column.kind)
    return Narrowed((compared, bound), exact)


def _moment(value: Any) -> date | None:
    """A date or datetime; text only in the plain ISO form, which every reader takes alike."""
    if isinstance(value, date):
        return value
    if not isinstance(value, str):
        return None
    try:
        if ISO_DATE.fullmatch(value):
            return date.fromisoformat(value)
        if ISO_MOMENT.fullmatch(value):
            return datetime.fromisoformat(value)
    except ValueError:
        return None
    return None


def _utc(moment: datetime) -> datetime:
    """The session of DuckDB is in UTC: a moment without zone is UTC when it meets one that has a zone."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo is not None else moment
    except OverflowError:
        raise NotPushedError("the moment is outside of the calendar in UTC") from None


RULES: Final = {
    Kind.BOOL: _bool,
    Kind.INT: _int,
    Kind.DECIMAL: _decimal,
    Kind.FLOAT32: _float32,
    Kind.FLOAT64: _float64,
    Kind.TEXT: _text,
    Kind.PADDED: _text,
    Kind.UUID: _uuid,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMPTZ: _timestamp,
}
