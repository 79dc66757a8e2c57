"""One file → one connector: parse, tell the dialect, read. Nothing here raises for what a file holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..graphs.bgl import from_json
from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Finding
from ..graphs.model import Graph
from . import text
from .formats import FORMATS
from .formats.base import Reading
from .visible import cleaned, may_hide


def read_file(path: Path) -> Reading | None:
    """The connector of `path` and what reading it found; None when the document is of no dialect that we know."""
    return _read(text.read_file(path))


def read_text(content: str, path: Path | None = None) -> Reading | None:
    """As `read_file`, of a text that may not be saved yet."""
    return _read(text.parse(content, path))


def _read(file: text.FileText | Finding) -> Reading | None:
    if isinstance(file, Finding):
        return Reading(None, (file,))
    dialect = next((dialect for dialect in FORMATS if dialect.matches(file.value)), None)
    reading = None if dialect is None else dialect.read(file)
    if reading is None or reading.connector is None:
        return reading
    connector = reading.connector
    if not connector.graph_files and not may_hide(file.document.text):
        return reading
    return replace(reading, connector=cleaned(connector))


def graph_file(path: str, folder: Path) -> Graph:
    """The BGL file that a tool names, inside the connector's folder. Raises CONFIG_INVALID."""
    try:
        target = (folder / path).resolve()
        inside = target.is_relative_to(folder.resolve())
    except (OSError, ValueError):  # a NUL in it, a link to itself
        inside = False
    if not inside:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"The graph file {path!r} lies outside the connector's folder, or is no path.",
            "Give a path inside it.",
        )
    file = text.read_file(target)
    if isinstance(file, Finding):
        raise JackfieldError(Code.CONFIG_INVALID, f"{file.place}: {file.message}", file.hint)
    return from_json(file.value, url=path)
