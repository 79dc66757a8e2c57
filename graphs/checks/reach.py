"""The rule that every node can fire, by the firing rule: what no entry reaches, and cycles that wait for themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..findings import Finding
from ..model import Edge, Graph, Node
from .subject import Subject


def unfired_nodes(subject: Subject) -> Iterator[Finding]:
    graph = subject.graph
    fired = fireable(graph)
    left = {node.id for node in graph.nodes} - fired
    on_cycles: set[str] = set()
    for found in cycles_within(left, subject.incoming):
        on_cycles.update(found)
        begin = found.index(min(found, key=subject.index))
        cycle = [*found[begin:], *found[:begin]]
        shown = " → ".join([*cycle[:8], "…" if len(cycle) > 8 else cycle[0]])
        outside = any(edge.from_ in fired for member in cycle for edge in subject.incoming[member])
        yield subject.finding(
            "CYCLE_WITHOUT_ENTRY",
            f"The cycle {shown} can never start: "
            + ("each of its nodes waits for another of them." if outside else "no edge leads into it."),
            f"/nodes/{subject.index(cycle[0])}",
            "Give one of its nodes all its inputs from outside, or mark the edge that closes the cycle as optional."
            if outside
            else "Lead an edge from an input into it.",
            cycle[0],
        )
    for node in graph.nodes:
        if node.id in left and node.id not in on_cycles:
            yield subject.finding(
                "NODE_UNREACHABLE",
                f"Node '{node.id}' can never fire: {_why(node, subject, fired)}.",
                f"/nodes/{subject.index(node.id)}",
                "Wire it to what runs, or remove it.",
                node.id,
                error=False,
            )


def fireable(graph: Graph) -> set[str]:
    """The ids of the nodes that may fire at least once, if every node that fires gives all its outputs."""
    ids = graph.by_id
    incoming: dict[str, list[Edge]] = {node: [] for node in ids}
    outgoing: dict[str, list[Edge]] = {node: [] for node in ids}
    for edge in graph.edges:
        if edge.from_ in ids and edge.to in ids:
            incoming[edge.to].append(edge)
            outgoing[edge.from_].append(edge)
    waiting = {node: _required(ids[node], edges) for node, edges in incoming.items()}
    ready = list(entries(graph, incoming, outgoing))
    fired = set(ready)
    while ready:
        for edge in outgoing[ready.pop()]:
            missing = waiting[edge.to]
            if edge.is_wildcard:
                missing.clear()
            elif edge.out:
                missing.discard(edge.in_)
            if not missing and edge.to not in fired:
                fired.add(edge.to)
                ready.append(edge.to)
    return fired


def entries(graph: Graph, incoming: Mapping[str, list[Edge]], outgoing: Mapping[str, list[Edge]]) -> Iterator[str]:
    """The nodes that a run begins with.

    Those without incoming edges; of the ones that stand alone only a marked `start`, or the first if all stand alone.
    """
    first = [node for node in graph.nodes if not incoming[node.id]]
    alone = [node for node in first if not outgoing[node.id]]
    marked = next((node for node in alone if node.metadata.get("start")), None)
    if marked is not None:
        yield marked.id
    elif alone and len(alone) == len(first):
        yield alone[0].id
    else:
        yield from (node.id for node in first if outgoing[node.id])


def _required(node: Node, edges: list[Edge]) -> set[str]:
    return {edge.in_ for edge in edges if edge.in_ and not edge.optional} - node.configuration.keys()


def cycles_within(nodes: set[str], incoming: Mapping[str, list[Edge]]) -> Iterator[list[str]]:
    """Cycles among `nodes`, no two with a node in common, each in the direction of its edges.

    What Kahn's algorithm leaves over has a predecessor among what is left, so walking backwards comes round.
    """
    before = {node: [edge.from_ for edge in incoming[node] if edge.from_ in nodes] for node in nodes}
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for node, previous in before.items():
        for other in previous:
            after[other].append(node)
    waiting = {node: len(previous) for node, previous in before.items()}
    free = [node for node, count in waiting.items() if not count]
    left = set(nodes)
    while free:
        node = free.pop()
        left.discard(node)
        for other in after[node]:
            waiting[other] -= 1
            if not waiting[other]:
                free.append(other)
    seen: set[str] = set()
    for start in sorted(left):
        path: dict[str, int] = {}
        node = start
        while node not in seen and node not in path:
            path[node] = len(path)
            node = next(other for other in before[node] if other in left)
        seen.update(path)
        if node in path:
            cycle = list(path)[path[node] :]
            yield cycle[::-1]


def _why(node: Node, subject: Subject, fired: set[str]) -> str:
    edges = subject.incoming[node.id]
    if not edges:
        return "it stands alone, and a graph that has wired nodes begins with those"
    missing = sorted(
        port
        for port in _required(node, edges)
        if not any(edge.from_ in fired and (edge.is_wildcard or edge.in_ == port) for edge in edges)
    )
    if not missing:
        return "what leads to it never fires"
    source = min(edge.from_ for edge in edges if edge.in_ == missing[0])
    return f"its input '{missing[0]}' comes from '{source}', which never fires"
