"""What graphs make for MCP itself: content of an answer, messages of a prompt, contents of a resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from mcp_types import BlobResourceContents, ContentBlock, PromptMessage, TextResourceContents
from pydantic import TypeAdapter, ValidationError

from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Json
from ...nodes.content import CONTENT, CONTENTS, MESSAGES

T = TypeVar("T")
BLOCKS: Final[TypeAdapter[list[ContentBlock]]] = TypeAdapter(list[ContentBlock])
PROMPT: Final[TypeAdapter[list[PromptMessage]]] = TypeAdapter(list[PromptMessage])
RESOURCE: Final[TypeAdapter[list[TextResourceContents | BlobResourceContents]]] = TypeAdapter(
    list[TextResourceContents | BlobResourceContents]
)


def content_of(body: Json) -> tuple[list[ContentBlock], dict[str, Json]] | None:
    """The blocks of an answer whose output port `content` has them, and its other ports; None for any other answer."""
    if not isinstance(body, Mapping) or not isinstance(body.get(CONTENT), list) or not body[CONTENT]:
        return None
    try:
        blocks = BLOCKS.validate_python(body[CONTENT], by_name=False)
    except ValidationError:
        return None  # a list of its own, which only has that name
    return blocks, {name: value for name, value in body.items() if name != CONTENT}


def messages_of(body: Json, owner: str) -> list[PromptMessage]:
    """The messages that a skill's graph gave. Raises INVALID_SKILL when it gave none."""
    return _read(PROMPT, body, MESSAGES, Code.INVALID_SKILL, f"Skill '{owner}'")


def contents_of(body: Json, owner: str) -> list[TextResourceContents | BlobResourceContents]:
    """What a resource's graph gave. Raises CONFIG_INVALID when it gave no contents."""
    return _read(RESOURCE, body, CONTENTS, Code.CONFIG_INVALID, f"Resource '{owner}'")


def _read(adapter: TypeAdapter[list[T]], body: Any, port: str, code: Code, owner: str) -> list[T]:
    found = body.get(port) if isinstance(body, Mapping) else None
    try:
        return adapter.validate_python(found, by_name=False)
    except ValidationError:
        given = sorted(body) if isinstance(body, Mapping) else []
        raise JackfieldError(
            code,
            f"{owner} has a graph that gave no '{port}' as MCP has them.",
            f"Wire the port '{port}' of a `content` node to its output. It gave: {', '.join(given) or 'nothing'}.",
            {"available": given},
        ) from None
