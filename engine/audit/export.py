"""The audit as CSV for a spreadsheet, which takes for a formula what begins like one."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from .line import KEYS
from .reading import EVERYTHING, Filter, decoded, raw_oldest_first

# Also their full-width forms, which some programs take for the same.
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
ROWS: Final = 1_000


def guarded(value: Any) -> Any:
    """A cell: text that could be a formula gets an apostrophe before it; numbers stay numbers."""
    if isinstance(value, str) and (value.startswith(FORMULA) or value.lstrip().startswith(FORMULA)):
        return f"'{value}"
    return value


def csv_parts(folders: Path | Sequence[Path], wanted: Filter = EVERYTHING) -> Iterator[bytes]:
    """The lines that `wanted` takes as CSV, oldest first, with a header; in parts, each of whole records."""
    yield csv_text([KEYS])
    rows = ([_cell(line.get(name)) for name in KEYS] for _, line in lines(folders, wanted))
    while part := list(islice(rows, ROWS)):
        yield csv_text(part)


def ndjson_parts(folders: Path | Sequence[Path], wanted: Filter = EVERYTHING) -> Iterator[bytes]:
    """The lines that `wanted` takes, byte for byte as they were written, oldest first."""
    for text, _ in lines(folders, wanted):
        yield text + b"\n"


def lines(folders: Path | Sequence[Path], wanted: Filter = EVERYTHING) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """The lines that `wanted` takes, oldest first: their text, and what it says."""
    pieces = wanted.pieces()
    for text in raw_oldest_first(folders):
        if all(piece in text for piece in pieces):
            line = decoded(text)
            if line is not None and wanted.takes(line):
                yield text, line


def csv_text(rows: Iterable[Iterable[Any]]) -> bytes:
    """Records as RFC 4180 has them, each cell guarded."""
    text = io.StringIO()
    csv.writer(text).writerows([guarded(value) for value in row] for row in rows)
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str | int | float):
        return value
    return msgspec.json.encode(value).decode()
