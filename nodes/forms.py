"""Forms that a person fills in: what such a schema may hold, and whether an answer fits it.

A form is flat: text, numbers, truth values, and choices of one or of several, with or without titles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Json
from .arguments import coerce

PRIMITIVES: Final = ("string", "number", "integer", "boolean")
FORMATS: Final = ("email", "uri", "date", "date-time")


def misfit(schema: Mapping[str, Json]) -> str:
    """Why `schema` is no form that a client shows, in words; empty when it is one."""
    properties = schema.get("properties")
    if schema.get("type", "object") != "object" or not isinstance(properties, Mapping):
        return 'a form is {"type": "object", "properties": {…}}'
    for name, field in properties.items():
        if not isinstance(field, Mapping) or not _is_shown(field):
            kinds = ", ".join(PRIMITIVES)
            return f"field '{name}' of a form is one of {kinds}, or an array of choices"
        if (form := field.get("format")) is not None and form not in FORMATS:
            return f"field '{name}' has the format '{form}'; forms know {', '.join(FORMATS)}"
    for name in schema.get("required") or ():
        if name not in properties:
            return f"'{name}' is required, and is no field of the form"
    return ""


def _is_shown(field: Mapping[str, Json]) -> bool:
    if field.get("type") == "array":
        return choices(field) is not None
    return field.get("type") in PRIMITIVES


def choices(field: Mapping[str, Json]) -> Mapping[str, str] | None:
    """What may be chosen in a field, value to title; None where anything may be written."""
    holder = field.get("items", {}) if field.get("type") == "array" else field
    if not isinstance(holder, Mapping):
        return None
    titled = holder.get("oneOf") or holder.get("anyOf")
    if isinstance(titled, list):
        found = [one for one in titled if isinstance(one, Mapping) and "const" in one]
        return {str(one["const"]): str(one.get("title", one["const"])) for one in found} if found else None
    values = holder.get("enum")
    if not isinstance(values, list):
        return None
    names = holder.get("enumNames")
    titles = names if isinstance(names, list) and len(names) == len(values) else values
    return {str(value): str(title) for value, title in zip(values, titles, strict=True)}


def filled_in(schema: Mapping[str, Json], content: Json, node: str) -> dict[str, Json]:
    """`content` as the form asks for it, with the defaults of fields that were left out.

    Raises VALIDATION_INVALID_PARAMS or VALIDATION_MISSING_FIELD for an answer that does not fit.
    """
    given: Mapping[str, Any] = content if isinstance(content, Mapping) else {}
    properties: Mapping[str, Any] = schema.get("properties") or {}
    plain = {**schema, "properties": {name: _plain(field) for name, field in properties.items()}}
    try:
        coerce(plain, given, strict=False)
    except JackfieldError as error:
        message = f"The answer to node '{node}' does not fit its form: {error.message}"
        raise JackfieldError(error.code, message, error.hint, {**error.details, "node": node}) from None
    defaults = {name: field["default"] for name, field in properties.items() if "default" in field}
    known = {name: given.get(name, defaults.get(name)) for name in properties if name in given or name in defaults}
    return {**known, **given}


def _plain(field: Mapping[str, Json]) -> Mapping[str, Json]:
    """The field with its choices as the enum that arguments are checked by."""
    known = choices(field)
    if known is None:
        return field
    if field.get("type") == "array":
        return {**field, "items": {"type": "string", "enum": list(known)}}
    return {**field, "enum": list(known)}


def refuse(node: str, what: str, hint: str = "") -> JackfieldError:
    """The error for an answer of another shape than MCP's."""
    return JackfieldError(Code.SOURCE_BAD_REPLY, f"The client's answer to node '{node}' {what}.", hint, {"node": node})
