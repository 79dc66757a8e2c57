"""Reading the audit back: pages of lines, newest first, without loading more of the files than a page needs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import merge
from pathlib import Path
from typing import Any, Final

import msgspec

from ...graphs.errors import Code, JackfieldError
from .backwards import lines_from_end
from .encoding import one_line
from .places import CURRENT, Snapshot, snapshot

MAX_SCANNED: Final = 64 * 2**20
# A clock may have been set back while the lines were written: so much older a line must be to end the search.
CLOCK_STEP_S: Final = 3600
TIMES: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
TS: Final = b'{"ts":"'
TS_LENGTH: Final = len("2026-11-21T08:30:00.123Z")
FIELDS: Final = ("tool", "connector", "error", "principal", "session_id", "run")
_decode: Final = msgspec.json.decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which lines: those whose fields are these, written from `since` (inclusive) to `until` (exclusive).

    `failed` asks for lines with any error, or with none. Times are as in a line: `2026-11-21T08:30:00.123Z`.
    """

    tool: str | None = None
    connector: str | None = None
    error: str | None = None
    principal: str | None = None
    session_id: str | None = None
    run: str | None = None
    failed: bool | None = None
    since: str | None = None
    until: str | None = None

    def takes(self, line: dict[str, Any]) -> bool:
        for name in FIELDS:
            wanted = getattr(self, name)
            if wanted is not None and line.get(name) != wanted:
                return False
        if self.failed is not None and (line.get("error") is not None) is not self.failed:
            return False
        ts = line.get("ts") or ""
        return not (self.since is not None and ts < self.since) and not (self.until is not None and ts >= self.until)

    def pieces(self) -> tuple[bytes, ...]:
        """What a line that is taken holds somewhere: looked for before the line is decoded."""
        wanted = [(name, getattr(self, name)) for name in FIELDS]
        return tuple(f'"{name}":'.encode() + one_line(value) for name, value in wanted if value is not None)


EVERYTHING: Final = Filter()


@dataclass(frozen=True, slots=True)
class Lines:
    """A page, newest first. `before` is where the next page begins; None at the end of the audit.

    A page may be short, even empty, though more follow: a search stops after a bounded piece of the files.
    """

    lines: tuple[dict[str, Any], ...]
    before: int | None


def read_page(
    folder: Path,
    wanted: Filter = EVERYTHING,
    *,
    limit: int = 100,
    before: int | None = None,
    max_scanned: int = MAX_SCANNED,
) -> Lines:
    """At most `limit` lines that `wanted` takes, written before the line whose seq is `before`. Blocks: call it in a
    thread. What is no line is passed over: `verify` names it.
    """
    found: list[dict[str, Any]] = []
    pieces = wanted.pieces()
    oldest = b"" if wanted.since is None else _shifted(wanted.since, -CLOCK_STEP_S).encode()
    scanned = 0
    last: int | None = None  # a seq down to which all was seen
    for text in raw_newest_first(folder, before):
        if len(found) == limit or (scanned > max_scanned and last is not None):
            return Lines(tuple(found), last)
        scanned += len(text) + 1
        if text.startswith(TS) and text[len(TS) :] < oldest:
            break
        if scanned < max_scanned and not all(piece in text for piece in pieces):
            continue
        line = decoded(text)
        if line is None or (before is not None and line["seq"] >= before):
            continue
        last = line["seq"]
        if wanted.takes(line):
            found.append(line)
    return Lines(tuple(found), None)


def decoded(text: bytes) -> dict[str, Any] | None:
    """A line as a dictionary; None for what is none."""
    try:
        line = _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return line if isinstance(line, dict) and isinstance(line.get("seq"), int) else None


def raw_newest_first(folder: Path, before: int | None = None) -> Iterator[bytes]:
    """Whole lines without their ends, of all files but those that begin at or after line `before`."""
    with ExitStack() as stack:
        files = stack.enter_context(snapshot(folder))
        for name in reversed(files.names):
            if before is not None and _begins(files, name) >= before:
                continue
            with files.open(name) as file:
                for placed in lines_from_end(file):
                    if placed.is_whole and placed.text:
                        yield placed.text


def raw_oldest_first(folders: Path | Sequence[Path]) -> Iterator[bytes]:
    """Whole lines without their ends, of all files; of several audits, by time."""
    if isinstance(folders, Path):
        return _oldest_first(folders)
    return merge(*map(_oldest_first, folders), key=ts_of) if len(folders) > 1 else _oldest_first(*folders)


def ts_of(text: bytes) -> bytes:
    """When a line was written, for putting lines in order; empty where it does not say so first."""
    return text[len(TS) : len(TS) + TS_LENGTH] if text.startswith(TS) else b""


def _oldest_first(folder: Path) -> Iterator[bytes]:
    with snapshot(folder) as files:
        for name in files.names:
            with files.open(name) as file:
                for text in file:
                    if text.endswith(b"\n"):
                        yield text[:-1]


def _begins(files: Snapshot, name: str) -> int:
    return 0 if name == CURRENT else next(one.first for one in files.full if one.path.name == name)


def moment(text: str, now: datetime | None = None) -> str:
    """A time as lines have it, from `2026-11-21`, `2026-11-21T08:30[:00]`, with or without a zone, or `30m`, `2h`, `7d`
    ago. Without a zone it is UTC. Raises VALIDATION_INVALID_PARAMS.
    """
    now = now or datetime.now(UTC)
    ago = re.fullmatch(r"(\d{1,6})([smhd])", text)
    try:
        at = now - timedelta(**{TIMES[ago[2]]: int(ago[1])}) if ago else datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"'{text[:40]}' is no time.",
            "Say 2026-11-21, 2026-11-21T08:30:00Z, or how long ago: 30m, 2h, 7d.",
        ) from None
    at = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def _shifted(ts: str, seconds: float) -> str:
    return moment((datetime.fromisoformat(ts) + timedelta(seconds=seconds)).isoformat())
