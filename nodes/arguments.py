"""Arguments of a call, checked and given their Python types by the JSON Schema of what is called.

`coerce` takes JSON as an agent sends it; `from_text` is for a command line, where everything is text. What one value
may be is in `values`. Nothing else in Jackfield interprets arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from ..graphs.error_size import shortened
from ..graphs.errors import Code, JackfieldError
from .examples import example
from .values import Schema, UnfitError, allows_null, default, read, shown, typed

MOST_PROBLEMS: Final = 50
LONGEST_NAME: Final = 80  # of an unknown argument, as it is repeated and compared


def coerce(schema: Schema, arguments: Mapping[str, Any], *, strict: bool = True) -> dict[str, Any]:
    """Every property of the object schema with its Python value: the argument, else its default, else None.

    An argument that is null counts as not given, unless its type allows null. `strict` refuses names that the schema
    does not know; else they are passed on, as JSON Schema has it.

    Raises JackfieldError VALIDATION_MISSING_FIELD, VALIDATION_INVALID_PARAMS; `details["problems"]` lists every
    problem, of unknown names the first fifty, and the error itself is the first.
    """
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    required = schema.get("required") or ()
    values: dict[str, Any] = {}
    problems: list[JackfieldError] = []
    for name in arguments:
        if name not in properties:
            if not strict:
                values[name] = arguments[name]
            elif len(problems) < MOST_PROBLEMS:
                problems.append(_unknown(name, properties))
    for name, expected in properties.items():
        value = arguments.get(name)
        try:
            if value is not None or (name in arguments and allows_null(expected)):
                values[name] = typed(expected, value)
            elif "default" in expected:
                values[name] = default(expected)
            elif name in required:
                problems.append(_missing(name, expected))
            else:
                values[name] = None
        except UnfitError as unfit:
            problems.append(_invalid(name, expected, value, unfit))
    undeclared = [name for name in required if name not in properties and arguments.get(name) is None]
    problems.extend(_missing(name, {}) for name in undeclared)
    if problems:
        raise _first_of(problems)
    return values


def with_defaults(schema: Schema, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as they were given, and the declared defaults of those that were not."""
    declared: Mapping[str, Schema] = schema.get("properties") or {}
    defaults = {name: each["default"] for name, each in declared.items() if "default" in each}
    return {**defaults, **{name: value for name, value in arguments.items() if value is not None}}


def from_text(schema: Schema, pairs: Mapping[str, str]) -> dict[str, Any]:
    """JSON arguments out of a command line's `name=text`, by the types of the schema.

    Text that does not read as its type is left as text, for `coerce` to refuse with the reason. A list is JSON, or
    items with commas between them.
    """
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    return {name: read(properties.get(name, {}), text) for name, text in pairs.items()}


def _found(schema: Schema, value: Any) -> str:
    if schema.get("x-sensitive"):
        return "another value, which is not shown because the parameter is sensitive"
    return "nothing" if value is None else shown(value)


def _unknown(name: str, properties: Mapping[str, Schema]) -> JackfieldError:
    known = list(properties)
    near = get_close_matches(name, known, 1) if len(name) <= LONGEST_NAME else []
    name = shortened(name, LONGEST_NAME)
    hint = f"Did you mean '{near[0]}'?" if near else _listed(known)
    return JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        f"There is no parameter '{name}'.",
        hint,
        {"parameter": name, "available": known},
    )


def _listed(known: Sequence[str]) -> str:
    return "Parameters: " + ", ".join(f"'{name}'" for name in known) + "." if known else "It takes no parameters."


def _missing(name: str, schema: Schema) -> JackfieldError:
    description = schema.get("description", "")
    expected = schema.get("format") or schema.get("type") or "value"
    return JackfieldError(
        Code.VALIDATION_MISSING_FIELD,
        f"Parameter '{name}' is required, found nothing.",
        f"Give '{name}' ({expected}){': ' + description if description else '.'}",
        {"parameter": name, "expected": expected},
    )


def _invalid(name: str, schema: Schema, value: Any, unfit: UnfitError) -> JackfieldError:
    found = _found(schema, unfit.found if unfit.path else value)
    return JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        f"Parameter '{name}{unfit.path}': expected {unfit.expected}, found {found}.",
        unfit.hint or _to_send(name, schema, unfit),
        {"parameter": name, "expected": unfit.expected},
    )


def _to_send(name: str, schema: Schema, unfit: UnfitError) -> str:
    place = f" as '{name}{unfit.path}'" if unfit.path else ""
    value = example(schema)
    shows = "" if value is None else f", for example {shown({name: value})}"
    return f"Send {unfit.expected}{place}{shows}."


def _first_of(problems: list[JackfieldError]) -> JackfieldError:
    first = problems[0]
    if len(problems) == 1:
        return first
    listed = [{"code": problem.code.value, "message": problem.message, "hint": problem.hint} for problem in problems]
    return JackfieldError(first.code, first.message, first.hint, {**first.details, "problems": listed})
