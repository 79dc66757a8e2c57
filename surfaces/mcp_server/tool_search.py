"""Two tools in place of a long list: one finds tools by what they are for, the other calls one by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mcp_types import Tool as McpTool

from ...nodes.arguments import coerce
from ..served import Answer
from .ranking import Index

MANY: Final = 30  # tools; above it `auto` offers the two
FOUND: Final = 8
SEARCH: Final = "search_tools"
CALL: Final = "call_tool"
OURS: Final = "jackfield_"  # before those names, where a connector has a tool of that name
SEARCH_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What a tool should do, in a few words: open orders of customers"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 25, "default": FOUND, "description": "Most to return"},
    },
    "required": ["query"],
    "additionalProperties": False,
}  # fmt: skip
CALL_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "Name of the tool, as found by the search"},
        "arguments": {"type": "object", "description": "Its arguments, as its inputSchema says"},
    },
    "required": ["name"],
    "additionalProperties": False,
}
FOUND_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "tools": {"type": "array", "items": {"type": "object"}},
        "total": {"type": "integer"},
        "hint": {"type": "string"},
    },
    "required": ["tools", "total"],
}


class ToolSearch:
    """Over the entries of one list of tools. `on` says whether its two tools stand in place of that list."""

    def __init__(self, entries: Sequence[McpTool], wanted: str) -> None:
        self.on = wanted == "on" or (wanted == "auto" and len(entries) > MANY)
        self._entries = {entry.name: entry for entry in entries}
        self._index: Index | None = None
        self.search_name = f"{OURS}{SEARCH}" if SEARCH in self._entries else SEARCH
        self.call_name = f"{OURS}{CALL}" if CALL in self._entries else CALL

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    @property
    def names(self) -> Sequence[str]:
        return tuple(self._entries)

    def tools(self) -> list[McpTool]:
        """The entries of the two."""
        search = {
            "name": self.search_name,
            "title": "Search tools",
            "description": f"Find the tools for a task among the {len(self._entries)} here. Returns the nearest"
            f" with their inputSchema, to be called with {self.call_name}.",
            "inputSchema": SEARCH_SCHEMA,
            "outputSchema": FOUND_SCHEMA,
            "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False},
        }
        call = {
            "name": self.call_name,
            "title": "Call a tool",
            "description": f"Execute a tool that {self.search_name} found, by its name. Returns what it returns.",
            "inputSchema": CALL_SCHEMA,
            # It may be any tool: those with readOnlyHint say so where they are found.
            "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
        }
        return [McpTool.model_validate(search), McpTool.model_validate(call)]

    async def search(self, arguments: Mapping[str, Any]) -> Answer:
        """The nearest tools. Raises VALIDATION_INVALID_PARAMS, VALIDATION_MISSING_FIELD."""
        given = coerce(SEARCH_SCHEMA, arguments)
        if self._index is None:
            self._index = Index({name: _parts(entry) for name, entry in self._entries.items()})
        nearest = self._index.nearest(given["query"])
        found = [_found(self._entries[name]) for name in nearest[: given["limit"]]]
        body: dict[str, Any] = {"tools": found, "total": len(nearest)}
        if not found:
            body["hint"] = f"No tool has these words. The tools are: {', '.join(list(self._entries)[:40])}."
        elif len(nearest) > len(found):
            body["hint"] = "There are more; say more of what the tool should do, or raise the limit."
        return Answer.of(body)


def called(arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """(name, arguments) of what `call_tool` is to call. Raises JackfieldError where they do not fit."""
    given = coerce(CALL_SCHEMA, arguments)
    return given["name"], given["arguments"] or {}


def _parts(entry: McpTool) -> list[tuple[float, str]]:
    properties: Mapping[str, Any] = entry.input_schema.get("properties") or {}
    described = " ".join(str(schema.get("description", "")) for schema in properties.values())
    return [(3.0, entry.name), (2.0, entry.title or ""), (1.0, entry.description or ""), (0.5, " ".join(properties)),
            (0.3, described)]  # fmt: skip


def _found(entry: McpTool) -> dict[str, Any]:
    keys = {"name", "description", "input_schema", "annotations"}
    return entry.model_dump(by_alias=True, mode="json", exclude_none=True, include=keys)
