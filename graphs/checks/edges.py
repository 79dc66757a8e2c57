"""Rules about what edges name: nodes and ports that must be there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from ..findings import Finding
from ..model import ERROR_PORT
from .subject import PortLike, Subject, edge_named


def dangling_edges(subject: Subject) -> Iterator[Finding]:
    ids = list(subject.graph.by_id)
    for index, edge in enumerate(subject.graph.edges):
        for field, node in (("from", edge.from_), ("to", edge.to)):
            if node not in subject.graph.by_id:
                near = get_close_matches(node, ids, 1)
                yield subject.finding(
                    "EDGE_DANGLING",
                    f"The edge {edge_named(edge)} names the node '{node}', which there is not.",
                    f"/edges/{index}/{field}",
                    f"Did you mean '{near[0]}'?" if near else _listed("Nodes", ids),
                    node,
                )


def unfinished_edges(subject: Subject) -> Iterator[Finding]:
    """An edge with one port only carries nothing; where it has `in`, its node would wait for ever."""
    for index, edge in enumerate(subject.graph.edges):
        if edge.in_ and not edge.out:
            yield subject.finding(
                "EDGE_UNFINISHED",
                f"The edge {edge_named(edge)} names the port it goes to, and none that it comes from.",
                f"/edges/{index}",
                "Add 'out', or remove 'in' if the edge is only to trigger the node.",
                edge.to,
                error=not edge.optional,
            )
        elif edge.out and not edge.in_ and not edge.is_wildcard:
            yield subject.finding(
                "EDGE_UNFINISHED",
                f"The edge {edge_named(edge)} names the port it comes from, and none that it goes to.",
                f"/edges/{index}",
                "Add 'in', or remove 'out' if the edge is only to trigger the node.",
                edge.to,
                error=False,
            )


def unknown_ports(subject: Subject) -> Iterator[Finding]:
    for index, edge in enumerate(subject.graph.edges):
        start, end = subject.ports.get(edge.from_), subject.ports.get(edge.to)
        named = edge.out and not edge.is_wildcard and edge.out != ERROR_PORT
        if start is not None and named and not start.open_outputs and not _has(start.outputs, edge.out):
            yield subject.finding(
                "PORT_UNKNOWN",
                f"Node '{edge.from_}' ({subject.graph.by_id[edge.from_].type}) has no output '{edge.out}'.",
                f"/edges/{index}/out",
                _near(edge.out, start.outputs, "Outputs"),
                edge.from_,
            )
        named = edge.in_ and not edge.is_wildcard
        if end is not None and named and not end.open_inputs and not _has(end.inputs, edge.in_):
            yield subject.finding(
                "PORT_UNKNOWN",
                f"Node '{edge.to}' ({subject.graph.by_id[edge.to].type}) has no input '{edge.in_}'.",
                f"/edges/{index}/in",
                _near(edge.in_, end.inputs, "Inputs"),
                edge.to,
            )


def _has(ports: Sequence[PortLike], name: str) -> bool:
    return any(port.name == name for port in ports)


def _near(name: str, ports: Sequence[PortLike], what: str) -> str:
    names = [port.name for port in ports]
    near = get_close_matches(name, names, 1)
    return f"Did you mean '{near[0]}'?" if near else _listed(what, names)


def _listed(what: str, names: list[str], limit: int = 12) -> str:
    if not names:
        return f"{what}: none."
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    return f"{what}: {shown}{', …' if len(names) > limit else ''}."
