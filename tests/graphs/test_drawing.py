import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jackfield.graphs.drawing import mermaid, svg, tree
from jackfield.graphs.drawing.labels import duration, measured, size
from jackfield.graphs.drawing.layout import Sizes, layout
from jackfield.graphs.model import Edge, Graph, Node

SVG = "{http://www.w3.org/2000/svg}"
SHOP = Graph(
    (
        Node("input", "input", {"schema": {"properties": {"city": {}}}}),
        Node("orders", "postgres", {"dsn": "{{ env:DB }}", "table": "orders"}),
        Node("customers", "rest", {"url": "https://me:pw@api.example.com/customers"}),
        Node("joined", "sql", {"sql": "SELECT *\nFROM orders JOIN customers USING (id)"}),
        Node("output", "output"),
    ),
    (
        Edge("input", "orders", "$arguments", "$arguments"),
        Edge("input", "customers", optional=True),
        Edge("orders", "joined", "rows", "orders"),
        Edge("customers", "joined", "rows", "customers"),
        Edge("customers", "joined", "items", "customers_items"),
        Edge("joined", "output", "*"),
    ),
    title="Revenue <by> region",
)
FACTS = {"orders": {"rows": 1240, "bytes": 92_000, "ms": 14.2}, "joined": {"rows": 1, "ms": 0.2, "cached": True}}


def test_a_tree_goes_from_the_result_to_what_it_is_made_of() -> None:
    assert tree(SHOP, FACTS).splitlines() == [
        "Revenue <by> region",
        "[output]",
        "└─ joined [sql]  SELECT * FROM orders JOIN customers USING (id)  1 row · < 1 ms · cached True  (*)",
        "   ├─ orders [postgres]  orders  1,240 rows · 92 kB · 14 ms  (rows → orders)",
        "   │  └─ [input]  city  ($arguments)",
        "   └─ customers [rest]  https://api.example.com/customers  (rows → customers, items → customers_items)",
        "      └─ [input] ↑  (then)",
    ]


def test_a_tree_draws_cycles_and_subgraphs_once() -> None:
    inner = Graph((Node("x", "noop"),), title="Inner")
    loop = Graph(
        (Node("a", "noop"), Node("b", "#inner")),
        (Edge("a", "b", "x", "x"), Edge("b", "a", "y", "y")),
        graphs={"inner": inner},
    )
    assert tree(loop, {"inner/x": {"rows": 2}}).splitlines() == [
        "graph",
        "a [noop]",
        "└─ b [#inner]  (y)",
        "   └─ a [noop] ↑  (x)",
        "",
        "#inner Inner",
        "x [noop]  2 rows",
    ]


def test_mermaid_numbers_its_nodes_and_quotes_their_text() -> None:
    text = mermaid(SHOP, FACTS)
    assert text.startswith("flowchart LR\n")
    assert '  n1[("orders<br>postgres<br>orders<br>1,240 rows · 92 kB · 14 ms")]:::source' in text
    assert "  n0 -.-> n2" in text
    assert '  n2 -->|"rows → customers"| n3' in text
    hostile = Graph((Node('end"]; click x "javascript:1"', "sql", {"sql": "<script>`"}),))
    assert '"]; click' not in mermaid(hostile)
    assert "<script>" not in mermaid(hostile)


def test_an_svg_is_well_formed_named_and_described() -> None:
    root = ET.fromstring(svg(SHOP, FACTS))
    titles = [root.findtext(f"{SVG}title"), root.findtext(f"{SVG}desc")]
    assert titles[0] == "Revenue <by> region"
    assert "5 nodes and 6 edges: input to orders" in str(titles[1])
    assert root.get("role") == "img"
    ids = {element.get("id") for element in root.iter()}
    assert set(str(root.get("aria-labelledby")).split()) <= ids
    words = {text.text for text in root.iter(f"{SVG}text")}
    assert {"orders", "joined", "1,240 rows · 92 kB · 14 ms"} <= words
    assert "pw" not in svg(SHOP, FACTS)


