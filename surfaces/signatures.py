"""A tool as people read it (`list_animals(species: string?) → rows`) and as an agent's `tools/list` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..connectors.model import Skill, Tool


def signature(tool: Tool | Skill) -> str:
    """The name with its parameters; `?` marks an optional one, `= x` a default."""
    properties = tool.input_schema.get("properties") or {}
    required = tool.input_schema.get("required") or ()
    parts = [_parameter(name, schema, name in required) for name, schema in properties.items()]
    return f"{tool.id}({', '.join(parts)})"


def _parameter(name: str, schema: Mapping[str, Any], required: bool) -> str:
    if "default" in schema and schema["default"] is not None:
        return f"{name}: {type_word(schema)} = {schema['default']}"
    return f"{name}: {type_word(schema)}{'' if required else '?'}"


def type_word(schema: Mapping[str, Any]) -> str:
    """The word of our own vocabulary for a parameter's schema."""
    if "enum" in schema:
        return "|".join(str(value) for value in schema["enum"])
    kind = schema.get("type", "any")
    if isinstance(kind, (list, tuple)):
        kind = next((name for name in kind if name != "null"), "any")
    if kind == "array":
        return f"{type_word(schema.get('items') or {})}[]"
    words = {"integer": "int", "number": "float", "boolean": "bool"}
    formats = {"date": "date", "date-time": "datetime"}
    return formats.get(str(schema.get("format")), words.get(str(kind), str(kind)))


def as_mcp(tool: Tool) -> dict[str, Any]:
    """The tool's entry of an MCP `tools/list`."""
    entry: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": _plain(tool.input_schema),
    }
    if tool.output_schema is not None:
        entry["outputSchema"] = _plain(tool.output_schema)
    entry["annotations"] = dict(tool.annotations)
    return entry


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(held) for name, held in value.items()}
    return [_plain(held) for held in value] if isinstance(value, (list, tuple)) else value
