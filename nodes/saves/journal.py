"""Which idempotency keys a file has taken, kept beside it so that no crash makes the two disagree.

Before a new file is renamed into place, the journal records what identifies it (inode and size). After a crash, the
entry holds only if the file in place is that one: the rename itself is what confirms the entry.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final

from ..files.confine import Located
from .atomic import replacing

KEPT: Final = 1_000  # the oldest keys are forgotten


class Journal:
    """The journal of the file `place`, whose folder is locked."""

    def __init__(self, place: Located, folder: int) -> None:
        self._folder = folder
        self._file = place.name
        self._place = place.beside(f".{place.name}.jackfield-saves.json")
        self._entries: dict[str, dict[str, Any]] = self._read()
        self._settle()

    def rows_of(self, key: str) -> int | None:
        """How many rows were saved under `key`; None if it was not, or is empty."""
        return self._entries[key]["rows"] if key and key in self._entries else None

    def begin(self, key: str, rows: int, fact: os.stat_result) -> None:
        if key:
            self._entries[key] = {"rows": rows, "inode": fact.st_ino, "size": fact.st_size, "pending": True}
            self._write()

    def finish(self, key: str) -> None:
        if key:
            self._entries[key] = {"rows": self._entries[key]["rows"]}
            self._write()

    def _settle(self) -> None:
        pending = [key for key, entry in self._entries.items() if entry.get("pending")]
        if not pending:
            return
        try:
            fact = os.stat(self._file, dir_fd=self._folder, follow_symlinks=False)
            now = (fact.st_ino, fact.st_size)
        except FileNotFoundError:
            now = (0, 0)
        for key in pending:
            entry = self._entries[key]
            if (entry["inode"], entry["size"]) == now:
                self._entries[key] = {"rows": entry["rows"]}
            else:
                del self._entries[key]
        self._write()

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            file = os.open(self._place.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder)
        except FileNotFoundError:
            return {}
        with os.fdopen(file, "rb") as text:
            entries: dict[str, dict[str, Any]] = json.load(text)
        return entries

    def _write(self) -> None:
        latest = dict(list(self._entries.items())[-KEPT:])
        with replacing(self._place, self._folder) as to:
            to.file.write(json.dumps(latest).encode())
