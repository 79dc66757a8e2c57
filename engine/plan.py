"""Plan: a graph in execution form. Nodes and edges become integers and tuples, once, for any number of runs.

What the scheduler must know of a node is decided here: what it waits for, and whether it may run as soon as that is
there (`eager`) or must take its turn in Breadboard's order.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import ERROR_PORT, WILDCARD, Edge, Graph, Json, Node
from ..nodes.base import Effect, Fire, NodeType

INPUT: Final = "input"
OUTPUT: Final = "output"
INVOKE: Final = "invoke"
BOARD: Final = "$board"
Kinds = Mapping[str, NodeType[Any]]


class Wire(NamedTuple):
    """An outgoing edge: `out` is a port, `*`, `$error`, or empty for control; `port` is where the value goes."""

    out: str
    to: int
    port: str
    constant: bool


class Step(NamedTuple):
    """What the fast path needs of one node: `link` is its only edge, where its target waits for nothing else."""

    fire: Fire
    gives: frozenset[str]
    link: tuple[str, int, str] | None


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled graph; every tuple is indexed by node.

    `eager` nodes give the same values whenever they run, so they run when their inputs are there. `simple` says that
    all are, that nothing writes, and that all lead to the one output: then order can not matter at all.
    """

    graph: Graph
    ids: tuple[str, ...]
    nodes: tuple[Node, ...]
    kinds: tuple[NodeType[Any], ...]
    fires: tuple[Fire, ...]
    wires: tuple[tuple[Wire, ...], ...]
    successors: tuple[tuple[int, ...], ...]
    needs: tuple[frozenset[str], ...]
    gives: tuple[frozenset[str] | None, ...]  # declared output ports; None where a node may give any
    effects: tuple[Effect, ...]
    catches: tuple[bool, ...]  # has an edge from $error
    streams: tuple[bool, ...]  # each wired output port has one consumer, which runs once
    tabular: tuple[bool, ...]  # may give tables
    is_input: tuple[bool, ...]
    is_output: tuple[bool, ...]
    bubbles: tuple[bool, ...]  # an output that goes to the top-level caller and ends nothing
    eager: tuple[bool, ...]
    waits: tuple[int, ...]  # of an eager node: how many arrivals it waits for
    steps: tuple[Step | None, ...]  # of nodes that only compute; None where more is to be done around a firing
    entries: tuple[int, ...]
    simple: bool
    linear: bool  # simple, and never more than one node is ready
    ranks: tuple[int, ...]  # of a simple plan: when each node fires in Breadboard's order


