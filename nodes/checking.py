"""Checks of a graph by what the kinds of its nodes declare: their ports, and their configurations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from ..graphs.checks import check
from ..graphs.findings import Finding, Place, Severity
from ..graphs.model import Graph, Node
from ..graphs.pointers import pointer as pointer_to
from ..graphs.positions import Document
from .base import NodeType, OpenConfiguration, Ports
from .repeating import asks_after_writes

Kinds = Mapping[str, NodeType[Any]]


def check_graph(
    graph: Graph, kinds: Kinds, *, file: str = "", document: Document | None = None, pointer: str = ""
) -> tuple[Finding, ...]:
    """All findings about `graph`, which begins at `pointer` of its file: wiring, configurations, questions."""

    def ports_of(node: Node) -> Ports | None:
        kind = kinds.get(node.type)
        return None if kind is None else kind.ports_for(node.configuration)

    findings = check(graph, ports_of, kinds=tuple(kinds), file=file, document=document, pointer=pointer)
    repeated = asks_after_writes(graph, kinds, file=file, document=document, pointer=pointer)
    return findings + tuple(_configurations(graph, kinds, file, document, pointer)) + tuple(repeated)


def _configurations(
    graph: Graph, kinds: Kinds, file: str, document: Document | None, pointer: str
) -> Iterator[Finding]:
    incoming: dict[str, set[str]] = {}
    for edge in graph.edges:
        incoming.setdefault(edge.to, set()).add("*" if edge.is_wildcard else edge.in_)
    for index, node in enumerate(graph.nodes):
        kind = kinds.get(node.type)
        wired = incoming.get(node.id, set())
        if kind is None or "*" in wired:
            continue
        for place, message, hint in problems(kind, node, frozenset(wired)):
            where = f"{pointer}/nodes/{index}/configuration{place}"
            at = Place(file, where) if document is None else document.place(where)
            message = f"Node '{node.id}' ({node.type}): {message}"
            yield Finding("CONFIG_INVALID", Severity.ERROR, message, at, hint, subject=node.id)
        for field, close in _misspelt(kind, node, wired):
            where = f"{pointer}/nodes/{index}/configuration{pointer_to(field)}"
            at = Place(file, where) if document is None else document.place(where, key=True)
            message = (
                f"Node '{node.id}' ({node.type}): '{field}' is no field of its own, and is passed on as an argument."
            )
            yield Finding("CONFIG_INVALID", Severity.WARNING, message, at, f"Did you mean '{close}'?", subject=node.id)
    for name, subgraph in graph.graphs.items():
        yield from _configurations(subgraph, kinds, file, document, pointer + pointer_to("graphs", name))


def _misspelt(kind: NodeType[Any], node: Node, wired: set[str]) -> Iterator[tuple[str, str]]:
    """Fields of an open configuration that are nearly one of its own: any may be an argument, and so be meant."""
    own = [field.alias or name for name, field in kind.configuration.model_fields.items()]
    if issubclass(kind.configuration, OpenConfiguration):
        free = [name for name in own if name not in node.configuration and name not in wired]
        for field in node.configuration:
            if field not in own and (near := get_close_matches(field, free, 1, 0.8)):
                yield field, near[0]


def problems(kind: NodeType[Any], node: Node, wired: frozenset[str] = frozenset()) -> Iterator[tuple[str, str, str]]:
    """(pointer inside the configuration, what is wrong, hint) of each fault; what is missing may come by wire."""
    try:
        kind.configuration.model_validate(dict(node.configuration))
    except ValidationError as error:
        names = [field.alias or name for name, field in kind.configuration.model_fields.items()]
        for fault in error.errors(include_url=False):
            field = str(fault["loc"][0]) if fault["loc"] else ""
            if fault["type"] == "missing" and field in wired:
                continue
            near = get_close_matches(field, names, 1) if fault["type"] == "extra_forbidden" else []
            if near:
                hint = f"Did you mean '{near[0]}'?"
            else:
                hint = "Fields: " + ", ".join(f"'{name}'" for name in names) + "." if names else "It has no fields."
            yield (
                pointer_to(*fault["loc"]),
                f"{_words(fault['type'], field) or fault['msg'].removeprefix('Value error, ') + '.'}",
                hint,
            )


def _words(kind: str, field: str) -> str:
    if kind == "extra_forbidden":
        return f"there is no field '{field}'."
    return f"the field '{field}' is missing." if kind == "missing" else ""
