"""The rule that what an edge carries fits the port it goes to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..findings import Finding
from ..model import Edge, Json
from ..schemas import misfit
from .subject import PortLike, Subject, edge_named

Schema = Mapping[str, Json]


def incompatible_ports(subject: Subject) -> Iterator[Finding]:
    """An error where no value of the output fits the input, a warning where some may not."""
    for index, edge in enumerate(subject.graph.edges):
        for carried, source, target in _carried(subject, edge):
            found = misfit(source, target)
            if found is not None:
                yield subject.finding(
                    "PORT_TYPE_MISMATCH",
                    f"The edge {edge_named(carried)}: the output {found}.",
                    f"/edges/{index}/in" if not edge.is_wildcard else f"/edges/{index}",
                    "Put a node between them that converts the value, or correct one of the schemas.",
                    edge.to,
                    error=found.certain,
                )


def _carried(subject: Subject, edge: Edge) -> Iterator[tuple[Edge, Schema, Schema]]:
    """Each pair of ports that the edge joins, with their schemas."""
    start, end = subject.ports.get(edge.from_), subject.ports.get(edge.to)
    if start is None or end is None or not edge.out:
        return
    if not edge.is_wildcard:
        yield edge, _schema(start.outputs, edge.out), _schema(end.inputs, edge.in_)
        return
    for port in start.outputs:
        if not port.name.startswith("$"):
            yield Edge(edge.from_, edge.to, port.name, port.name), port.schema, _schema(end.inputs, port.name)


def _schema(ports: Sequence[PortLike], name: str) -> Schema:
    return next((port.schema for port in ports if port.name == name), {})