def compiled(graph: Graph, kinds: Kinds, start: str = "") -> Plan:
    """The plan of `graph`, whose first node is `start` where that is given.

    Raises CONFIG_INVALID: unknown kind, dangling edge, duplicate id, a configuration that does not fit, no entry.
    """
    nodes = graph.nodes
    index = {node.id: place for place, node in enumerate(nodes)}
    if len(index) != len(nodes):
        twice = next(node.id for place, node in enumerate(nodes) if index[node.id] != place)
        raise JackfieldError(Code.CONFIG_INVALID, f"Two nodes have the id '{twice}'.", "Rename one.", {"node": twice})
    found = [_kind(node, kinds) for node in nodes]
    incoming: list[list[Edge]] = [[] for _ in nodes]
    wires: list[list[Wire]] = [[] for _ in nodes]
    for edge in graph.edges:
        source, target = index.get(edge.from_), index.get(edge.to)
        if source is None or target is None:
            raise _dangling(edge, index)
        incoming[target].append(edge)
        wires[source].append(Wire(edge.out, target, edge.in_ or edge.out, edge.constant))
    configurations = [_configuration(node) for node in nodes]
    successors = tuple([tuple(dict.fromkeys([wire.to for wire in row])) for row in wires])
    order = _order(successors)
    effects = tuple([_effect(node, kind, graph, kinds) for node, kind in zip(nodes, found, strict=True)])
    is_output = tuple([node.type == OUTPUT for node in nodes])
    confluent = [
        _confluent(edges, configuration) for edges, configuration in zip(incoming, configurations, strict=True)
    ]
    calm = [once and effect in (Effect.PURE, Effect.READS) for once, effect in zip(confluent, effects, strict=True)]
    once = _throughout(confluent, incoming, index, order)
    # A write must not happen before its turn is certain; a start node leaves others without their inputs.
    eager = (False,) * len(nodes) if start else _throughout(calm, incoming, index, order)
    ports = [kind.ports_for(configuration) for kind, configuration in zip(found, configurations, strict=True)]
    entries = _entries(graph, nodes, incoming, wires, index, start)
    bubbles = tuple([out and _bubbles(node.configuration) for out, node in zip(is_output, nodes, strict=True)])
    simple = all(eager) and not any(bubbles) and _funnels(incoming, index, is_output)
    fires = tuple(
        [
            kind.bind(node.id, configuration, _wired(edges))
            for kind, node, configuration, edges in zip(found, nodes, configurations, incoming, strict=True)
        ]
    )
    gives = tuple([None if p.open_outputs else frozenset([port.name for port in p.outputs]) for p in ports])
    tabular = tuple(
        [p.open_outputs or any("table" in port.schema.get("behavior", ()) for port in p.outputs) for p in ports]
    )
    is_input = tuple([node.type == INPUT for node in nodes])
    return Plan(
        graph=graph,
        ids=tuple(index),
        nodes=nodes,
        kinds=tuple(found),
        fires=fires,
        wires=tuple(map(tuple, wires)),
        successors=successors,
        needs=tuple([_needs(edges, config) for edges, config in zip(incoming, configurations, strict=True)]),
        gives=gives,
        effects=effects,
        catches=tuple([any(wire.out == ERROR_PORT for wire in row) for row in wires]),
        streams=tuple([_streams(row, once, is_output) for row in wires]),
        tabular=tabular,
        is_input=is_input,
        is_output=is_output,
        bubbles=bubbles,
        eager=eager,
        waits=tuple([_waits(edges) for edges in incoming]),
        steps=tuple(
            [
                None
                if given is None or tabular[place] or is_input[place] or not eager[place]
                else Step(fires[place], given, _link(wires[place], incoming, eager))
                for place, given in enumerate(gives)
            ]
        ),
        entries=entries,
        simple=simple,
        linear=simple and len(entries) == 1 and max(map(len, successors)) < 2,
        ranks=_ranks(wires, incoming, entries) if simple else (),
    )


def _kind(node: Node, kinds: Kinds) -> NodeType[Any]:
    kind = kinds.get(INVOKE if node.type.startswith("#") else node.type)
    if kind is None:
        near = difflib.get_close_matches(node.type, kinds, 3)
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Node '{node.id}' is of kind '{node.type}', which does not exist.",
            f"Did you mean {' or '.join(repr(name) for name in near)}?"
            if near
            else f"Kinds: {', '.join(sorted(kinds))}.",
            {"node": node.id, "type": node.type},
        )
    return kind


def _effect(node: Node, kind: NodeType[Any], graph: Graph, kinds: Kinds) -> Effect:
    """A node that runs a sub-graph writes when anything in there does."""
    board = node.type if node.type.startswith("#") else node.configuration.get(BOARD)
    if kind.effect is Effect.WRITES or not isinstance(board, str):
        return kind.effect
    seen = {board}
    stack = [board]
    while stack:
        part = graph.graphs.get(stack.pop().removeprefix("#"))
        for inner in part.nodes if part else ():
            if inner.type in kinds and kinds[inner.type].effect is Effect.WRITES:
                return Effect.WRITES
            deeper = inner.type if inner.type.startswith("#") else inner.configuration.get(BOARD)
            if isinstance(deeper, str) and deeper not in seen:
                seen.add(deeper)
                stack.append(deeper)
    return kind.effect


def _configuration(node: Node) -> Mapping[str, Json]:
    """A node of type `#id` is an invoke of that sub-graph."""
    return {BOARD: node.type, **node.configuration} if node.type.startswith("#") else node.configuration


def _dangling(edge: Edge, index: Mapping[str, int]) -> JackfieldError:
    end, name = ("to", edge.to) if edge.from_ in index else ("from", edge.from_)
    near = difflib.get_close_matches(name, index, 3)
    return JackfieldError(
        Code.CONFIG_INVALID,
        f"An edge goes {end} '{name}', which is no node of this graph.",
        f"Did you mean {' or '.join(repr(other) for other in near)}?" if near else "",
        {"from": edge.from_, "to": edge.to},
    )


