"""What a rule looks at: one graph with the ports of its nodes, and where it stands in its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from ..findings import Finding, Place, Severity
from ..model import Edge, Graph, Json, Node
from ..positions import Document


class PortLike(Protocol):
    """A port as `nodes.base.Port` has it; this room may not import that one."""

    @property
    def name(self) -> str: ...
    @property
    def schema(self) -> Mapping[str, Json]: ...
    @property
    def required(self) -> bool: ...


class PortsLike(Protocol):
    """The ports of one configured node, as `nodes.base.Ports`."""

    @property
    def inputs(self) -> Sequence[PortLike]: ...
    @property
    def outputs(self) -> Sequence[PortLike]: ...
    @property
    def open_inputs(self) -> bool: ...
    @property
    def open_outputs(self) -> bool: ...


PortsOf = Callable[[Node], PortsLike | None]


@dataclass(frozen=True)
class Subject:
    """`pointer` is where the graph begins in its file; `enclosing` are the sub-graphs that it may also run.

    `kinds` are the names of the node types that are known, to name a near one.
    """

    graph: Graph
    ports_of: PortsOf
    kinds: tuple[str, ...] = ()
    file: str = ""
    document: Document | None = None
    pointer: str = ""
    enclosing: Mapping[str, Graph] = field(default_factory=dict)

    @cached_property
    def subgraphs(self) -> Mapping[str, Graph]:
        return {**self.enclosing, **self.graph.graphs}

    @cached_property
    def ports(self) -> Mapping[str, PortsLike | None]:
        """Ports by node id; None where they are not known."""
        from .subgraphs import ports_of_node

        return {node.id: ports_of_node(self, node) for node in self.graph.nodes}

    @cached_property
    def incoming(self) -> Mapping[str, list[Edge]]:
        found: dict[str, list[Edge]] = {node.id: [] for node in self.graph.nodes}
        for edge in self.graph.edges:
            if edge.to in found and edge.from_ in found:
                found[edge.to].append(edge)
        return found

    @cached_property
    def outgoing(self) -> Mapping[str, list[Edge]]:
        found: dict[str, list[Edge]] = {node.id: [] for node in self.graph.nodes}
        for edge in self.graph.edges:
            if edge.to in found and edge.from_ in found:
                found[edge.from_].append(edge)
        return found

    def index(self, node: str) -> int:
        return self._indexes[node]

    @cached_property
    def _indexes(self) -> Mapping[str, int]:
        return {node.id: index for index, node in reversed(list(enumerate(self.graph.nodes)))}

    def finding(
        self, code: str, message: str, pointer: str, hint: str = "", subject: str = "", *, error: bool = True
    ) -> Finding:
        """A finding at `pointer`, which starts at this graph."""
        place = Place(self.file, self.pointer + pointer)
        if self.document is not None:
            place = self.document.place(self.pointer + pointer)
        severity = Severity.ERROR if error else Severity.WARNING
        return Finding(code, severity, message, place, hint, subject=subject)


Rule = Callable[[Subject], Iterator[Finding]]


def edge_named(edge: Edge) -> str:
    """The edge as messages write it: `orders.rows → sql.orders`."""
    start = f"{edge.from_}.{edge.out}" if edge.out else edge.from_
    end = f"{edge.to}.{edge.in_}" if edge.in_ else edge.to
    return f"{start} → {end}"
