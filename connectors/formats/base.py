"""What a dialect declares: how to tell its documents, and how to read one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...graphs.findings import Finding
from ...graphs.model import Json
from ..model import Connector
from ..text import FileText


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading one file gave. `connector` is None when an error keeps the file from being served at all."""

    connector: Connector | None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Format:
    """One dialect: `matches` looks at the parsed document; `read` raises nothing for what it holds."""

    name: str
    description: str
    matches: Callable[[Json], bool]
    read: Callable[[FileText], Reading]
