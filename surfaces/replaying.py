"""Calls as the audit remembers them, so that a restart does not make sessions and the last calls forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ..engine.audit.reading import read_page
from ..graphs.errors import Code, JackfieldError
from .served import Caller, ServedCall

MOST: Final = 1_000
SCANNED: Final = 16 << 20  # bytes of the audit that are looked at for them


def last_calls(folder: Path) -> list[ServedCall]:
    """The calls that were recorded last, the oldest first. Blocks: call it in a thread."""
    try:
        lines = read_page(folder, limit=MOST, max_scanned=SCANNED).lines
    except OSError:
        return []  # whatever is wrong with the audit, who opens it to write says so
    return list(_calls(reversed(lines)))


def _calls(lines: Iterator[dict[str, Any]]) -> Iterator[ServedCall]:
    for line in lines:
        try:
            call = _call(line)
        except (KeyError, TypeError, ValueError):
            continue  # a line of another version, or none of ours
        if call.name:
            yield call


def _call(line: Mapping[str, Any]) -> ServedCall:
    """Secrets are hidden in it, and long arguments cut, as they are in the line."""
    seconds = float(line["duration_ms"]) / 1000
    args = line["args"]
    call = ServedCall(
        Caller(line["principal"] or "", line["client"] or "", line["era"] or "", line["session_id"] or ""),
        line["tool"] or "",
        args if isinstance(args, dict) else {},
        line["run"] or "",
        at=datetime.fromisoformat(line["ts"]).timestamp() - seconds,
        connector=line["connector"] or "",
        tool=line["tool"] or "",
        category=line["category"] or "",
        seconds=seconds,
        rows=line["rows"],
        bytes=line["bytes"],
        cached=None if line["cache"] is None else line["cache"] == "hit",
        pushed=line["pushed"] if isinstance(line["pushed"], int) else None,
    )
    if line["error"] is not None:
        call.error = JackfieldError(Code(line["error"]), line["message"] or "")
    return call
