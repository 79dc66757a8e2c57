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
from ..answers import CallResult
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
    """The JSON text of an answer that fits. `whole` is the text to keep, where nothing else has all of it."""

    text: str
    whole: str | None = None

    @property
    def body(self) -> dict[str, Any]:
        value: dict[str, Any] = msgspec.json.decode(self.text)
        return value


def fitted(answer: Answer, tool: Tool | None, arguments: Mapping[str, Any]) -> Fitted:
    """The answer of a tool as an object; of the platform's own tools, which bound theirs, `tool` is None."""
    text = answer.text if answer.text.startswith("{") else f'{{"result":{answer.text}}}'
    if tool is None:
        return Fitted(text)
    limit = tool.result.max_bytes + SLACK
    result = answer.result
    if result is None or result.page is None:
        return Fitted(text) if len(text) <= limit else _preview(text, tool)
    if len(text) > limit:
        return _narrow_rows(text, tool, result.page.kept is not None)
    if result.page.truncated:
        return Fitted(f'{text[:-1]},"hint":{_encoded(narrowing(tool, result, arguments))}}}')
    return Fitted(text)


def narrowing(tool: Tool, result: CallResult, arguments: Mapping[str, Any]) -> str:
    """What an agent can do about a page that is not all there is."""
    page = result.page
    assert page is not None
    shown, total = page.row_count, page.total_rows
    of = f" of {total}" if total is not None else ""
    known = tool.input_schema.get("properties") or {}
    free = [name for name in known if arguments.get(name) is None and name != CURSOR][:MOST_NAMED]
    ways = [f"narrow it with {', '.join(free)}"] if free else []
    if page.next_cursor is not None and pages(tool):
        ways.append(f"pass next_cursor as {CURSOR}")
    if page.kept is not None:
        ways.append(f"read the linked resource for {kept_words(page.kept.rows, page.kept.found, 'all rows')}")
    reasons = {
        "source_cap": "A source stopped before its end, so that rows may be missing and totals too small.",
        "result_cap": f"In pages this tool gives no more than {tool.result.max_rows}{of} rows.",
    }
    reason = reasons.get(str(page.truncation_reason), f"These are {shown}{of} rows.")
    return f"{reason} {_sentence(ways)}".strip()


def kept_words(rows: int, found: int, every: str) -> str:
    """`every`, with the number of rows, of a resource that holds all that were found; else how many it holds."""
    return every.format(found) if rows == found else f"the first {rows} of {found} rows, for which alone there was room"


def _sentence(ways: Sequence[str]) -> str:
    text = ", or ".join(ways)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _narrow_rows(text: str, tool: Tool, are_kept: bool) -> Fitted:
    """Long values of a page that does not fit though it has few rows, cut."""
    body = msgspec.json.decode(text)
    rows: list[dict[str, Any]] = body["rows"]
    cells = sum(len(row) for row in rows) or 1
    room = max(SHORTEST, tool.result.max_bytes // cells)
    cut: dict[str, None] = {}
    shown = [{name: _cut(name, value, room, cut) for name, value in row.items()} for row in rows]
    hint = f"Long values of {', '.join(list(cut)[:MOST_NAMED])} are cut; the linked resource has them whole."
    reason = body.get("truncation_reason") or "token_budget"
    fitting = {**body, "rows": shown, "truncated": True, "truncation_reason": reason, "hint": hint}
    return Fitted(_encoded(fitting), None if are_kept else text)


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
    return Fitted(_encoded(body), text)


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
