"""What a call gave, as an MCP CallToolResult: the whole answer both as structured content and as text."""

from __future__ import annotations

from typing import Any

import msgspec
from mcp_types import CallToolResult, ContentBlock, ResourceLink, TextContent

from ...graphs.errors import JackfieldError
from ..served import Answer
from ..whole_results import result_id
from .blocks import content_of

RESULT_URI = "jackfield://results/"


def tool_result(answer: Answer) -> CallToolResult:
    """`structured_content` is an object, as MCP demands: a bare value stands under `result`.

    A graph may make the content itself; its other outputs are then what is structured.
    """
    body: Any = answer.body
    if (made := content_of(body)) is not None:
        blocks, rest = made
        return CallToolResult(content=blocks, structured_content=rest or None)
    text = answer.text
    if not isinstance(body, dict):
        body = {"result": body}
        text = msgspec.json.encode(body).decode()
    content: list[ContentBlock] = [TextContent(type="text", text=text)]
    link = whole_result(answer)
    if link is not None:
        content.append(link)
    return CallToolResult(content=content, structured_content=body)


def error_result(error: JackfieldError) -> CallToolResult:
    """An error that the agent can act on is a result, not an error of the protocol (MCP, Tools, Error Handling)."""
    body = {"error": error.as_json()}
    text = msgspec.json.encode(body).decode()
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=body, is_error=True)


def whole_result(answer: Answer) -> ResourceLink | None:
    """Where the whole of a longer answer can be read, while it is kept."""
    page = None if answer.result is None else answer.result.page
    name = result_id(page)
    if page is None or name is None:
        return None
    total = f"{page.total_rows} rows" if page.total_rows is not None else "all rows that were found"
    return ResourceLink(
        type="resource_link",
        uri=f"{RESULT_URI}{name}",
        name=f"result-{name[:8]}",
        title="The whole result",
        description=f"The whole result, {total}. Add ?format=csv, arrow or parquet for another form.",
        mime_type="application/json",
    )
