"""A value against the model of its fields: findings at the very place, with the near name where there is one.

A field that the model does not know is a warning and is left out; any other misfit is an error.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ...graphs.findings import Severity

M = TypeVar("M", bound=BaseModel)
MISSING: Final = object()
SECRET_FIELD: Final = re.compile(r"secret|passw|token|dsn|api_?key|authori[sz]ation", re.IGNORECASE)
Report = Callable[[str, Severity, str, str, str], None]  # code, severity, pointer, message, hint


def validated(model: type[M], value: Mapping[str, Any], pointer: str, report: Report) -> M | None:
    """`value` as `model`, or None when an error was reported."""
    kept = fitting(model, value, pointer, report)
    return None if kept is None else model.model_validate(kept)


def fitting(model: type[BaseModel], value: Mapping[str, Any], pointer: str, report: Report) -> dict[str, Any] | None:
    """What of `value` the model knows, as it was written; None when an error was reported."""
    try:
        model.model_validate(value)
        return dict(value)
    except ValidationError as error:
        details = error.errors(include_url=False)
    pruned = _copy(value)
    failed = False
    for detail in details:
        path = _path(value, detail)
        if detail["type"] == "extra_forbidden":
            _unknown(model, value, path, pointer, report)
            _remove(pruned, path)
        else:
            failed = True
            code, message, hint = _misfit(detail)
            report(code, Severity.ERROR, pointer + _pointer(path), message, hint)
    if failed:
        return None
    try:
        model.model_validate(pruned)
        return dict(pruned)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            code, message, hint = _misfit(detail)
            report(code, Severity.ERROR, pointer + _pointer(_path(pruned, detail)), message, hint)
        return None


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list | tuple) else value


def _path(value: Any, detail: ErrorDetails) -> list[str | int]:
    """The error's place in the document: pydantic's own, without the names of models and union members in it."""
    path: list[str | int] = []
    for part in detail["loc"]:
        found = _step(value, part)
        if found is not MISSING:
            value = found
            path.append(part)
    return path


def _step(value: Any, part: str | int) -> Any:
    if isinstance(part, str):
        return value.get(part, MISSING) if isinstance(value, Mapping) else MISSING
    return value[part] if isinstance(value, list | tuple) and part < len(value) else MISSING


def _remove(value: Any, path: list[str | int]) -> None:
    for part in path[:-1]:
        value = _step(value, part)
    if path and isinstance(value, dict):
        value.pop(path[-1], None)


def _pointer(path: list[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _unknown(
    model: type[BaseModel], value: Mapping[str, Any], path: list[str | int], pointer: str, report: Report
) -> None:
    name = str(path[-1]) if path else ""
    holder: Any = value
    for part in path[:-1]:
        holder = _step(holder, part)
    known = [field for field in _names(_model_at(model, path[:-1])) if field not in holder]
    close = difflib.get_close_matches(name, known, 1)
    hint = f"Did you mean '{close[0]}'?" if close else ""
    message = f"Field '{name}' is not known here and is not read."
    report("UNKNOWN_FIELD", Severity.WARNING, pointer + _pointer(path), message, hint)


def _names(model: Any) -> list[str]:
    if isinstance(model, type) and issubclass(model, BaseModel):
        return [field.alias or name for name, field in model.model_fields.items()]
    return [name for member in get_args(model) for name in _names(member)]


def _model_at(model: Any, path: list[str | int]) -> Any:
    """The model, or union of models, of what stands at `path` inside a document of `model`."""
    for part in path:
        if isinstance(part, int):
            continue  # an item of a list: the annotation holds its model already
        members = [model, *get_args(model)]
        fields = [
            field.annotation
            for member in members
            if isinstance(member, type) and issubclass(member, BaseModel)
            for name, field in member.model_fields.items()
            if part in (name, field.alias)
        ]
        if not fields:
            return None
        model = fields[0]
    return model


def _misfit(detail: ErrorDetails) -> tuple[str, str, str]:
    """(code, message, hint) of an error, without the value where it may be a secret."""
    kind, last = detail["type"], str(detail["loc"][-1]) if detail["loc"] else "value"
    found = "set" if SECRET_FIELD.search(last) else _shown(detail["input"])
    if kind == "missing":
        return "MISSING_FIELD", f"Field '{last}' is missing.", ""
    if kind in ("literal_error", "enum", "union_tag_invalid"):
        return _one_of(detail, last)
    if kind == "value_error":
        return "INVALID_VALUE", f"{str(detail.get('ctx', {}).get('error', detail['msg'])).rstrip('.')}.", ""
    if kind == "string_pattern_mismatch":
        message = f"'{last}' is {found}, which is not of the expected form."
        return "INVALID_VALUE", message, FORMS.get(last, f"Expected: {detail.get('ctx', {}).get('pattern')}")
    return "INVALID_VALUE", f"'{last}' is {found}: {detail['msg'][:1].lower()}{detail['msg'][1:]}.", ""


def _one_of(detail: ErrorDetails, last: str) -> tuple[str, str, str]:
    context = detail.get("ctx", {})
    expected = str(context.get("expected") or context.get("expected_tags") or "")
    choices = [part.strip(" '") for part in expected.replace(" or ", ", ").split(",")]
    found = detail["input"]
    if detail["type"] == "union_tag_invalid":
        last, found = str(context.get("discriminator", "'type'")).strip("'"), context.get("tag")
    close = difflib.get_close_matches(str(found), choices, 1)
    hint = f"Did you mean '{close[0]}'?" if close else ""
    return "INVALID_VALUE", f"'{last}' is {_shown(found)}; expected one of {', '.join(choices)}.", hint


FORMS: Final[Mapping[str, str]] = {
    "slug": "A slug is lower-case letters, digits and single hyphens: pet-store.",
    "version": "A version is SemVer: 1.0.0, 1.2.0-rc.1.",
    "id": "An id is snake_case: list_animals.",
    "name": "A parameter's name is letters, digits and underscores, as it stands after the colon in SQL.",
}


def _shown(value: Any) -> str:
    """What was found, in few words: long text and structures are not repeated, nor is anything that may be secret."""
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case int() | float():
            return str(value)
        case str() if len(value) <= 40:
            return f'"{value}"'
        case str():
            return "a text"
        case Mapping():
            return "an object"
    return "a list"
