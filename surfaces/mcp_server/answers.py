"""What a call gave, as an MCP CallToolResult: the whole answer both as structured content and as text."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from mcp_types import CallToolResult, ContentBlock, ResourceLink, TextContent

from ...connectors.model import Tool
from ...graphs.errors import JackfieldError
from ..served import Answer
from .blocks import content_of
from .fitting import fitted, fitted_content, kept_words, whole_link

RESULT_URI = "jackfield://results/"
Keep = Callable[[str], Awaitable[str]]


async def tool_result(
    answer: Answer, keep: Keep, tool: Tool | None = None, arguments: Mapping[str, Any] | None = None
) -> CallToolResult:
    """`structured_content` is an object, as MCP demands: a bare value stands under `result`. `tool`: of a connector.

    A graph may make the content itself; its other outputs are then what is structured. What does not fit is cut, and
    kept whole by `keep`, which gives the name to read it by.
    """
    is_table = answer.result is not None and answer.result.page is not None
    if not is_table and (made := content_of(answer.body)) is not None:
        blocks, rest = made
        whole = None
        if tool is not None:
            blocks, whole = fitted_content(blocks, tool.result.max_bytes)
        if whole is not None:
            blocks.append(whole_link(RESULT_URI + await keep(whole), "All of the content, uncut."))
        return CallToolResult(content=blocks, structured_content=rest or None)
    fit = fitted(answer, tool, arguments or {})
    content: list[ContentBlock] = [TextContent(type="text", text=fit.text)]
    if fit.whole is not None:
        content.append(whole_link(RESULT_URI + await keep(fit.whole), "The whole answer, uncut."))
    elif (link := all_rows(answer)) is not None:
        content.append(link)
    return CallToolResult(content=content, structured_content=fit.body)


def error_result(error: JackfieldError) -> CallToolResult:
    """An error that the agent can act on is a result, not an error of the protocol (MCP, Tools, Error Handling)."""
    body = {"error": error.as_json()}
    text = msgspec.json.encode(body).decode()
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=body, is_error=True)


def all_rows(answer: Answer) -> ResourceLink | None:
    """Where all rows of a longer answer can be read, while they are kept."""
    page = None if answer.result is None else answer.result.page
    if page is None or page.kept is None:
        return None
    held = kept_words(page.kept.rows, page.kept.found, "All of it, {} rows")
    what = f"{held[0].upper()}{held[1:]}. Add ?format=csv, arrow or parquet for another form, offset"
    return whole_link(RESULT_URI + page.kept.name, f"{what} and limit for a part.")
