"""A value that a JSON Schema takes, for messages that say what to send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..graphs.model import Json
from .values import Schema, UnfitError, typed, types

TEXTS: Final[Mapping[str, str]] = {
    "date": "2026-03-01",
    "date-time": "2026-03-01T12:00:00Z",
    "date-time-local": "2026-03-01T12:00:00",
}
DEEPEST: Final = 4


def example(schema: Schema) -> Json:
    """One that its author gives, else one that is made up; None where what is made up would not fit."""
    for found in (schema.get("examples"), schema.get("enum")):
        if isinstance(found, (list, tuple)) and found:
            return found[0]
    value = _made(schema, DEEPEST)
    try:
        typed(schema, value)
    except UnfitError:
        return None
    return value


def _made(schema: Schema, depth: int) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("default") is not None:
        return schema["default"]
    kind = next(iter(types(schema)), "string")
    if kind == "array":
        item = _made(schema.get("items") or {}, depth - 1) if depth else "text"
        return [item] * max(1, schema.get("minItems", 0))
    if kind == "object":
        properties: Mapping[str, Schema] = schema.get("properties") or {}
        return {name: _made(properties.get(name, {}), depth - 1) for name in schema.get("required") or () if depth}
    if kind in ("integer", "number"):
        return schema.get("minimum", min(10, schema.get("maximum", 10)))
    if kind == "boolean":
        return True
    text = TEXTS.get(str(schema.get("format")), "text")
    return text[: schema.get("maxLength", len(text))].ljust(schema.get("minLength", 0), "x")
