"""The files of the audit: `audit.log` is written, full ones have names of their own, `head.json` tells the end."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

CURRENT: Final = "audit.log"
HEAD: Final = "head.json"
LOCK: Final = "audit.lock"
RENAMED: Final = 4  # files that may become full while one is opened
ROTATED: Final = re.compile(r"audit-([0-9TZ.-]+)-(\d{12,})\.log")


@dataclass(frozen=True, slots=True)
class Rotated:
    """A full file; its name says the seq of its first line."""

    path: Path
    first: int


def rotated_name(first_ts: str, first_seq: int) -> str:
    """`audit-2026-11-21T08-30-00.123Z-000000000001.log`: names sort as their lines do."""
    return f"audit-{first_ts.replace(':', '-')}-{first_seq:012d}.log"


def rotated(folder: Path) -> tuple[Rotated, ...]:
    """The full files, oldest first."""
    found = [(ROTATED.fullmatch(path.name), path) for path in folder.glob("audit-*.log")]
    return tuple(sorted((Rotated(path, int(name[2])) for name, path in found if name), key=lambda one: one.first))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All files as they stood at one moment, while `serve` may be writing. `current` is open, or None."""

    full: tuple[Rotated, ...]
    current: BinaryIO | None

    @property
    def names(self) -> tuple[str, ...]:
        return (*(one.path.name for one in self.full), *([CURRENT] if self.current else []))

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """One of the files, from its start."""
        if name == CURRENT and self.current is not None:
            self.current.seek(0)
            yield self.current
            return
        path = next(one.path for one in self.full if one.path.name == name)
        with path.open("rb") as file:
            yield file


@contextmanager
def snapshot(folder: Path) -> Iterator[Snapshot]:
    """The current file is opened before the full ones are listed, so that no rotation in between hides lines."""
    try:
        current = (folder / CURRENT).open("rb")
    except FileNotFoundError:
        yield Snapshot(rotated(folder), None)
        return
    with current:
        full = rotated(folder)
        held = os.fstat(current.fileno())
        # If it was renamed in between it is among the last of these, and newer ones are left for the next look.
        for index in range(len(full) - 1, max(len(full) - 1 - RENAMED, -1), -1):
            if _is_same(full[index].path, held):
                full = full[:index]
                break
        yield Snapshot(full, current)


def _is_same(path: Path, held: os.stat_result) -> bool:
    found = path.stat()
    return (found.st_ino, found.st_dev) == (held.st_ino, held.st_dev)
