"""The lines of a file from its end to its start, without reading more of it than is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

BLOCK: Final = 1 << 16


class Placed(NamedTuple):
    """A line without its end, and where it starts. Only the first one given may not be whole."""

    start: int
    text: bytes
    is_whole: bool


def lines_from_end(file: BinaryIO, end: int | None = None) -> Iterator[Placed]:
    """The lines that end at or before the offset `end`, last first. What stands after the last line end comes first."""
    position = file.seek(0, os.SEEK_END) if end is None else end
    rest: list[bytes] = []  # pieces of a line whose start is not read yet, last first
    whole = False
    while position > 0:
        size = min(BLOCK, position)
        position -= size
        file.seek(position)
        block = file.read(size)
        stop = len(block)
        while (found := block.rfind(b"\n", 0, stop)) >= 0:
            text = b"".join((block[found + 1 : stop], *reversed(rest)))
            rest = []
            if whole or text:
                yield Placed(position + found + 1, text, whole)
            whole = True
            stop = found
        rest.append(block[:stop])
    text = b"".join(reversed(rest))
    if whole or text:
        yield Placed(0, text, whole)
