"""One file → one connector: parse, tell the dialect, read. Nothing here raises for what a file holds."""

from __future__ import annotations

from pathlib import Path

from ..graphs.bgl import from_json
from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Finding, Place, Severity
from ..graphs.model import Graph
from .formats import FORMATS
from .formats.base import Reading
from .text import parse, read_text


def read_file(path: Path) -> Reading | None:
    """The connector of `path` and what reading it found; None when the document is of no dialect that we know."""
    try:
        text = read_text(path)
    except JackfieldError as error:
        return Reading(None, (Finding("FILE_UNREADABLE", Severity.ERROR, error.message, Place(str(path)), error.hint),))
    return read_document(text, path)


def read_document(text: str, path: Path | None = None) -> Reading | None:
    """As `read_file`, of a text that may not be saved yet."""
    file = parse(text, path)
    if isinstance(file, Finding):
        return Reading(None, (file,))
    for format in FORMATS:
        if format.matches(file.value):
            return format.read(file)
    return None


def graph_file(path: str, folder: Path) -> Graph:
    """The BGL file that a tool names, inside the connector's folder. Raises CONFIG_INVALID."""
    target = (folder / path).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"The graph file '{path}' lies outside the connector's folder.",
            "Give a path inside it.",
        )
    file = parse(read_text(target), target)
    if isinstance(file, Finding):
        raise JackfieldError(Code.CONFIG_INVALID, f"{file.place}: {file.message}")
    return from_json(file.value, url=str(target))
