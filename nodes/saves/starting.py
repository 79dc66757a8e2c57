"""What a process does when it starts: remove what saves left that were killed before, where its saves write."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...graphs.errors import JackfieldError
from ..files.confine import folder_of, locate
from .atomic import clean
from .swap import recover


def clean_targets(folder: Path, saves: Iterable[Mapping[str, Any]]) -> list[str]:
    """Clean the folders that a connector's saves write into; `folder` is the connector's. The names removed.

    A folder in which another process saves right now is left alone, and so is one that cannot be read.
    """
    paths = {save["path"] for save in saves if isinstance(save.get("path"), str)}
    removed: list[str] = []
    for path in sorted(paths):
        with suppress(JackfieldError, OSError):
            place = locate(path, folder)
            if place.path.parent.is_dir():
                with folder_of(place) as at:
                    removed += [os.path.join(place.path.parent, name) for name in clean_unlocked(at)]
    return removed


def clean_unlocked(folder: int) -> list[str]:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return []
    recover(folder)
    return clean(folder)
