"""Parameters → JSON Schema: what an agent is shown, and what the graph's input node holds arguments to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .document import Parameter

JSON_TYPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "string": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "object": {"type": "object"},
}


def schema_of(parameters: Iterable[Parameter]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments: closed, so that a misspelt argument is refused by name."""
    parameters = tuple(parameters)
    schema: dict[str, Any] = {"type": "object", "properties": {p.name: property_of(p) for p in parameters}}
    required = [p.name for p in parameters if p.is_required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def property_of(parameter: Parameter) -> dict[str, Any]:
    if parameter.type == "array":
        items = dict(JSON_TYPES[parameter.items or "string"])
        if parameter.enum is not None:
            items["enum"] = list(parameter.enum)
        schema: dict[str, Any] = {"type": "array", "items": items}
    else:
        schema = dict(JSON_TYPES[parameter.type])
        if parameter.enum is not None:
            schema["enum"] = list(parameter.enum)
    if parameter.description:
        schema["description"] = parameter.description
    if parameter.default is not None:
        schema["default"] = parameter.default
    if parameter.minimum is not None:
        schema["minimum"] = parameter.minimum
    if parameter.maximum is not None:
        schema["maximum"] = parameter.maximum
    if parameter.sensitive:
        schema["x-sensitive"] = True
    return schema