def _is_data(edge: Edge) -> bool:
    return bool(edge.out) and edge.out != WILDCARD


def _needs(edges: Sequence[Edge], configuration: Mapping[str, Json]) -> frozenset[str]:
    """The ports that must hold a value, as Breadboard counts them: named by a required edge and not configured."""
    return frozenset(
        [
            edge.in_
            for edge in edges
            if edge.in_ and edge.in_ != WILDCARD and not edge.optional and edge.in_ not in configuration
        ]
    )


def _wired(edges: Sequence[Edge]) -> frozenset[str]:
    return frozenset([WILDCARD if edge.out == WILDCARD else edge.in_ or edge.out for edge in edges if edge.out])


def _confluent(edges: Sequence[Edge], configuration: Mapping[str, Json]) -> bool:
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


def _waits(edges: Sequence[Edge]) -> int:
    return sum(map(_is_data, edges)) or len(edges)


def _order(successors: Sequence[Sequence[int]]) -> list[int]:
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


def _throughout(
    holds: Sequence[bool], incoming: Sequence[Sequence[Edge]], index: Mapping[str, int], order: Sequence[int]
) -> tuple[bool, ...]:
    """For which nodes it holds, and holds for everything above them; never in or below a cycle."""
    throughout = [False] * len(holds)
    for node in order:
        throughout[node] = holds[node] and all(throughout[index[edge.from_]] for edge in incoming[node])
    return tuple(throughout)


def _entries(
    graph: Graph,
    nodes: Sequence[Node],
    incoming: Sequence[Sequence[Edge]],
    wires: Sequence[Sequence[Wire]],
    index: Mapping[str, int],
    start: str,
) -> tuple[int, ...]:
    if start:
        if start not in index:
            raise JackfieldError(
                Code.CONFIG_INVALID, f"The graph has no node '{start}' to start from.", "", {"node": start}
            )
        return (index[start],)
    roots = [place for place in range(len(nodes)) if not incoming[place]]
    alone = [place for place in roots if not wires[place]]
    if alone:
        marked = [place for place in alone if nodes[place].metadata.get("start")]
        if marked:
            return (marked[0],)
        return (alone[0],) if len(alone) == len(roots) else tuple([place for place in roots if wires[place]])
    if not roots:
        names = ", ".join(f"'{node.id}'" for node in nodes[:5]) + (", …" if len(nodes) > 5 else "")
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"No node of the graph can start: each has an incoming edge ({names})."
            if nodes
            else "The graph has no nodes.",
            "Begin with a node that nothing leads to, such as an `input`.",
            {"nodes": [node.id for node in nodes[:20]]},
        )
    return tuple(roots)


def _bubbles(configuration: Mapping[str, Json]) -> bool:
    schema = configuration.get("schema")
    return isinstance(schema, Mapping) and "bubble" in (schema.get("behavior") or ())


def _funnels(incoming: Sequence[Sequence[Edge]], index: Mapping[str, int], is_output: Sequence[bool]) -> bool:
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


def _ranks(
    wires: Sequence[Sequence[Wire]], incoming: Sequence[Sequence[Edge]], entries: Sequence[int]
) -> tuple[int, ...]:
    """The order in which one node at a time would fire: what is absent in a run takes nodes out and moves none."""
    left = [_waits(edges) for edges in incoming]
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


def _streams(row: Sequence[Wire], once: Sequence[bool], is_output: Sequence[bool]) -> bool:
    """Not into an output: its table outlives the run, a stream does not."""
    outs = [wire.out for wire in row if wire.out]
    if len(outs) != len(set(outs)) or WILDCARD in outs:
        return False
    return all(once[wire.to] and not wire.constant and not is_output[wire.to] for wire in row if wire.out)


def _link(
    row: Sequence[Wire], incoming: Sequence[Sequence[Edge]], eager: Sequence[bool]
) -> tuple[str, int, str] | None:
    if len(row) != 1:
        return None
    out, to, port, _ = row[0]
    if not out or out in (WILDCARD, ERROR_PORT) or len(incoming[to]) != 1 or not eager[to]:
        return None
    return (out, to, port)
