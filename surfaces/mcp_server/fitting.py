"""Answers cut to what an agent can take in: what was cut, why, what to do about it, and where the whole is.

Pages of rows are cut where they are made; here it is a single wide row, a value that is no table, or content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from mcp_types import ContentBlock, ResourceLink, TextContent

from ...connectors.model import Tool
from ...graphs.model import Json
from ..served import Answer
from ..service import CURSOR, pages

SLACK: Final = 2_000  # bytes of an answer around its rows
SHORTEST: Final = 40  # characters that are left of a value
MOST_NAMED: Final = 6
CUT_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "preview": {"type": "string"},
        "truncated": {"const": True},
        "truncation_reason": {"const": "token_budget"},
        "total_bytes": {"type": "integer"},
        "hint": {"type": "string"},
    },
    "required": ["preview", "truncated", "total_bytes"],
}


@dataclass(frozen=True, slots=True)
class Fitted:
    """An answer that fits. `whole` is the text to keep, where this is not all of it and nothing else has it."""

    body: dict[str, Any]
    text: str
    whole: str | None = None


def fitted(answer: Answer, tool: Tool | None, arguments: Mapping[str, Any]) -> Fitted:
    """The answer of a tool as an object; of the platform's own tools, which bound theirs, `tool` is None."""
    body: Any = answer.body
    text = answer.text
    if not isinstance(body, dict):
        body = {"result": body}
        text = _encoded(body)
    limit = None if tool is None else tool.result.max_bytes + SLACK
    if tool is None or limit is None:
        return Fitted(body, text)
    if tool.category == "READ" and isinstance(body.get("rows"), list):
        if len(text) > limit:
            return _narrow_rows(body, text, tool)
        if body.get("truncated"):
            return _hinted(body, text, narrowing(tool, body, arguments))
        return Fitted(body, text)
    return Fitted(body, text) if len(text) <= limit else _preview(text, tool)


def narrowing(tool: Tool, body: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """What an agent can do about an answer that is not all there is."""
    shown, total = body["row_count"], body.get("total_rows")
    of = f" of {total}" if total is not None else ""
    known = tool.input_schema.get("properties") or {}
    free = [name for name in known if arguments.get(name) is None and name != CURSOR][:MOST_NAMED]
    ways = [f"narrow it with {', '.join(free)}"] if free else []
    if body.get("next_cursor") is not None:
        if pages(tool):
            ways.append(f"pass next_cursor as {CURSOR}")
        ways.append("read the linked resource for all rows")
    reasons = {
        "source_cap": "A source stopped before its end, so that rows may be missing and totals too small.",
        "result_cap": f"This tool gives no more than {tool.result.max_rows} rows.",
    }
    reason = reasons.get(str(body.get("truncation_reason")), f"These are {shown}{of} rows.")
    return f"{reason} {_sentence(ways)}".strip()


def _sentence(ways: Sequence[str]) -> str:
    text = ", or ".join(ways)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _hinted(body: dict[str, Any], text: str, hint: str) -> Fitted:
    return Fitted({**body, "hint": hint}, f'{text[:-1]},"hint":{_encoded(hint)}}}')


def _narrow_rows(body: dict[str, Any], text: str, tool: Tool) -> Fitted:
    """Long values of a page that does not fit though it has few rows, cut."""
    rows: list[dict[str, Any]] = body["rows"]
    cells = sum(len(row) for row in rows) or 1
    room = max(SHORTEST, tool.result.max_bytes // cells)
    cut: dict[str, None] = {}
    shown = [{name: _cut(name, value, room, cut) for name, value in row.items()} for row in rows]
    hint = f"Long values of {', '.join(list(cut)[:MOST_NAMED])} are cut; the linked resource has them whole."
    reason = body.get("truncation_reason") or "token_budget"
    fitting = {**body, "rows": shown, "truncated": True, "truncation_reason": reason, "hint": hint}
    # The rows of a page that goes on are all kept already.
    return Fitted(fitting, _encoded(fitting), text if body.get("next_cursor") is None else None)


def _cut(name: str, value: Any, room: int, cut: dict[str, None]) -> Any:
    text = value if isinstance(value, str) else _encoded(value) if isinstance(value, (list, dict)) else ""
    if len(text) <= room:
        return value
    cut[name] = None
    return f"{text[:room]}… ({len(text)} characters)"


def _preview(text: str, tool: Tool) -> Fitted:
    body = {
        "preview": text[: tool.result.max_bytes],
        "truncated": True,
        "truncation_reason": "token_budget",
        "total_bytes": len(text.encode("utf-8", "surrogatepass")),
        "hint": "This is the beginning of a longer answer; the linked resource has all of it.",
    }
    return Fitted(body, _encoded(body), text)


def fitted_content(blocks: Sequence[ContentBlock], limit: int) -> tuple[list[ContentBlock], str | None]:
    """Content whose texts have together no more than `limit` characters, and all of them where some were cut."""
    texts = [block.text for block in blocks if isinstance(block, TextContent)]
    if sum(map(len, texts)) <= limit + SLACK:
        return list(blocks), None
    room = limit
    found: list[ContentBlock] = []
    for block in blocks:
        if isinstance(block, TextContent) and len(block.text) > room:
            block = block.model_copy(update={"text": f"{block.text[:room]}… ({len(block.text)} characters)"})
        if isinstance(block, TextContent):
            room = max(0, room - len(block.text))
        found.append(block)
    return found, _encoded([block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in blocks])


def whole_link(uri: str, what: str, mime_type: str = "application/json") -> ResourceLink:
    name = uri.rpartition("/")[2]
    return ResourceLink(
        type="resource_link",
        uri=uri,
        name=f"result-{name[:8]}",
        title="The whole result",
        description=what,
        mime_type=mime_type,
    )


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()
