"""Rules about nodes by themselves: their ids, their types, and the inputs that they can not do without."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from ..findings import Finding
from ..model import Node
from .subject import Subject


def duplicate_ids(subject: Subject) -> Iterator[Finding]:
    """An edge names a node by its id, so two nodes of one id can not be told apart."""
    seen: dict[str, int] = {}
    for index, node in enumerate(subject.graph.nodes):
        first = seen.setdefault(node.id, index)
        if first != index:
            yield subject.finding(
                "NODE_DUPLICATE",
                f"Two nodes have the id '{node.id}': number {first + 1} and number {index + 1}.",
                f"/nodes/{index}/id",
                "Give one of them another id, and change the edges that mean it.",
                node.id,
            )


def unknown_types(subject: Subject) -> Iterator[Finding]:
    for index, node in enumerate(subject.graph.nodes):
        if subject.ports[node.id] is None and not node.type.startswith("#"):
            near = get_close_matches(node.type, subject.kinds, 3)
            hint = "Did you mean " + " or ".join(f"'{name}'" for name in near) + "?" if near else ""
            known = "Types: " + ", ".join(subject.kinds) + "." if subject.kinds else ""
            yield subject.finding(
                "NODE_TYPE_UNKNOWN",
                f"Node '{node.id}' is of the type '{node.type}', which there is not.",
                f"/nodes/{index}/type",
                hint or known,
                node.id,
            )


def missing_inputs(subject: Subject) -> Iterator[Finding]:
    """A required input that is neither wired nor configured fails at every firing."""
    for index, node in enumerate(subject.graph.nodes):
        ports = subject.ports[node.id]
        edges = subject.incoming[node.id]
        if ports is None or any(edge.is_wildcard for edge in edges):
            continue
        given = {edge.in_ for edge in edges} | node.configuration.keys()
        for port in ports.inputs:
            if port.required and port.name not in given:
                yield subject.finding(
                    "INPUT_MISSING",
                    f"Node '{node.id}' ({node.type}) needs a value for '{port.name}', and nothing gives one.",
                    f"/nodes/{index}",
                    _sources_of(subject, node, port.name),
                    node.id,
                )


def _sources_of(subject: Subject, node: Node, port: str) -> str:
    """A hint that names an output of the same name, where another node has one."""
    for other in subject.graph.nodes:
        ports = subject.ports[other.id]
        if other.id != node.id and ports is not None and any(output.name == port for output in ports.outputs):
            return f"Wire '{other.id}.{port}' to it, or set '{port}' in its configuration."
    return f"Wire it, or set '{port}' in the node's configuration."
