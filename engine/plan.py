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
from ..nodes.base import Effect, Fire, NodeType, Ports
from . import structure
from .structure import Wire

INPUT: Final = "input"
OUTPUT: Final = "output"
INVOKE: Final = "invoke"
BOARD: Final = "$board"
CALM: Final = (Effect.PURE, Effect.READS)
Kinds = Mapping[str, NodeType[Any]]


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
    answers: tuple[bool, ...]  # the same, when a table may stream to the caller, for as long as the run stays open
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
    index, incoming, wires = _linked(graph)
    found = [_kind(node, kinds) for node in nodes]
    configurations = [_configuration(node) for node in nodes]
    ports = [kind.ports_for(configuration) for kind, configuration in zip(found, configurations, strict=True)]
    fires = tuple(
        [k.bind(n.id, c, _wired(e)) for k, n, c, e in zip(found, nodes, configurations, incoming, strict=True)]
    )
    gives = tuple([None if p.open_outputs else frozenset([port.name for port in p.outputs]) for p in ports])
    effects = tuple([_effect(node, kind, graph, kinds) for node, kind in zip(nodes, found, strict=True)])
    entries = _entries(graph, incoming, wires, index, start)

    successors = tuple([tuple(dict.fromkeys([wire.to for wire in row])) for row in wires])
    above = structure.topological(successors)
    confluent = [structure.is_confluent(edges, c) for edges, c in zip(incoming, configurations, strict=True)]
    once = structure.throughout(confluent, incoming, index, above)
    # A write must not happen before its turn is certain; a start node leaves others without their inputs.
    calm = [here and effect in CALM and not start for here, effect in zip(confluent, effects, strict=True)]
    eager = structure.throughout(calm, incoming, index, above)
    is_input = tuple([node.type == INPUT for node in nodes])
    is_output = tuple([node.type == OUTPUT for node in nodes])
    bubbles = tuple([out and _bubbles(node.configuration) for out, node in zip(is_output, nodes, strict=True)])
    simple = all(eager) and not any(bubbles) and structure.funnels(incoming, index, is_output)
    tabular = tuple([_is_tabular(p) for p in ports])
    return Plan(
        graph=graph,
        ids=tuple(index),
        nodes=nodes,
        kinds=tuple(found),
        fires=fires,
        wires=tuple(map(tuple, wires)),
        successors=successors,
        needs=tuple([_needs(edges, c) for edges, c in zip(incoming, configurations, strict=True)]),
        gives=gives,
        effects=effects,
        catches=tuple([any(wire.out == ERROR_PORT for wire in row) for row in wires]),
        streams=tuple([structure.may_stream(row, once, is_output) for row in wires]),
        answers=tuple([structure.may_stream(row, once, bubbles) for row in wires]),
        tabular=tabular,
        is_input=is_input,
        is_output=is_output,
        bubbles=bubbles,
        eager=eager,
        waits=tuple([structure.arrivals(edges) for edges in incoming]),
        steps=tuple(
            [
                None
                if given is None or tabular[place] or is_input[place]
                else Step(fires[place], given, structure.only_link(wires[place], incoming, eager))
                for place, given in enumerate(gives)
            ]
        ),
        entries=entries,
        simple=simple,
        linear=simple and len(entries) == 1 and max(map(len, successors)) < 2,
        ranks=structure.firing_ranks(wires, incoming, entries) if simple else (),
    )


def _linked(graph: Graph) -> tuple[dict[str, int], list[list[Edge]], list[list[Wire]]]:
    """The place of each node, the edges into it, and those out of it."""
    index = {node.id: place for place, node in enumerate(graph.nodes)}
    if len(index) != len(graph.nodes):
        twice = next(node.id for place, node in enumerate(graph.nodes) if index[node.id] != place)
        raise JackfieldError(Code.CONFIG_INVALID, f"Two nodes have the id '{twice}'.", "Rename one.", {"node": twice})
    incoming: list[list[Edge]] = [[] for _ in index]
    wires: list[list[Wire]] = [[] for _ in index]
    for edge in graph.edges:
        source, target = index.get(edge.from_), index.get(edge.to)
        if source is None or target is None:
            raise _dangling(edge, index)
        incoming[target].append(edge)
        wires[source].append(Wire(edge.out, target, edge.in_ or edge.out, edge.constant))
    return index, incoming, wires


def _is_tabular(ports: Ports) -> bool:
    return ports.open_outputs or any("table" in port.schema.get("behavior", ()) for port in ports.outputs)


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


def _entries(
    graph: Graph,
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
    nodes = graph.nodes
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
