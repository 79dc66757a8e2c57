"""Data files that a killed save wrote into a Delta or Iceberg table, and no commit names.

While a save runs, a marker beside the table holds when it began, and its time of change moves with each batch. A marker
that is found when the folder's lock is ours was left by a killed save: files of that span that no commit names go.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from ..files.confine import Located

MARKER: Final = ".jackfield-writing"
MARGIN_S: Final = 60.0  # a file may be closed this long after the last batch was read


def marker_of(place: Located) -> Path:
    return place.path.with_name(f".{place.name}{MARKER}")


@contextmanager
def marked(place: Located, named: Callable[[], set[str]]) -> Iterator[Callable[[], None]]:
    """Clean up after a killed save, then mark this one; the function that is given says that it is still at work.

    `named` gives the real paths of all files that commits name.
    """
    marker = marker_of(place)
    if marker.exists():
        remove_unnamed(place.path, named(), marker)
    marker.write_text(str(time.time()))
    try:
        yield lambda: os.utime(marker)
    finally:
        with suppress(FileNotFoundError):
            marker.unlink()


def remove_unnamed(folder: Path, named: set[str], marker: Path) -> list[str]:
    """Remove the data files that were written in the span of `marker` and that nobody names."""
    last = marker.stat().st_mtime + MARGIN_S
    try:
        first = float(marker.read_text())
    except ValueError:  # killed between making the marker and writing it
        first = last - MARGIN_S
    removed = []
    for place, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(place, name)
            if not name.endswith((".parquet", ".avro", ".metadata.json")) or path in named or "_delta_log" in place:
                continue
            if first <= os.stat(path).st_mtime <= last:
                os.unlink(path)
                removed.append(path)
    return removed
