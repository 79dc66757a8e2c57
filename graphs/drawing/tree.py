"""A graph as text for a terminal: each output with what it is made of below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ..model import EMPTY, Edge, Graph, Node
from .labels import Facts, cut, detail, edge_label, heading, measured, title

WIDTH: Final = 110


def tree(graph: Graph, facts: Facts = EMPTY) -> str:
    """The graph from its results up to its inputs, a node a line; a node drawn before is named with `↑`.

    `facts` by node id (rows, bytes, ms …) are added to the node's line.
    """
    into: dict[str, list[Edge]] = {node.id: [] for node in graph.nodes}
    leaving: set[str] = set()
    for edge in graph.edges:
        if edge.to in into and edge.from_ in into:
            into[edge.to].append(edge)
            leaving.add(edge.from_) if edge.from_ != edge.to else None
    ends = [node.id for node in graph.nodes if node.id not in leaving]
    drawn: set[str] = set()
    lines = [heading(graph)]
    for end in (*ends, *into):  # nodes of a cycle without an end come last
        if end not in drawn:
            lines.extend(_lines(graph.by_id, into, end, drawn, facts))
    for name, subgraph in graph.graphs.items():
        lines.append("")
        body = tree(subgraph, _of_subgraph(facts, name)).splitlines()
        lines.extend([f"#{name} {subgraph.title}".rstrip(), *body[1:]])
    return "\n".join(lines)


def _lines(
    nodes: Mapping[str, Node], into: Mapping[str, list[Edge]], end: str, drawn: set[str], facts: Facts
) -> Iterator[str]:
    waiting: list[tuple[str, str, str, str]] = [(end, "", "", "")]  # node, its edges in words, indent, branch
    while waiting:
        name, by, indent, branch = waiting.pop()
        again = name in drawn
        drawn.add(name)
        yield cut(indent + branch + _node(nodes[name], by, facts, again), WIDTH)
        sources = {} if again else _by_source(into[name])
        below = indent + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        for index, (source, words) in enumerate(reversed(sources.items())):
            waiting.append((source, words, below, "├─ " if index else "└─ "))


def _by_source(edges: list[Edge]) -> dict[str, str]:
    """Each node that leads here, with the ports of all its edges in words."""
    found: dict[str, list[str]] = {}
    for edge in edges:
        found.setdefault(edge.from_, []).append(edge_label(edge) or "then")
    return {source: ", ".join(labels) for source, labels in found.items()}


def _node(node: Node, by: str, facts: Facts, again: bool) -> str:
    words = [f"{title(node)} [{node.type}]" if title(node) != node.type else f"[{node.type}]"]
    if again:
        words[0] += " ↑"
    else:
        words.extend(filter(None, [detail(node), measured(facts.get(node.id))]))
    return "  ".join(words) + (f"  ({by})" if by else "")


def _of_subgraph(facts: Facts, name: str) -> Facts:
    prefix = f"{name}/"
    return {key.removeprefix(prefix): value for key, value in facts.items() if key.startswith(prefix)}
