"""One JSON value as the Python value that its JSON Schema says it is: the strict rules of every argument.

Text is never read as a number, nor a number as a truth value. Dates and times become those of `datetime`.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final

from ..graphs.model import Json

INT64: Final = (-(2**63), 2**63 - 1)  # what every database that we speak to can hold
SHOWN: Final = 60  # characters of a wrong value that a message repeats
DAY: Final = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)
MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d", re.ASCII)

Schema = Mapping[str, Json]


class UnfitError(Exception):
    """What was expected of one value, what would fix it, and where inside the parameter it is."""

    def __init__(self, expected: str, hint: str = "", path: str = "", found: Any = None) -> None:
        super().__init__(expected)
        self.expected, self.hint, self.path, self.found = expected, hint, path, found


def typed(schema: Schema, value: Any) -> Any:
    """`value` as its Python type. Raises UnfitError."""
    if value is None and allows_null(schema):
        return None
    if "enum" in schema and not any(_same(value, allowed) for allowed in schema["enum"]):
        raise _no_choice(schema["enum"], value)
    names = types(schema)
    reason: UnfitError | None = None
    for name in names:
        try:
            return _READERS[name](schema, value)
        except UnfitError as unfit:
            reason = reason or unfit
    if reason is not None:
        raise reason
    return _string(schema, value) if isinstance(value, str) else value


def types(schema: Schema) -> tuple[str, ...]:
    """The types that the schema names, without null; none: any."""
    found = schema.get("type", ())
    names = (found,) if isinstance(found, str) else tuple(found)
    return tuple(name for name in names if name in _READERS)


def allows_null(schema: Schema) -> bool:
    found = schema.get("type")
    return found == "null" or (isinstance(found, (list, tuple)) and "null" in found)


def _same(value: Any, allowed: Json) -> bool:
    return bool(value == allowed) and isinstance(value, bool) == isinstance(allowed, bool)


def _no_choice(choices: Sequence[Json], value: Any) -> UnfitError:
    names = [choice for choice in choices if isinstance(choice, str)]
    near = get_close_matches(value, names, 1) if isinstance(value, str) and len(value) <= SHOWN else []
    return UnfitError("one of " + ", ".join(map(shown, choices)), f"Did you mean '{near[0]}'?" if near else "")


def _string(schema: Schema, value: Any) -> Any:
    reader = _FORMATS.get(schema.get("format", ""))
    if reader is not None:
        return reader(value)
    if not isinstance(value, str):
        raise UnfitError("a string")
    if "\0" in value:
        raise UnfitError("a string without NUL characters", "No database stores U+0000 in text; remove it.")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise UnfitError("valid Unicode text", "It holds half of a surrogate pair.")
    if len(value) < schema.get("minLength", 0):
        raise UnfitError(f"at least {schema['minLength']} characters")
    if len(value) > schema.get("maxLength", len(value)):
        raise UnfitError(f"at most {schema['maxLength']} characters")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        raise UnfitError(f"text that matches {schema['pattern']}")
    return value


def _integer(schema: Schema, value: Any) -> int:
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        value = int(value)
    elif isinstance(value, Decimal) and value.is_finite() and abs(value) < 2**64 and value == value.to_integral_value():
        value = int(value)  # as databases give sums
    if isinstance(value, bool) or not isinstance(value, int):
        raise UnfitError("an integer", _text_hint(value))
    if not INT64[0] <= value <= INT64[1]:
        raise UnfitError(f"an integer from {INT64[0]} to {INT64[1]}")
    _bounded(schema, value)
    return value


def _number(schema: Schema, value: Any) -> float | Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise UnfitError("a number", _text_hint(value))
    try:
        as_float = float(value)
    except OverflowError:
        as_float = math.inf
    if not math.isfinite(as_float):
        raise UnfitError("a finite number")
    _bounded(schema, value)
    return value if isinstance(value, Decimal) else as_float


def _bounded(schema: Schema, value: float | Decimal) -> None:
    for keyword, holds, words in _BOUNDS:
        if keyword in schema and not holds(value, schema[keyword]):
            raise UnfitError(f"a number {words} {schema[keyword]}")


_BOUNDS: Final[tuple[tuple[str, Callable[[Any, Any], bool], str], ...]] = (
    ("minimum", lambda value, bound: value >= bound, "of at least"),
    ("maximum", lambda value, bound: value <= bound, "of at most"),
    ("exclusiveMinimum", lambda value, bound: value > bound, "above"),
    ("exclusiveMaximum", lambda value, bound: value < bound, "below"),
)


def _boolean(schema: Schema, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UnfitError("true or false", "Send a JSON truth value, not text or a number.")
    return value


def _array(schema: Schema, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        if "table" in schema.get("behavior", ()):  # rows travel as a Table, which is not ours to look into
            return value
        raise UnfitError("a list", f"Send [{shown(value)}] for a list of one." if isinstance(value, (str, int)) else "")
    if len(value) < schema.get("minItems", 0):
        raise UnfitError(f"at least {schema['minItems']} items")
    if len(value) > schema.get("maxItems", len(value)):
        raise UnfitError(f"at most {schema['maxItems']} items")
    items = schema.get("items")
    return [_inside(items, item, f"[{index}]") for index, item in enumerate(value)] if items else list(value)


def _object(schema: Schema, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UnfitError("an object")
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if value.get(name) is None and "default" not in properties.get(name, {}):
            raise UnfitError("a value", path=f".{name}")
    if schema.get("additionalProperties") is False:
        for name in value:
            if name not in properties:
                raise UnfitError("only the properties " + ", ".join(map(repr, properties)), path=f".{name}")
    values = {k: _inside(properties[k], v, f".{k}") if k in properties else v for k, v in value.items()}
    for name, expected in properties.items():
        if name not in values and "default" in expected:
            values[name] = default(expected)
    return values


def _inside(schema: Schema, value: Any, path: str) -> Any:
    try:
        return typed(schema, value)
    except UnfitError as unfit:
        found = value if not unfit.path else unfit.found
        raise UnfitError(unfit.expected, unfit.hint, path + unfit.path, found) from None


def _date(value: Any) -> dt.date:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value
    if isinstance(value, str) and DAY.match(value):  # fromisoformat also reads 20260102 and 2026-W01-1
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            pass
    raise UnfitError("a date of the calendar as YYYY-MM-DD")


def _moment(value: Any) -> dt.datetime | None:
    if isinstance(value, dt.datetime):
        return value
    if isinstance(value, str) and MOMENT.match(value):
        try:
            return dt.datetime.fromisoformat(value)
        except ValueError:
            return None
    return None


def _datetime(value: Any) -> dt.datetime:
    """A moment. Without a zone the same text means other moments to other databases, so it is refused."""
    moment = _moment(value)
    if moment is None:
        raise UnfitError("a date and time as YYYY-MM-DDThh:mm:ssZ")
    if moment.tzinfo is None:
        if isinstance(value, str):
            hint = f"Append Z for UTC, or an offset: {moment.isoformat()}Z."
        else:
            hint = "Set its tzinfo; in SQL, write `column AT TIME ZONE 'UTC'`."
        raise UnfitError("a date and time with its zone", hint)
    return moment


def _local_datetime(value: Any) -> dt.datetime:
    moment = _moment(value)
    if moment is None or moment.tzinfo is not None:
        raise UnfitError("a date and time without a zone, as YYYY-MM-DDThh:mm:ss")
    return moment


_READERS: Final[Mapping[str, Callable[[Schema, Any], Any]]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _array,
    "object": _object,
}
_FORMATS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "date": _date,
    "date-time": _datetime,
    "date-time-local": _local_datetime,
}


def default(schema: Schema) -> Any:
    """The default as if it had been sent. BGL writes defaults of every type as text."""
    value = schema["default"]
    if value is None:
        return None
    if isinstance(value, str) and "string" not in types(schema):
        value = read(schema, value)
    return typed(schema, value)


def read(schema: Schema, text: str) -> Any:
    """Text as the JSON value that the schema asks for; text that does not read so stays text."""
    names = types(schema)
    if not names or "string" in names:
        return text
    if names[0] == "array" and not text.lstrip().startswith("["):
        return [read(schema.get("items") or {}, part.strip()) for part in text.split(",")] if text else []
    if names[0] == "boolean":
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text_hint(value: Any) -> str:
    return "Send a JSON number, without quotes." if isinstance(value, str) else ""


def shown(value: Any) -> str:
    """A value as a message repeats it: JSON, cut."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
