"""What an agent's client is told of a tool before it calls: read-only, destructive, repeatable, open world."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ..model import Source
from .document import Tool

DESTRUCTIVE_VERBS: Final = frozenset(
    {
        *("archive", "cancel", "close", "deactivate", "delete", "destroy", "disable", "drop", "erase", "overwrite"),
        *("purge", "refund", "remove", "reset", "revoke", "suspend", "terminate", "truncate", "wipe"),
    }
)
DESTRUCTIVE_SQL: Final = re.compile(r"^\s*(delete|update|merge|replace)\b", re.IGNORECASE)
REPEATABLE: Final = frozenset({"GET", "HEAD", "PUT", "DELETE"})


def annotations_of(tool: Tool, sources: Mapping[str, Source]) -> dict[str, bool]:
    """MCP's hints, from the category, the SQL, the request and the kinds of the sources it reads."""
    remote = any(source.type == "rest" for source in _used(tool, sources))
    if tool.category == "READ":
        return {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": remote,
        }
    return {
        "readOnlyHint": False,
        "destructiveHint": is_destructive(tool) if tool.destructive is None else tool.destructive,
        "idempotentHint": is_repeatable(tool) if tool.idempotent is None else tool.idempotent,
        "openWorldHint": tool.request is not None or remote,
    }


def _used(tool: Tool, sources: Mapping[str, Source]) -> list[Source]:
    """The sources that a tool may read, told by the words of its SQL unparsed: one too many does no harm."""
    words = set(re.findall(r"[a-z0-9_]+", (tool.sql or "").lower()))
    named = {*tool.source_ids, tool.at}
    return [
        source
        for source in sources.values()
        if source.id in named or any(word.startswith(name.lower()) for name in source.names for word in words)
    ]


def is_destructive(tool: Tool) -> bool:
    """Whether it takes something away or changes it in place, as far as its own words say."""
    if destructive_verb(tool.id):
        return True
    if tool.save is not None:
        return tool.save.mode == "overwrite"
    if tool.request is not None:
        return _method(tool.request) == "DELETE"
    return bool(tool.at and tool.sql and DESTRUCTIVE_SQL.match(tool.sql))


def destructive_verb(tool_id: str) -> str:
    """The word of an id like `cancel_order` that says something is taken away; empty when there is none."""
    return next((word for word in tool_id.lower().split("_") if word in DESTRUCTIVE_VERBS), "")


def is_repeatable(tool: Tool) -> bool:
    """Whether the same call made twice leaves what one call leaves."""
    if tool.request is not None:
        return _method(tool.request) in REPEATABLE or bool(tool.request.get("idempotency_header"))
    return tool.save is not None and tool.save.mode in ("overwrite", "upsert")


def _method(request: Mapping[str, Any]) -> str:
    return str(request.get("method", "POST")).upper()
