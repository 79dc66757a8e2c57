"""A graph as one SVG file that needs nothing else: no font, no script, no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from ..model import EMPTY, Edge, Graph, Node
from .labels import Facts, cut, edge_label, family, heading, kind_and_detail, measured, title
from .layout import Layout, Point, Sizes, layout
from .palette import COLOURS

SIZES: Final = Sizes()
MARGIN: Final = 16
FONT: Final = "system-ui, 'Liberation Sans', Arial, sans-serif"


def svg(graph: Graph, facts: Facts = EMPTY) -> str:
    """The graph from left to right. Each node shows its name, its type, what tells it apart and its `facts`.

    The title and description are there for those who do not see the picture.
    """
    edges = [edge for edge in graph.edges if edge.from_ in graph.by_id and edge.to in graph.by_id]
    placed = layout(list(graph.by_id), [(edge.from_, edge.to) for edge in edges], SIZES)
    width, height = placed.width + 2 * MARGIN, placed.height + 2 * MARGIN
    mark = graph.hash[:8]  # ids are of the whole page that shows the picture
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN} {-MARGIN} {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-labelledby="title-{mark} desc-{mark}" '
        f'font-family="{FONT}" font-size="13">',
        f'<title id="title-{mark}">{_text(heading(graph))}</title>',
        f'<desc id="desc-{mark}">{_text(_described(graph, edges))}</desc>',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0,0L8,4L0,8z" fill="#5b6778"/></marker></defs>',
        f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        *_edges(edges, placed),
        *(_node(node, placed.nodes[node.id], facts) for node in graph.by_id.values()),
        "</svg>",
    ]
    return "\n".join(parts)


def _node(node: Node, corner: Point, facts: Facts) -> str:
    fill, stroke = COLOURS[family(node)]
    x, y = corner
    lines = [
        (20, 'font-weight="600" fill="#1b2330"', cut(title(node), 24)),
        (37, f'fill="{stroke}" font-size="11"', cut(kind_and_detail(node), 32)),
        (53, 'fill="#3c4757" font-size="11"', cut(measured(facts.get(node.id)), 32)),
    ]
    texts = "".join(f'<text x="14" y="{at}" {style}>{_text(text)}</text>' for at, style, text in lines if text)
    return (
        f'<g transform="translate({x:.1f},{y:.1f})"><title>{_text(f"{title(node)}: {kind_and_detail(node, 400)}")}'
        f'</title><rect width="{SIZES.width:.0f}" height="{SIZES.height:.0f}" rx="8" fill="{fill}" stroke="{stroke}"/>'
        f'<rect width="5" height="{SIZES.height:.0f}" rx="2.5" fill="{stroke}"/>{texts}</g>'
    )


def _edges(edges: Sequence[Edge], placed: Layout) -> Iterator[str]:
    """One curve for each pair of nodes: edges between the same two would lie on each other."""
    together: dict[tuple[str, str], list[int]] = {}
    for index, edge in enumerate(edges):
        together.setdefault((edge.from_, edge.to), []).append(index)
    for (start, end), indexes in together.items():
        words = ", ".join(filter(None, (edge_label(edges[index]) for index in indexes)))
        dashed = all(edges[index].optional or edges[index].is_control for index in indexes)
        style = ' stroke-dasharray="5 4"' if dashed else ""
        path = _loop(placed.nodes[start]) if start == end else _curve(placed.edges[indexes[0]])
        tip = f"<title>{_text(f'{start} → {end}' + (f': {words}' if words else ''))}</title>"
        yield (
            f'<path d="{path}" fill="none" stroke="#5b6778" stroke-width="1.4"{style} marker-end="url(#arrow)">'
            f"{tip}</path>"
        )


def _curve(points: Sequence[Point]) -> str:
    (x, y), *rest = points
    path = f"M{x:.1f},{y:.1f}"
    for next_x, next_y in rest:
        middle = (x + next_x) / 2
        path += f"C{middle:.1f},{y:.1f} {middle:.1f},{next_y:.1f} {next_x:.1f},{next_y:.1f}"
        x, y = next_x, next_y
    return path


def _loop(corner: Point) -> str:
    x, y = corner[0] + SIZES.width / 2, corner[1]
    return f"M{x + 30:.1f},{y:.1f}C{x + 30:.1f},{y - 16:.1f} {x - 30:.1f},{y - 16:.1f} {x - 30:.1f},{y:.1f}"


def _described(graph: Graph, edges: Sequence[Edge]) -> str:
    """The graph in words, cut where nobody would listen on."""
    if graph.description:
        return graph.description
    steps = [f"{edge.from_} to {edge.to}" for edge in edges]
    words = f"{len(graph.nodes)} nodes and {len(edges)} edges: " + ", ".join(dict.fromkeys(steps))
    return cut(words, 600)


def _text(text: str) -> str:
    """Text for XML: escaped, and without the control characters that XML does not allow."""
    return escape("".join(c if c.isprintable() else " " for c in text))
