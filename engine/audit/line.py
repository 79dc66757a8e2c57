"""A line of the audit: what is known of one call, and how it becomes one line of JSON."""

from __future__ import annotations

import calendar
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .encoding import one_line
from .redaction import Redaction

KEYS: Final = (
    # those of the specification, in its order
    "ts", "tool", "args", "rows", "bytes", "duration_ms", "error", "session_id",
    # ours
    "run", "connector", "category", "principal", "client", "era", "cache", "pushed", "truncated", "decision",
    "message", "trace", "seq", "prev",
)  # fmt: skip
DAY_S: Final = 86_400
LONGEST_NAME: Final = 256
LONGEST_MESSAGE: Final = 2_000
MAX_PUSHED_BYTES: Final = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One call. `AuditLog.append` adds `ts` (when it was recorded), `seq` and `prev`.

    `error` is the code alone and `message` its text; `decision` is "allowed", or "denied" for what never ran.
    `sensitive` names parameters whose values must not be written; it is not written itself.
    """

    tool: str | None
    args: Mapping[str, Any] | None = None
    rows: int | None = None
    bytes: int | None = None
    duration_ms: float = 0.0
    error: str | None = None
    session_id: str | None = None
    run: str | None = None
    connector: str | None = None
    category: str | None = None
    principal: str | None = None
    client: str | None = None
    era: str | None = None
    cache: str | None = None
    pushed: Any = None
    truncated: bool | None = None
    decision: str = "allowed"
    message: str | None = None
    trace: str | None = None
    sensitive: frozenset[str] = frozenset()


def encoded(line: Line, at: str, seq: int, prev: str, redaction: Redaction) -> bytes:
    """`line` as one line of JSON with its line end, secrets hidden, long values cut."""
    args, hidden = redaction.arguments(line.args, line.sensitive)
    return (
        one_line(
            {
                "ts": at,
                "tool": _name(line.tool),
                "args": args,
                "rows": line.rows,
                "bytes": line.bytes,
                "duration_ms": round(line.duration_ms, 3),
                "error": _name(line.error),
                "session_id": _name(line.session_id),
                "run": _name(line.run),
                "connector": _name(line.connector),
                "category": line.category,
                "principal": _name(line.principal),
                "client": _name(line.client),
                "era": line.era,
                "cache": line.cache,
                "pushed": None if line.pushed is None else redaction.facts(line.pushed, hidden, MAX_PUSHED_BYTES),
                "truncated": line.truncated,
                "decision": line.decision,
                "message": None if line.message is None else redaction.text(line.message, hidden, LONGEST_MESSAGE),
                "trace": _name(line.trace),
                "seq": seq,
                "prev": prev,
            }
        )
        + b"\n"
    )


def _name(text: str | None) -> str | None:
    """Names come from callers too, and may be of any length."""
    if text is None or len(text) <= LONGEST_NAME:
        return text
    return text[: LONGEST_NAME - 1] + "…"


class Clock:
    """Times as `2026-11-21T08:30:00.123Z`; the text of a second is made once."""

    __slots__ = ("_second", "_text")

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def text(self, at: float) -> str:
        milliseconds = int(at * 1000)
        second, rest = divmod(milliseconds, 1000)
        if second != self._second:
            self._text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
            self._second = second
        return f"{self._text}.{rest:03d}Z"


def day_of(ts: str, now: float) -> int:
    """The UTC day, counted from 1970, of a time as a line has it; that of `now` where it is none."""
    try:
        return calendar.timegm(time.strptime(ts[:10], "%Y-%m-%d")) // DAY_S
    except ValueError:
        return int(now // DAY_S)
