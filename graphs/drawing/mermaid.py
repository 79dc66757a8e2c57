"""A graph as Mermaid text, which documentation sites and editors draw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..model import EMPTY, Edge, Graph
from .labels import Facts, detail, edge_label, family, measured, title
from .palette import COLOURS

SHAPES: Mapping[str, tuple[str, str]] = {
    "edge": ("([", "])"),
    "source": ("[(", ")]"),
    "write": ("[/", "/]"),
    "run": ("[[", "]]"),
}


def mermaid(graph: Graph, facts: Facts = EMPTY) -> str:
    """A `flowchart` of the graph; sub-graphs are drawn as boxes of their own."""
    lines = ["flowchart LR", *_part(graph, "n", facts, "  ")]
    for index, (name, subgraph) in enumerate(graph.graphs.items()):
        lines.append(f'  subgraph g{index}["{_text("#" + name)}"]')
        lines.extend(_part(subgraph, f"g{index}n", EMPTY, "    "))
        lines.append("  end")
    for name, (fill, stroke) in COLOURS.items():
        lines.append(f"  classDef {name} fill:{fill},stroke:{stroke},color:#1b2330")
    return "\n".join(lines)


def _part(graph: Graph, prefix: str, facts: Facts, indent: str) -> Iterator[str]:
    # Ids of nodes may be words of Mermaid's own, so they are numbered.
    names = {node.id: f"{prefix}{index}" for index, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        opened, closed = SHAPES.get(family(node), ("[", "]"))
        words = [title(node), node.type if title(node) != node.type else "", detail(node, 40)]
        label = "<br>".join(_text(word) for word in [*words, measured(facts.get(node.id))] if word)
        yield f'{indent}{names[node.id]}{opened}"{label}"{closed}:::{family(node)}'
    for edge in graph.edges:
        if edge.from_ in names and edge.to in names:
            yield f"{indent}{names[edge.from_]} {_arrow(edge)} {names[edge.to]}"


def _arrow(edge: Edge) -> str:
    line = "-.->" if edge.optional or edge.is_control else "==>" if edge.constant else "-->"
    label = edge_label(edge)
    return f'{line}|"{_text(label)}"|' if label else line


def _text(text: str) -> str:
    """Text that Mermaid shows as it is: what it reads as markup becomes entity codes."""
    return "".join(f"#{ord(c)};" if c in '"#<>&;`|\\' else c if c.isprintable() else " " for c in text)
