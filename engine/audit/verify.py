"""Verifying the audit: is each line the one that was written, in its place, and is the last that was written there?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...graphs.errors import Code, JackfieldError
from .chain import START, Head, Link, line_hash, link_of, read_head
from .places import CURRENT, HEAD, Snapshot, snapshot

SHOWN: Final = 12  # characters of a hash
KEPT: Final = "the record that was kept"


@dataclass(frozen=True, slots=True)
class Fault:
    """The first thing that is wrong, and where. `line` counts from 1; 0 is the file as a whole."""

    file: str
    line: int
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.found} Expected {self.expected}."


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was looked at, and the first fault, if any. `notes` are what a crash may leave and is no fault."""

    files: int
    lines: int
    first: int
    last: int
    fault: Fault | None = None
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        fault = self.fault
        return {
            "ok": fault is None,
            "files": self.files,
            "lines": self.lines,
            "first": self.first,
            "last": self.last,
            "fault": fault
            and {"file": fault.file, "line": fault.line, "found": fault.found, "expected": fault.expected},
            "notes": list(self.notes),
        }


class _Seen(NamedTuple):
    """A line, where it stands, and its hash."""

    file: str
    line: int
    link: Link
    hash: str


def verify(folder: Path, *, archived: bool = False, against: Head | None = None) -> Verdict:
    """Read every line, oldest first. Safe while a server writes. `archived`: older files were moved away.

    `against` is a head record of an earlier day, kept where nobody who writes here can: its line must still be there.
    Raises SCHEMA_NOT_FOUND when nothing was ever recorded in `folder`.
    """
    before = read_head(folder)
    with snapshot(folder) as files:
        if before is None and not files.names:
            raise nothing_recorded(folder)
        walk = _Walk(files, before, archived, against)
        verdict = walk.verdict()
    if verdict.fault is not None:
        return verdict
    # Lines may have come since we read the record: those are as good as the record that is there now.
    now = read_head(folder) or before
    if now is not None and verdict.last > now.seq + 1:
        extra = next((seen for seen in walk.after if seen.link.seq > now.seq + 1), walk.after[-1])
        return replace(
            verdict,
            fault=Fault(
                extra.file,
                extra.line,
                f"Line {extra.link.seq} was never recorded: {HEAD} ends at {now.seq}.",
                "at most one line more, which a crash may leave",
            ),
        )
    if now is not None and verdict.last == now.seq + 1:
        note = f"{HEAD} is one line behind: the process was killed, or is just writing."
        return replace(verdict, notes=(*verdict.notes, note))
    return verdict


def nothing_recorded(folder: Path) -> JackfieldError:
    return JackfieldError(
        Code.SCHEMA_NOT_FOUND,
        f"There is no audit in '{folder}'.",
        "`jackfield serve` writes one; run this in its workspace, or set JACKFIELD_STATE as it was set there.",
    )


