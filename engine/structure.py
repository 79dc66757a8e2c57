"""Questions about a graph's shape that decide how it may be run. Each is answered once, when a plan is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..graphs.model import ERROR_PORT, WILDCARD, Edge, Json


class Wire(NamedTuple):
    """An outgoing edge: `out` is a port, `*`, `$error`, or empty for control; `port` is where the value goes."""

    out: str
    to: int
    port: str
    constant: bool


def is_data(edge: Edge) -> bool:
    return bool(edge.out) and edge.out != WILDCARD


def is_confluent(edges: Sequence[Edge], configuration: Mapping[str, Json]) -> bool:
    """Whether a node fires at most once and with the same inputs, in whatever order values arrive."""
    ports: set[str] = set()
    controls = 0
    for edge in edges:
        if not edge.out:
            controls += 1
            if edge.in_ or controls > 1:
                return False
        elif (
            edge.out == WILDCARD
            or not edge.in_
            or edge.optional
            or edge.constant
            or edge.in_ in ports
            or edge.in_ in configuration
        ):
            return False
        else:
            ports.add(edge.in_)
    return True


def arrivals(edges: Sequence[Edge]) -> int:
    return sum(map(is_data, edges)) or len(edges)


def topological(successors: Sequence[Sequence[int]]) -> list[int]:
    """Nodes after all that lead to them (Kahn); those in a cycle, or below one, are left out."""
    left = [0] * len(successors)
    for row in successors:
        for target in row:
            left[target] += 1
    order = [node for node, count in enumerate(left) if not count]
    for node in order:  # grows while we go
        for target in successors[node]:
            left[target] -= 1
            if not left[target]:
                order.append(target)
    return order


def throughout(
    holds: Sequence[bool], incoming: Sequence[Sequence[Edge]], index: Mapping[str, int], order: Sequence[int]
) -> tuple[bool, ...]:
    """For which nodes it holds, and holds for everything above them; never in or below a cycle."""
    throughout = [False] * len(holds)
    for node in order:
        throughout[node] = holds[node] and all(throughout[index[edge.from_]] for edge in incoming[node])
    return tuple(throughout)


def funnels(incoming: Sequence[Sequence[Edge]], index: Mapping[str, int], is_output: Sequence[bool]) -> bool:
    """Whether there is one output and it can not be reached without each of the other nodes."""
    if sum(is_output) != 1:
        return False
    last = is_output.index(True)
    seen = {last}
    stack = [last]
    while stack:
        edges = incoming[stack.pop()]
        data = [edge for edge in edges if edge.out]
        for edge in data or edges:
            source = index[edge.from_]
            if source not in seen:
                seen.add(source)
                stack.append(source)
    return len(seen) == len(incoming)


def firing_ranks(
    wires: Sequence[Sequence[Wire]], incoming: Sequence[Sequence[Edge]], entries: Sequence[int]
) -> tuple[int, ...]:
    """The order in which one node at a time would fire: what is absent in a run takes nodes out and moves none."""
    left = [arrivals(edges) for edges in incoming]
    ranks = [-1] * len(wires)
    opportunities = list(entries)
    fired = 0
    for node in opportunities:  # grows while we go
        if left[node] > 0 or ranks[node] >= 0:
            continue
        ranks[node] = fired
        fired += 1
        for out, to, _, _ in wires[node]:
            if out or not any(edge.out for edge in incoming[to]):
                left[to] -= 1
            opportunities.append(to)
    return tuple(ranks)


def may_stream(row: Sequence[Wire], once: Sequence[bool], outlives: Sequence[bool]) -> bool:
    """Not into what outlives the run, as the table of an output does: a stream does not."""
    outs = [wire.out for wire in row if wire.out]
    if len(outs) != len(set(outs)) or WILDCARD in outs:
        return False
    return all(once[wire.to] and not wire.constant and not outlives[wire.to] for wire in row if wire.out)


def only_link(
    row: Sequence[Wire], incoming: Sequence[Sequence[Edge]], eager: Sequence[bool]
) -> tuple[str, int, str] | None:
    if len(row) != 1:
        return None
    out, to, port, _ = row[0]
    if not out or out in (WILDCARD, ERROR_PORT) or len(incoming[to]) != 1 or not eager[to]:
        return None
    return (out, to, port)
