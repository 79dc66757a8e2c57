"""NodeContext: all that one node may touch in one run, as `nodes.base.Context` describes it."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Graph, Json
from ..nodes.base import Budget, Client, Context, Egress, Inputs, Outputs, Pools, Secrets, SourceCache, Tables

if TYPE_CHECKING:
    from .execution import Execution

CURRENT: Final[ContextVar[Context]] = ContextVar("jackfield_node")


def current() -> Context:
    """The context of the node that this code runs for. Raises LookupError outside of a run."""
    return CURRENT.get()


class NodeContext:
    """Implements `Context` for one node of one execution."""

    __slots__ = ("_execution", "_place")

    def __init__(self, execution: Execution, place: int) -> None:
        self._execution = execution
        self._place = place

    @property
    def node(self) -> str:
        return self._execution.path(self._place)

    @property
    def run_id(self) -> str:
        return self._execution.run.id

    @property
    def principal(self) -> str:
        return self._execution.run.principal

    @property
    def connector(self) -> str:
        return self._execution.environment.connector

    @property
    def folder(self) -> Path:
        return self._execution.environment.folder

    @property
    def roots(self) -> Sequence[Path]:
        return self._execution.environment.roots

    @property
    def deadline(self) -> float:
        return self._execution.run.deadline

    @property
    def client(self) -> Client | None:
        return self._execution.run.client

    @property
    def wrote(self) -> str:
        return self._execution.run.wrote

    @property
    def streams(self) -> bool:
        execution = self._execution
        if execution.plan.streams[self._place]:
            return True
        return execution.run.streams and not execution.depth and execution.plan.answers[self._place]

    @property
    def fresh(self) -> bool:
        return self._execution.run.fresh

    @property
    def idempotency_key(self) -> str:
        return self._execution.idempotency_key

    @property
    def secrets(self) -> Secrets:
        return self._execution.environment.secrets

    @property
    def egress(self) -> Egress:
        return self._execution.run.services.egress

    @property
    def pools(self) -> Pools:
        return self._execution.run.services.pools

    @property
    def tables(self) -> Tables:
        return self._execution.run.tables

    @property
    def cache(self) -> SourceCache:
        return self._execution.run.services.cache

    @property
    def budget(self) -> Budget:
        return self._execution.run.budget

    def subgraph(self, reference: str) -> Graph:
        execution: Execution | None = self._execution
        name = reference.removeprefix("#")
        known: list[str] = []
        while execution is not None:  # Breadboard resolves `#id` against the whole board, so outer graphs count too
            graphs = execution.plan.graph.graphs
            if name in graphs:
                return graphs[name]
            known.extend(graphs)
            execution = execution.parent
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Node '{self.node}' names the sub-graph '{reference}', which is not there.",
            f"Sub-graphs: {', '.join(f'#{one}' for one in known)}." if known else "The graph has no sub-graphs.",
            {"node": self.node, "reference": reference, "available": known},
        )

    async def invoke(self, graph: Graph, inputs: Inputs) -> Outputs:
        return await self._execution.nested(self.node, graph, inputs, self._execution.environment)

    async def call_tool(self, tool: str, arguments: Inputs) -> Outputs:
        resolve = self._execution.environment.resolve
        if resolve is None:
            raise JackfieldError(
                Code.TOOL_NOT_FOUND,
                f"Node '{self.node}' calls the tool '{tool}', but this graph runs outside of any catalog.",
                "Run it from a connector, or with the connectors that it uses.",
                {"node": self.node, "tool": tool},
            )
        graph, environment = await resolve(tool)
        return await self._execution.nested(self.node, graph, arguments, environment, own=False)

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        facts = {"done": done, "total": total, "message": message}
        self._execution.run.trail.show(self.node, "progress", facts)

    def note(self, kind: str, **facts: Json) -> None:
        self._execution.run.trail.tell(self.node, kind, facts)
