"""Sub-graphs: the rule that what is run is there, and the ports that a node has which runs one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from ..findings import Finding
from ..model import Graph, Json, Node
from .subject import PortLike, PortsLike, Subject

BOARD: Final = "$board"
MODULE: Final = "#module:"


@dataclass(frozen=True, slots=True)
class InnerPort:
    """A port of a node that runs a sub-graph. It is never required: what lacks is asked of the caller."""

    name: str
    schema: Mapping[str, Json]
    required: bool = False


@dataclass(frozen=True, slots=True)
class InnerPorts:
    inputs: tuple[PortLike, ...] = ()
    outputs: tuple[PortLike, ...] = ()
    open_inputs: bool = True
    open_outputs: bool = True


def unknown_subgraphs(subject: Subject) -> Iterator[Finding]:
    for index, node in enumerate(subject.graph.nodes):
        board = node.configuration.get(BOARD)
        if node.type.startswith("#"):
            yield from _missing(subject, node.type, f"/nodes/{index}/type", f"Node '{node.id}' runs", node.id)
        if isinstance(board, str) and board.startswith("#"):
            place = f"/nodes/{index}/configuration/{BOARD}"
            yield from _missing(subject, board, place, f"Node '{node.id}' runs", node.id)
    for index, export in enumerate(subject.graph.exports):
        if export.startswith("#"):
            yield from _missing(subject, export, f"/exports/{index}", "The graph exports", export)


def _missing(subject: Subject, reference: str, pointer: str, what: str, about: str) -> Iterator[Finding]:
    modules = subject.graph.rest.get("modules") or {}
    found = modules if reference.startswith(MODULE) else subject.subgraphs
    name = reference.removeprefix(MODULE).removeprefix("#")
    if name not in found:
        near = get_close_matches(name, list(found), 1)
        kind = "module" if reference.startswith(MODULE) else "sub-graph"
        listed = ", ".join(f"'#{known}'" for known in subject.subgraphs) or "none"
        yield subject.finding(
            "SUBGRAPH_UNKNOWN",
            f"{what} '{reference}', and the graph has no such {kind}.",
            pointer,
            f"Did you mean '{reference.removesuffix(name)}{near[0]}'?" if near else f"Sub-graphs: {listed}.",
            about,
        )
    elif reference.startswith(MODULE) and not pointer.startswith("/exports"):
        yield subject.finding(
            "MODULE_NOT_RUN",
            f"{what} the JavaScript module '{name}', and Jackfield runs none.",
            pointer,
            "Put nodes in its place; the rest of the graph can run.",
            about,
            error=False,
        )


def ports_of_node(subject: Subject, node: Node) -> PortsLike | None:
    """The node's ports; those of its sub-graph where it runs one that is known."""
    board = node.type if node.type.startswith("#") else node.configuration.get(BOARD)
    own = subject.ports_of(node)
    if not isinstance(board, str) or not board.startswith("#") or node.type not in ("invoke", board):
        return own
    subgraph = subject.subgraphs.get(board[1:])
    if subgraph is None:
        return own if own is not None else InnerPorts()
    return _ports_of_graph(subgraph, subject)


def _ports_of_graph(graph: Graph, subject: Subject) -> InnerPorts:
    inputs: dict[str, InnerPort] = {BOARD: InnerPort(BOARD, {"type": "string"})}
    outputs: dict[str, InnerPort] = {}
    open_inputs = open_outputs = False
    for node in graph.nodes:
        ports = subject.ports_of(node)
        if node.type == "input" and ports is not None:
            open_inputs = open_inputs or ports.open_outputs
            inputs |= {p.name: InnerPort(p.name, p.schema) for p in ports.outputs if not p.name.startswith("$")}
        elif node.type == "output" and ports is not None:
            outputs |= {p.name: InnerPort(p.name, p.schema) for p in ports.inputs}
            for edge in graph.edges:
                if edge.to == node.id:
                    open_outputs = open_outputs or edge.is_wildcard
                    outputs.setdefault(edge.in_, InnerPort(edge.in_, {}))
            for name in node.configuration.keys() - {"schema"}:
                outputs.setdefault(name, InnerPort(name, {}))
    has_output = any(node.type == "output" for node in graph.nodes)
    outputs.pop("", None)
    return InnerPorts(tuple(inputs.values()), tuple(outputs.values()), open_inputs, open_outputs or not has_output)
