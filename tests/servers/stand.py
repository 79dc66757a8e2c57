"""A stand to fire one node on, with the engine's own services around it; for tests of what nodes do to servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jackfield.engine.budget import CountedBudget
from jackfield.engine.cache import TableCache
from jackfield.engine.pools import KeyedPools, PoolSettings
from jackfield.graphs.model import Graph, Json
from jackfield.nodes.base import Client, Egress, Inputs, NodeType, Outputs, Tables
from jackfield.nodes.secrets import EnvironmentSecrets


@dataclass
class Stand:
    """Implements `Context`. `events` holds what nodes noted."""

    connector: str = "shop"
    node: str = "orders"
    run_id: str = "run"
    principal: str = "local"
    folder: Path = Path("/nonexistent")
    roots: Sequence[Path] = ()
    deadline: float = float("inf")
    streams: bool = False
    fresh: bool = False
    idempotency_key: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    client: Client | None = None
    wrote: str = ""
    max_rows: int | None = None
    max_bytes: int | None = None
    pool: PoolSettings = field(default_factory=PoolSettings)
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.secrets = EnvironmentSecrets(self.variables)
        self.pools = KeyedPools(self.pool)
        self.cache = TableCache()
        self.budget = CountedBudget(self.max_rows, self.max_bytes)

    @property
    def egress(self) -> Egress:
        raise AssertionError("a node fired alone reaches databases and saves, nothing else")

    @property
    def tables(self) -> Tables:
        raise AssertionError("a node fired alone reaches databases and saves, nothing else")

    def subgraph(self, reference: str) -> Graph:
        raise AssertionError("a node fired alone reaches databases and saves, nothing else")

    async def invoke(self, graph: Graph, inputs: Inputs) -> Outputs:
        raise AssertionError("a node fired alone reaches databases and saves, nothing else")

    async def call_tool(self, tool: str, arguments: Inputs) -> Outputs:
        raise AssertionError("a node fired alone reaches databases and saves, nothing else")

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        self.events.append(("progress", {"done": done}))

    def note(self, kind: str, **facts: Json) -> None:
        self.events.append((kind, dict(facts)))

    def facts(self, kind: str) -> dict[str, Any]:
        """Those of the last event of that kind."""
        return next(facts for name, facts in reversed(self.events) if name == kind)

    async def fire(self, kind: NodeType[Any], configuration: Mapping[str, Any], **inputs: Any) -> Outputs:
        ports = {name.replace("arguments", "$arguments"): value for name, value in inputs.items()}
        return await kind.bind(self.node, configuration)(ports, self)


@asynccontextmanager
async def stand(**settings: Any) -> AsyncIterator[Stand]:
    made = Stand(**settings)
    try:
        yield made
    finally:
        await made.pools.aclose()
