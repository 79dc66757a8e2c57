"""Paths stay in the connector's folder, and `data_path` stays an expression that a person wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ...graphs.errors import JackfieldError
from ...graphs.findings import Finding
from ...nodes.datapath import check_path
from .subject import Subject

UPLOADED: Final = "../uploads/"  # from `connectors/`: what agents uploaded into the workspace
ABSOLUTE: Final = re.compile(r"^(/|~|\\|[A-Za-z]:|[A-Za-z][A-Za-z0-9+.-]*://)")


def paths(subject: Subject) -> Iterator[Finding]:
    for name in ("sources", "saves"):
        items = subject.parts.document.get(name)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict):
                yield from _path(subject, f"/{name}/{index}/path", item)
                yield from _data_path(subject, f"/{name}/{index}/data_path", item)
    for pointer, owner, graph in subject.parts.graphs:
        if isinstance(graph, str):
            yield from _path(subject, pointer, {"id": owner, "path": graph})
    for pointer, resource in subject.parts.resources:
        yield from _path(subject, f"{pointer}/path", {"id": resource.name, "path": resource.path})
    for pointer, skill in subject.parts.skills:
        for index, block in enumerate(skill.messages):
            path = getattr(block, "path", "")
            yield from _path(subject, f"{pointer}/messages/{index}/path", {"id": skill.id, "path": path})
    yield from _evals(subject)


def _path(subject: Subject, pointer: str, item: dict[str, Any]) -> Iterator[Finding]:
    path = item.get("path")
    if isinstance(path, str) and (why := leaves(path, subject.parts.file.folder)):
        message = f"The path of '{item.get('id')}' {why}; a connector reads and writes in its own folder."
        hint = "Move the data there; an operator may declare further folders in jackfield.toml."
        yield subject.finding("PATH_OUTSIDE_FOLDER", pointer, message, hint, str(item.get("id", "")))


def leaves(path: str, folder: Path) -> str:
    """Why `path` is not inside `folder`, in words; empty when it is, or when a variable decides."""
    if path.lstrip().startswith("{{"):
        return ""  # the operator's environment says where, and the run checks it
    if path.startswith(UPLOADED) and folder.name == "connectors":
        path, folder = path.removeprefix(UPLOADED), folder.parent / "uploads"  # which every connector may read
    if ABSOLUTE.match(path):
        return "is absolute"
    depth = 0
    for part in re.split(r"[/\\]+", path):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if depth < 0:
            return "leads out of it by '..'"
    try:
        if not (folder / path).resolve().is_relative_to(folder.resolve()):
            return "leads out of it by a link"
    except (OSError, ValueError):
        return "cannot be a path"
    return ""


def _data_path(subject: Subject, pointer: str, item: dict[str, Any]) -> Iterator[Finding]:
    path = item.get("data_path")
    if not isinstance(path, str):
        return
    try:
        check_path(path)
    except JackfieldError as error:
        yield subject.finding("DATA_PATH_INVALID", pointer, error.message, error.hint, str(item.get("id", "")))


def _evals(subject: Subject) -> Iterator[Finding]:
    top = subject.parts.top
    if top is None or top.evals is None or subject.parts.file.path is None:
        return
    named = (top.evals,) if isinstance(top.evals, str) else top.evals
    for name in named:
        if leaves(name, subject.parts.file.folder):
            message = f"The file of cases '{name}' lies outside of the connector's folder."
            yield subject.finding("PATH_OUTSIDE_FOLDER", "/evals", message, "Move it beside the connector.")
        elif not (subject.parts.file.folder / name).is_file():
            message = f"The file of cases '{name}' is not there."
            yield subject.finding("EVALS_MISSING", "/evals", message, "Write it, or take `evals` out.")
