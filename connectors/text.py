"""A connector file as text and value, able to say at which line and column each value stands."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Finding, Place, Severity

MAX_BYTES: Final = 16 * 1024 * 1024  # a connector file is written by hand; one of this size is data by mistake


@dataclass(frozen=True)
class FileText:
    """`value` is the parsed JSON. Positions are found only when a finding needs them."""

    path: Path | None
    text: str = field(repr=False)
    value: Any = field(repr=False)

    @property
    def file(self) -> str:
        return "" if self.path is None else str(self.path)

    @property
    def folder(self) -> Path:
        return Path() if self.path is None else self.path.parent

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def place(self, pointer: str) -> Place:
        return Place(self.file, pointer)


def read_text(path: Path) -> str:
    """The text of a connector file. Raises CONFIG_INVALID for one that is not there, is too large or is not UTF-8."""
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
    except OSError as error:
        raise JackfieldError(Code.CONFIG_INVALID, f"Cannot read '{path}': {error.strerror}.") from None
    if data is None:
        raise JackfieldError(Code.CONFIG_INVALID, f"'{path}' is larger than {MAX_BYTES // 2**20} MB.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise JackfieldError(Code.CONFIG_INVALID, f"'{path}' is not UTF-8: byte {error.start}, line {line}.") from None


def parse(text: str, path: Path | None = None) -> FileText | Finding:
    """The parsed file, or where and why it is not JSON."""
    try:
        return FileText(path, text, json.loads(text))
    except json.JSONDecodeError as error:
        place = Place("" if path is None else str(path), "", error.lineno, error.colno)
        return Finding("JSON_INVALID", Severity.ERROR, f"Not JSON: {error.msg}.", place)
