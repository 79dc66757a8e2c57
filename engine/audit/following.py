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


def _rest() -> bool:
    time.sleep(LOOK_S)
    return True


def follow(folder: Path, seen: bytes | None = None, go_on: Callable[[], bool] = _rest) -> Iterator[bytes]:
    """Lines written after the line `seen`, or after now, for as long as `go_on` (called when none is left) says so."""
    file = _current(folder)
    if file is not None:
        _go_behind(file, seen)
    try:
        part = b""
        while True:
            while file is not None and (text := file.readline()):
                part += text
                if part.endswith(b"\n"):
                    yield part[:-1]
                    part = b""
            following = _current(folder) if _is_other(folder, file) else None
            if following is not None:
                if file is not None:
                    for text in file:  # written between our last look and the rotation
                        yield text.rstrip(b"\n")
                    file.close()
                file = following
            elif not go_on():
                return
    finally:
        if file is not None:
            file.close()


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
