"""A connector file as text and value, able to say at which line and column each value stands."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from ..graphs import positions
from ..graphs.findings import Finding, Place, Severity
from ..graphs.scanner import JsonSyntaxError

MAX_BYTES: Final = 16 * 1024 * 1024  # a connector file is written by hand; one of this size is data by mistake


@dataclass(frozen=True)
class FileText:
    """A parsed file. `path` is None for a text that has not been saved."""

    path: Path | None
    document: positions.Document

    @property
    def value(self) -> Any:
        return self.document.value

    @property
    def file(self) -> str:
        return self.document.file

    @property
    def folder(self) -> Path:
        return Path() if self.path is None else self.path.parent

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.document.text.encode("utf-8", "surrogatepass")).hexdigest()

    def place(self, pointer: str, start: int | None = None, length: int = 1) -> Place:
        """Where the value at `pointer` stands; with `start`, where that part of the text it holds stands."""
        if start is None:
            return self.document.place(pointer)
        return self.document.place_within(pointer, start, max(length, 1))


def read_file(path: Path) -> FileText | Finding:
    """The parsed file, or why it cannot be read and where."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return _unreadable(path, f"larger than {MAX_BYTES // 2**20} MB, which no connector file is")
        data = path.read_bytes()
    except OSError as error:
        return _unreadable(path, error.strerror or "not readable")
    try:
        return FileText(path, positions.read_bytes(data, str(path)))
    except JsonSyntaxError as error:
        return error.finding


def parse(text: str, path: Path | None = None) -> FileText | Finding:
    """As `read_file`, of a text that is at hand."""
    try:
        return FileText(path, positions.read(text, "" if path is None else str(path)))
    except JsonSyntaxError as error:
        return error.finding


def _unreadable(path: Path, why: str) -> Finding:
    return Finding("FILE_UNREADABLE", Severity.ERROR, f"'{path.name}' cannot be read: {why}.", Place(str(path)))