class _Walk:
    """One pass over the lines. `before` is the head record as it was when the pass began."""

    def __init__(self, files: Snapshot, before: Head | None, archived: bool, against: Head | None) -> None:
        self._files = files
        self._before = before
        self._against = against
        self._archived = archived
        self._notes: list[str] = []
        self._lines = 0
        self._first = 0
        self._last: _Seen | None = None
        self.after: list[_Seen] = []  # lines after the head record

    def verdict(self) -> Verdict:
        fault = self._through_lines()
        if fault is None:
            fault = self._at_end()
        last = self._last.link.seq if self._last else 0
        return Verdict(len(self._files.names), self._lines, self._first, last, fault, tuple(self._notes))

    def _through_lines(self) -> Fault | None:
        suspect: tuple[_Seen, _Seen] | None = None  # of these two neighbours one is not what was written
        for item in self._seen():
            if isinstance(item, Fault):
                return _told(suspect, None) if suspect else item
            if suspect is not None:
                return _told(suspect, item.link.prev)
            if self._last is None:
                fault = self._beginning(item)
            else:
                fault = _order(self._last, item)
                if fault is None and item.link.prev != self._last.hash:
                    suspect = (self._last, item)
            if fault is not None:
                return fault
            if self._before is not None and item.link.seq == self._before.seq and item.hash != self._before.hash:
                return _told(suspect, self._before.hash) if suspect else self._not_recorded(item, self._before, HEAD)
            against = self._against
            if against is not None and item.link.seq == against.seq and item.hash != against.hash:
                return self._not_recorded(item, against, KEPT)
            if self._before is not None and item.link.seq > self._before.seq:
                self.after.append(item)
            self._lines += 1
            self._last = item
        if suspect is not None:
            return _told(suspect, self._before.hash if self._before else None)
        return None

    def _seen(self) -> Iterator[_Seen | Fault]:
        for name in self._files.names:
            with self._files.open(name) as file:
                number = 0
                for number, text in enumerate(file, 1):
                    if not text.endswith(b"\n"):
                        if name == CURRENT:
                            self._notes.append(f"{name}:{number} is not whole yet ({len(text)} bytes).")
                            break
                        yield Fault(name, number, "The line has no end.", "a whole line: this file was full")
                        return
                    line = text[:-1]
                    link = link_of(line)
                    if link is None:
                        yield Fault(name, number, f"This is no line of the audit: {_excerpt(line)}.", "a JSON object")
                        return
                    seen = _Seen(name, number, link, line_hash(line))
                    if number == 1 and (fault := self._start_of_file(seen)):
                        yield fault
                        return
                    yield seen
                if number == 0 and name != CURRENT:
                    yield Fault(name, 0, "The file is empty.", "the lines that its name tells of")
                    return

    def _start_of_file(self, seen: _Seen) -> Fault | None:
        named = next((one.first for one in self._files.full if one.path.name == seen.file), None)
        if named is None and self._before is not None and seen.link.seq <= self._before.seq:
            named = self._before.first
        if named is None or named == seen.link.seq:
            return None
        if self._last is not None and (fault := _order(self._last, seen)):
            return fault
        source = "its name says" if seen.file != CURRENT else f"{HEAD} says"
        return Fault(seen.file, 1, f"The file begins with line {seen.link.seq}.", f"line {named}, as {source}")

    def _beginning(self, item: _Seen) -> Fault | None:
        self._first = item.link.seq
        if item.link.seq > 1:
            if self._archived:
                self._notes.append(f"Lines 1 to {item.link.seq - 1} are not here.")
                return None
            expected = "line 1; if older files were moved away, say --archived"
            return Fault(item.file, item.line, f"The audit begins with line {item.link.seq}.", expected)
        if item.link.seq < 1 or item.link.prev != START:
            return Fault(item.file, item.line, "The first line does not say that it is the first.", "seq 1 after none")
        return None

    def _not_recorded(self, item: _Seen, record: Head, name: str) -> Fault:
        return Fault(
            item.file,
            item.line,
            f"Line {item.link.seq} is not what was written: its hash is {item.hash[:SHOWN]}….",
            f"{record.hash[:SHOWN]}…, as {name} says; the line was changed, or the file replaced",
        )

    def _at_end(self) -> Fault | None:
        if self._before is None:
            return Fault(HEAD, 0, "The file is missing, or no record.", "the seq and hash of the last line")
        last = self._last.link.seq if self._last else 0
        for record, name in ((self._before, HEAD), (self._against, KEPT)):
            if record is not None and last < record.seq:
                file, line = (self._last.file, self._last.line) if self._last else (CURRENT, 0)
                found = f"The audit ends after line {last}."
                return Fault(file, line + 1, found, f"lines to {record.seq}, as {name} says; the end was cut")
        if self._against is not None and self._against.seq < self._first:
            self._notes.append(f"Line {self._against.seq}, of the record that was kept, is not here.")
        return None


def _order(last: _Seen, item: _Seen) -> Fault | None:
    """What is wrong with the place of `item` after `last`."""
    expected = last.link.seq + 1
    if item.link.seq == expected:
        return None
    expects = f"line {expected}"
    if item.link.seq > expected:
        missing = (
            f"line {expected} is" if item.link.seq == expected + 1 else f"lines {expected} to {item.link.seq - 1} are"
        )
        return Fault(
            item.file, item.line, f"Line {item.link.seq} follows {last.link.seq}: {missing} not here.", expects
        )
    again = "again" if item.hash == last.hash else "which is out of order"
    return Fault(item.file, item.line, f"After line {last.link.seq} comes line {item.link.seq}, {again}.", expects)


def _told(suspect: tuple[_Seen, _Seen], vouched: str | None) -> Fault:
    """Two neighbours do not fit. `vouched` is the hash that what comes next gives for the second.

    Where that fits, the first is the one that was changed; else the second is, and perhaps both.
    """
    first, second = suspect
    if vouched == second.hash:
        return Fault(
            first.file,
            first.line,
            f"Line {first.link.seq} is not what was written: its hash is {first.hash[:SHOWN]}….",
            f"{second.link.prev[:SHOWN]}…, as line {second.link.seq} says",
        )
    return Fault(
        second.file,
        second.line,
        f"Line {second.link.seq} is not what was written: it gives {second.link.prev[:SHOWN]}… for the line before.",
        f"{first.hash[:SHOWN]}…; perhaps that line was changed too",
    )


def _excerpt(line: bytes) -> str:
    text = line[:40].decode("utf-8", "replace")
    return json.dumps(text) if text else "it is empty"
