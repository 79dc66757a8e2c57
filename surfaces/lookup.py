"""Lookup: what a name means in one snapshot of the files. A call keeps the one that it began with."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from ..connectors import catalog as catalogs
from ..connectors.catalog import Catalog
from ..connectors.model import Connector, Skill, Tool
from ..graphs.findings import Severity
from .faults import not_found, of_finding
from .settings import Settings

BESIDE: Final = ("*.connector.json", "*.bgl.json")


@dataclass(frozen=True)
class Lookup:
    """`given` are connectors that came from no file; `paths` is what the catalog was read from, none: the workspace."""

    catalog: Catalog
    settings: Settings
    paths: tuple[str | Path, ...] = ()
    given: Mapping[str, Connector] = field(default_factory=dict)

    @cached_property
    def neighbours(self) -> Catalog:
        """The workspace's connectors and those beside the given ones: a file may call tools of its neighbours."""
        if not self.paths:
            return self.catalog
        folders = {connector.folder for connector in self.catalog.connectors.values()}
        return load_catalog((), self.settings, folders)

    def connector(self, name: str) -> Connector:
        """The connector with this slug. Raises TOOL_NOT_FOUND with near names; CONFIG_INVALID if its file is broken."""
        if name in self.given:
            return self.given[name]
        if name in self.catalog.connectors:
            return self.catalog.connectors[name]
        if name in self.neighbours.connectors:
            return self.neighbours.connectors[name]
        for finding in self.catalog.findings:
            if finding.severity is Severity.ERROR and Path(finding.place.file).name.partition(".")[0] == name:
                raise of_finding(finding)
        raise not_found("connector", name, self.catalog.connectors)

    def find(self, connector: str, name: str) -> tuple[Connector, Tool | Skill]:
        """A connector's tool or skill. Raises TOOL_NOT_FOUND with near names."""
        owner = self.connector(connector)
        found = owner.tools.get(name) or owner.skills.get(name)
        if found is None:
            raise not_found("tool", name, [*owner.tools, *owner.skills], f" in connector '{connector}'")
        return owner, found


def workspace_paths(settings: Settings) -> list[str]:
    """Where the workspace's own connectors are, or will be."""
    return [str(settings.folder / path) for path in settings["connectors"]]


def load_catalog(paths: Sequence[str | Path], settings: Settings, folders: Iterable[Path] = ()) -> Catalog:
    """The connectors of `paths`, or of the workspace and `folders` when none is given.

    Raises CONFIG_INVALID for a missing path.
    """
    if paths:
        return catalogs.load(paths)
    wanted = workspace_paths(settings) + [str(folder / pattern) for folder in sorted(folders) for pattern in BESIDE]
    return catalogs.load([path for path in wanted if Path(path).exists() or glob.glob(path, recursive=True)])
