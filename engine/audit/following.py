"""Following the audit as it grows: the last lines, then each new one, over rotations."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from .places import CURRENT
from .reading import raw_newest_first

LOOK_S: Final = 0.1


def last_lines(folder: Path, count: int) -> list[bytes]:
    """The last `count` lines, oldest first."""
    return list(islice(raw_newest_first(folder), count))[::-1]


def rest() -> bool:
    time.sleep(LOOK_S)
    return True


class Following:
    """Gives the lines written after the line `seen`, or after now where that is None."""

    def __init__(self, folder: Path, seen: bytes | None = None) -> None:
        self._folder = folder
        self._part = b""
        self._file = _current(folder)
        if self._file is not None:
            _go_behind(self._file, seen)

    def lines(self) -> Iterator[bytes]:
        """Those that there are by now."""
        while True:
            while self._file is not None and (text := self._file.readline()):
                self._part += text
                if self._part.endswith(b"\n"):
                    yield self._part[:-1]
                    self._part = b""
            following = _current(self._folder) if _is_other(self._folder, self._file) else None
            if following is None:
                return
            if self._file is not None:
                for text in self._file:  # written between our last look and the rotation
                    yield text.rstrip(b"\n")
                self._file.close()
            self._file = following

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def follow(folder: Path, seen: bytes | None = None, go_on: Callable[[], bool] = rest) -> Iterator[bytes]:
    """Lines written after the line `seen`, or after now, for as long as `go_on` (called when none is left) says so."""
    following = Following(folder, seen)
    try:
        yield from following.lines()
        while go_on():
            yield from following.lines()
    finally:
        following.close()


def _current(folder: Path) -> BinaryIO | None:
    try:
        return (folder / CURRENT).open("rb")
    except FileNotFoundError:
        return None


def _is_other(folder: Path, file: BinaryIO | None) -> bool:
    try:
        found = os.stat(folder / CURRENT)
    except FileNotFoundError:
        return False
    if file is None:
        return True
    held = os.fstat(file.fileno())
    return (held.st_ino, held.st_dev) != (found.st_ino, found.st_dev)


def _go_behind(file: BinaryIO, seen: bytes | None) -> None:
    """To the place after `seen`; to the end where it is not in this file."""
    if seen is not None:
        for text in file:
            if text[:-1] == seen:
                return
        file.seek(0)
    else:
        file.seek(0, os.SEEK_END)
