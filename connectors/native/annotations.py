"""What an agent's client is told of a tool before it calls: read-only, destructive, repeatable, open world."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from .document import Tool

DESTRUCTIVE_VERBS: Final = frozenset(
    "delete remove drop truncate purge erase wipe destroy revoke cancel refund suspend terminate "
    "deactivate disable reset overwrite close archive".split()
)
DESTRUCTIVE_SQL: Final = re.compile(r"^\s*(delete|update|merge|replace)\b", re.IGNORECASE)
REPEATABLE: Final = frozenset({"GET", "HEAD", "PUT", "DELETE"})


def annotations_of(tool: Tool, source_types: Mapping[str, str]) -> dict[str, bool]:
    """MCP's hints, from the category, the SQL, the request and the kinds of the sources it reads."""
    if tool.category == "READ":
        return {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": "rest" in source_types.values(),
        }
    return {
        "readOnlyHint": False,
        "destructiveHint": is_destructive(tool) if tool.destructive is None else tool.destructive,
        "idempotentHint": is_repeatable(tool) if tool.idempotent is None else tool.idempotent,
        "openWorldHint": tool.request is not None or "rest" in source_types.values(),
    }


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
