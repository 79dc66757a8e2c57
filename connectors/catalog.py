"""The catalog: an immutable snapshot of every connector, tool and skill. A reload makes a new one.

A slug belongs to one file: of two files with one slug the first by sorted path is served, and the other is an error.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Finding, Place, Severity
from .formats.base import Reading
from .model import Connector, Skill, Tool
from .native.names import near
from .offer import Offer, offer_of
from .reading import read_file

# A connector says by its name that it is one; any other JSON file is looked into only where connectors are expected.
CONNECTOR_SUFFIXES: Final = (".connector.json", ".bgl.json")
SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "uploads", "instances", "plugins"})
PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Catalog:
    """Connectors by slug, in the order of their paths. `findings` are those of every file, also of files not served."""

    connectors: Mapping[str, Connector] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    offer: Offer = field(default_factory=Offer)

    def connector(self, slug: str) -> Connector:
        """Raises TOOL_NOT_FOUND with the near name."""
        found = self.connectors.get(slug)
        if found is None:
            raise JackfieldError(
                Code.TOOL_NOT_FOUND,
                f"There is no connector '{slug}'.",
                near(slug, self.connectors, "connectors"),
                {"available": sorted(self.connectors)},
            )
        return found

    def tool(self, connector: str, id: str) -> Tool:
        """Raises TOOL_NOT_FOUND with the near name."""
        owner = self.connector(connector)
        found = owner.tools.get(id)
        if found is None:
            raise JackfieldError(
                Code.TOOL_NOT_FOUND,
                f"Connector '{connector}' has no tool '{id}'.",
                near(id, owner.tools, "tools"),
                {"available": sorted(owner.tools)},
            )
        return found

    def skill(self, connector: str, id: str) -> Skill:
        """Raises TOOL_NOT_FOUND with the near name."""
        owner = self.connector(connector)
        found = owner.skills.get(id)
        if found is None:
            raise JackfieldError(
                Code.TOOL_NOT_FOUND,
                f"Connector '{connector}' has no skill '{id}'.",
                near(id, owner.skills, "skills"),
                {"available": sorted(owner.skills)},
            )
        return found

    def resolve(self, name: str, within: str = "") -> Tool:
        """The tool that `name` means inside connector `within`: `tool` there, or `connector/tool` anywhere."""
        slug, slash, tool = name.partition("/")
        return self.tool(slug, tool) if slash else self.tool(within, name)

    @property
    def tools(self) -> Iterator[Tool]:
        for connector in self.connectors.values():
            yield from connector.tools.values()

    @property
    def skills(self) -> Iterator[Skill]:
        for connector in self.connectors.values():
            yield from connector.skills.values()


def load(paths: PathLike | Iterable[PathLike]) -> Catalog:
    """Every connector of the given files, folders and globs. Raises CONFIG_INVALID for a path that is not there."""
    found = discover(paths)
    return assemble({path: read_file(path) for path in found}, {path for path, named in found.items() if named})


def assemble(readings: Mapping[Path, Reading | None], named: Iterable[Path] = ()) -> Catalog:
    """The catalog of these files. A file of no known dialect is an error only when it was `named`."""
    connectors: dict[str, Connector] = {}
    findings: list[Finding] = []
    named = frozenset(named)
    for path in sorted(readings):
        reading = readings[path]
        if reading is None:
            if path in named:
                findings.append(_unrecognised(path))
            continue
        findings.extend(reading.findings)
        connector = reading.connector
        if connector is None:
            continue
        holder = connectors.setdefault(connector.slug, connector)
        if holder is not connector:
            findings.append(_duplicate(connector, holder))
    offer = offer_of(connectors.values())
    return Catalog(connectors, (*findings, *offer.findings), offer)


def discover(paths: PathLike | Iterable[PathLike]) -> dict[Path, bool]:
    """The files to read, and whether each was named rather than found in a folder. Raises CONFIG_INVALID."""
    found: dict[Path, bool] = {}
    for text in [paths] if isinstance(paths, str | os.PathLike) else paths:
        path = Path(text)
        if path.is_dir():
            for file in _in_folder(path):
                found.setdefault(file, False)
        elif path.is_file():
            found[path] = True
        elif matches := sorted(glob.glob(str(path), recursive=True)):
            for match in matches:
                if Path(match).is_file():
                    found[Path(match)] = True
        else:
            raise JackfieldError(
                Code.CONFIG_INVALID,
                f"There is no file or folder '{path}'.",
                _near_file(path),
                {"path": str(path)},
            )
    return dict(sorted(found.items()))


def _in_folder(folder: Path) -> Iterator[Path]:
    """JSON files of the folder and of its `connectors/`; deeper down, those that are named as connectors."""
    shallow = (folder, folder / "connectors")
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED_FOLDERS)
        for name in sorted(files):
            if name.endswith(CONNECTOR_SUFFIXES) or (name.endswith(".json") and Path(here) in shallow):
                yield Path(here) / name


def _unrecognised(path: Path) -> Finding:
    return Finding(
        "FORMAT_UNKNOWN",
        Severity.ERROR,
        f"'{path.name}' is not a connector: it has neither sources and tools nor nodes and edges.",
        Place(str(path)),
        "`jackfield new` writes a connector to start from.",
    )


def _duplicate(connector: Connector, holder: Connector) -> Finding:
    return Finding(
        "DUPLICATE_SLUG",
        Severity.ERROR,
        f"The slug '{connector.slug}' is taken by {holder.path}, which stays in service; this file is not served.",
        Place(str(connector.path or ""), "/slug"),
        "Give one of them another slug.",
        subject=connector.slug,
    )


def _near_file(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.name.endswith(".json")]
    except OSError:
        return f"There is no folder '{path.parent}' either."
    return near(path.name, names, "JSON files there") if names else ""
