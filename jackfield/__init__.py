"""Connectors as executable graphs. The public names; each is imported from its room when it is first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .graphs.errors import Code, JackfieldError
    from .graphs.findings import Finding
    from .graphs.model import Graph
    from .nodes.function import node
    from .nodes.table import Table
    from .surfaces.aio import AsyncConnector, aopen
    from .surfaces.builder import GraphBuilder, Handle, graph, sql
    from .surfaces.outcome import Result
    from .surfaces.python import OpenConnector, Tool, open, run  # noqa: A004

__all__ = [
    "AsyncConnector",
    "Code",
    "Finding",
    "Graph",
    "GraphBuilder",
    "Handle",
    "JackfieldError",
    "OpenConnector",
    "Result",
    "Table",
    "Tool",
    "aopen",
    "graph",
    "node",
    "open",
    "run",
    "sql",
]

_ROOMS: Final = {
    "graphs.errors": ("Code", "JackfieldError"),
    "graphs.findings": ("Finding",),
    "graphs.model": ("Graph",),
    "nodes.function": ("node",),
    "nodes.table": ("Table",),
    "surfaces.aio": ("AsyncConnector", "aopen"),
    "surfaces.builder": ("GraphBuilder", "Handle", "graph", "sql"),
    "surfaces.outcome": ("Result",),
    "surfaces.python": ("OpenConnector", "Tool", "open", "run"),
}
_ROOM_OF: Final = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module 'jackfield' has no attribute '{name}'")
    value = getattr(importlib.import_module(f".{room}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__]
