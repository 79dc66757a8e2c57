"""The rule that a call may begin anew with an answer: all that it writes comes after all that it asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..graphs.findings import Finding, Place, Severity
from ..graphs.model import Graph, Node
from ..graphs.pointers import pointer as pointer_to
from ..graphs.positions import Document
from .base import Effect, NodeType

Kinds = Mapping[str, NodeType[Any]]
CODE = "ASK_AFTER_WRITE"


@dataclass(frozen=True)
class _Reach:
    """What a graph's nodes do, those of their sub-graphs among it."""

    kinds: Kinds
    known: Mapping[str, Graph]
    seen: frozenset[str] = field(default_factory=frozenset)  # sub-graphs on the way here, which may run themselves

    def effects(self, node: Node) -> set[Effect]:
        kind = self.kinds.get(node.type)
        name = _board(node)
        found = set() if kind is None else {kind.effect}
        inner = self.known.get(name)
        if inner is not None and name not in self.seen:
            within = _Reach(self.kinds, {**self.known, **inner.graphs}, self.seen | {name})
            found |= {effect for one in inner.nodes for effect in within.effects(one)}
        return found


def asks_after_writes(
    graph: Graph,
    kinds: Kinds,
    *,
    file: str = "",
    document: Document | None = None,
    pointer: str = "",
    enclosing: Mapping[str, Graph] | None = None,
) -> Iterator[Finding]:
    """An error for each node that writes and may do so before another node asks. Tools that it calls are not seen."""
    known = {**(enclosing or {}), **graph.graphs}
    reach = _Reach(kinds, known)
    effects = {node.id: reach.effects(node) for node in graph.nodes}
    asking = [node.id for node in graph.nodes if Effect.ASKS in effects[node.id]]
    after = {node: _held_by(node, graph) for node in asking} if asking else {}
    for index, node in enumerate(graph.nodes):
        if Effect.WRITES not in effects[node.id]:
            continue
        loose = [one for one in asking if one != node.id and not _comes_first(one, node.id, after, graph)]
        if node.id in asking and node.type == "map":
            loose.append(node.id)
        if loose:
            place = f"{pointer}/nodes/{index}"
            yield Finding(
                CODE,
                Severity.ERROR,
                f"Node '{node.id}' ({node.type}) may write before node '{loose[0]}' asks.",
                Place(file, place) if document is None else document.place(place),
                f"A call begins anew with each answer, and would write again. Wire '{loose[0]}' into '{node.id}'."
                if loose[0] != node.id
                else "Ask before the map, once for all of its items.",
                subject=node.id,
            )
    for name, inner in graph.graphs.items():
        place = pointer + pointer_to("graphs", name)
        yield from asks_after_writes(inner, kinds, file=file, document=document, pointer=place, enclosing=known)


def _comes_first(asking: str, writing: str, after: Mapping[str, set[str]], graph: Graph) -> bool:
    return writing in after[asking] and asking not in _held_by(writing, graph)


def _held_by(start: str, graph: Graph) -> set[str]:
    """The nodes that wait for `start`: an edge holds its end back, unless it is optional or triggers what is fed."""
    fed = {edge.to for edge in graph.edges if edge.out and not edge.optional}
    found: set[str] = set()
    waiting = [start]
    while waiting:
        node = waiting.pop()
        for edge in graph.edges:
            holds = edge.to not in fed if edge.is_control else not edge.optional
            if edge.from_ == node and holds and edge.to not in found:
                found.add(edge.to)
                waiting.append(edge.to)
    return found


def _board(node: Node) -> str:
    board = node.configuration.get("$board", "")
    reference = node.type if node.type.startswith("#") else board if isinstance(board, str) else ""
    return reference.removeprefix("#")