def test_an_svg_escapes_what_nodes_say() -> None:
    hostile = Graph((Node("</text><script>alert(1)</script>\x00", "sql", {"sql": '" onload="x'}),), title="<b>&")
    root = ET.fromstring(svg(hostile))
    assert [element.tag for element in root.iter() if "script" in element.tag] == []
    assert root.findtext(f"{SVG}title") == "<b>&"


def test_an_empty_graph_can_be_drawn() -> None:
    assert tree(Graph()) == "graph"
    assert mermaid(Graph()).startswith("flowchart LR")
    ET.fromstring(svg(Graph()))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_text_and_lines_have_contrast_enough_to_read() -> None:
    from jackfield.graphs.drawing.palette import COLOURS

    for fill, stroke in COLOURS.values():
        light, dark = sorted((luminance(fill), luminance(stroke)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (fill, stroke)  # WCAG AA


names = st.integers(0, 12).map(lambda number: f"n{number}")


@given(st.lists(st.tuples(names, names), max_size=30))
def test_a_layout_places_every_node_apart_and_every_edge_between_its_nodes(edges: list[tuple[str, str]]) -> None:
    nodes = [f"n{number}" for number in range(13)]
    sizes = Sizes()
    placed = layout(nodes, edges, sizes)
    assert set(placed.nodes) == set(nodes)
    corners = list(placed.nodes.values())
    for i, (x, y) in enumerate(corners):
        assert 0 <= x <= placed.width - sizes.width + 1e-6
        assert 0 <= y <= placed.height - sizes.height + 1e-6
        for other_x, other_y in corners[:i]:
            assert x != other_x or abs(y - other_y) >= sizes.height - 1e-6
    for (start, end), points in zip(edges, placed.edges, strict=True):
        if start == end:
            assert points == []
            continue
        ends = sorted((points[0][1], points[-1][1]))
        middles = sorted(placed.nodes[node][1] + sizes.height / 2 for node in (start, end))
        assert ends == pytest.approx(middles)
        for (x, y), (next_x, next_y) in pairwise(points):
            if x != next_x and y == next_y:  # level: through a column, where no node may be in the way
                left, right = sorted((x, next_x))
                for corner_x, corner_y in corners:
                    assert (
                        right <= corner_x
                        or left >= corner_x + sizes.width
                        or not 1e-6 < y - corner_y < sizes.height - 1e-6
                    )


@pytest.mark.parametrize("draw", [tree, mermaid, svg])
def test_a_thousand_nodes_with_cycles_are_drawn_without_recursion(draw: object) -> None:
    nodes = tuple(Node(f"n{i}", "noop") for i in range(1000))
    forward = [Edge(f"n{max(0, i - 1 - i * 7 % 12)}", f"n{i}", "x", "x") for i in range(1, 1000)]
    back = [Edge(f"n{i}", f"n{i // 2}", "y", "y") for i in range(0, 1000, 40)]
    assert callable(draw)
    assert draw(Graph(nodes, (*forward, *back)))


def test_a_chain_of_five_thousand_nodes_is_drawn_without_recursion() -> None:
    nodes = tuple(Node(f"n{i}", "noop") for i in range(5000))
    graph = Graph(nodes, tuple(Edge(f"n{i}", f"n{i + 1}", "x", "x") for i in range(4999)))
    assert svg(graph)
    assert tree(graph)


def test_measures_are_written_for_people() -> None:
    assert [size(999), size(1500), size(92_000), size(5.2e9)] == ["999 B", "1.5 kB", "92 kB", "5.2 GB"]
    assert [duration(0.4), duration(14.2), duration(2500)] == ["< 1 ms", "14 ms", "2.5 s"]
    assert measured({"rows": 0, "state": "skipped"}) == "0 rows · state skipped"
    assert measured(None) == ""
