"""Run: what one execution gave; and RunState: what all its graphs and sub-graphs share while it goes on."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import anyio

from ..graphs.errors import JackfieldError
from ..graphs.model import Graph, Json
from ..nodes.base import Budget, Client, Egress, Outputs, Pools, SourceCache, Tables
from ..nodes.table import Table
from .events import Event, Trail
from .firing import Stuck
from .plan import OUTPUT, Plan

Fired = list[tuple[str, Outputs]]  # outputs that fired, in order, each with its node
FIRINGS_A_TURN: Final = 256  # of nodes that do not wait for anything; then the event loop gets its turn
MOST_OPEN: Final = 1_000  # graphs at once within a run: one that calls itself twice would double without end
DEEPEST: Final = 64  # graphs within graphs; more is a graph that calls itself
InputProvider = Callable[[str, Mapping[str, Json], tuple[str, ...]], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True)
class Run:
    """An execution that has given what it gives. `outputs` has each output that fired, in order: its node and values.

    A table among them is a stream when that was asked for; the run is over when it is read to its end or closed, and
    only then are all `events` there. `duration_s` is the time until the outputs were.

    When the last node that fired was no output, its values are the last of them. `stuck` explains the nodes that never
    fired, in a run that was not ended by its first output.
    """

    id: str
    graph: Graph
    outputs: tuple[tuple[str, Outputs], ...]
    stuck: tuple[Stuck, ...]
    duration_s: float
    trail: Trail = field(repr=False)

    @property
    def graph_hash(self) -> str:
        return self.graph.hash

    @property
    def values(self) -> Outputs:
        """The values of the first output; empty when nothing came out."""
        return self.outputs[0][1] if self.outputs else {}

    @property
    def answered(self) -> bool:
        """Whether an output fired; `stuck` says why none did."""
        if not self.outputs:
            return False
        node = self.graph.by_id.get(self.outputs[0][0])
        return node is None or node.type == OUTPUT  # what bubbled up comes from a sub-graph's output

    @property
    def events(self) -> tuple[Event, ...]:
        return self.trail.events()


class Session(Tables, Protocol):
    """The database while one run uses it."""

    def close(self) -> None: ...


class Services(Protocol):
    """What the engine lends to its runs."""

    @property
    def egress(self) -> Egress: ...

    @property
    def pools(self) -> Pools: ...

    @property
    def cache(self) -> SourceCache: ...

    def plan(self, graph: Graph) -> Plan: ...

    def open_tables(self, budget: Budget, deadline: float) -> Session:
        """A session of the locked database."""


@dataclass(slots=True)
class RunState:
    """Shared by every graph that runs within one run."""

    id: str
    services: Services
    trail: Trail
    budget: Budget
    principal: str = "local"
    idempotency_key: str = ""
    fresh: bool = False
    reads_only: bool = False  # no node of it may write, whatever it calls
    max_concurrency: float = math.inf
    max_firings: int = 100_000
    streams: bool = False  # its caller reads what comes out, while it stays open
    timeout_s: float = math.inf
    deadline: float = math.inf
    backoff_s: float = 0.2
    input_provider: InputProvider | None = None
    client: Client | None = None
    wrote: str = ""  # the first node that began to write: after it nothing may be asked, for a question may begin anew
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    bubbled: Fired = field(default_factory=list)
    session: Session | None = None
    open_graphs: int = 0
    unread: list[Table] = field(default_factory=list)  # streams that passed by; closed at the end unless read
    unknown_writes: list[str] = field(default_factory=list)  # writing nodes cut off before they said how it went
    last_word: JackfieldError | None = None  # what a writing node said when it was cut off

    @property
    def tables(self) -> Tables:
        if self.session is None:
            self.session = self.services.open_tables(self.budget, self.deadline)
        return self.session
