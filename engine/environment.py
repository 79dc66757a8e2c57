"""Environment: where a graph runs from: its connector, folders and secrets, and how it finds other tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from ..graphs.model import Graph
from ..nodes.base import Secrets
from ..nodes.secrets import EnvironmentSecrets

Resolve = Callable[[str], Awaitable["tuple[Graph, Environment]"]]


@dataclass(frozen=True, slots=True)
class Environment:
    """`resolve` gives the graph of "tool" (of this connector) or "connector/tool", and the environment it runs in.

    It raises TOOL_NOT_FOUND. Without it, graphs that call tools fail with that code.
    """

    connector: str = ""
    folder: Path = Path()
    roots: tuple[Path, ...] = ()
    secrets: Secrets = field(default_factory=EnvironmentSecrets)
    resolve: Resolve | None = None
