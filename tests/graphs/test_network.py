"""networkx as the judge of our own walks over graphs, and as what authors may use."""

import subprocess
import sys

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from jackfield.graphs.checks import Subject
from jackfield.graphs.checks.reach import cycles_within, fireable
from jackfield.graphs.drawing.layout import Sizes, layout
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.graphs.network import to_networkx

numbers = st.integers(0, 9)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Up to ten nodes; each edge leads to a port of its own, so that a node waits for all its edges."""
    pairs = draw(st.lists(st.tuples(numbers, numbers), max_size=16, unique=True))
    nodes = tuple(Node(f"n{number}", "noop") for number in range(10))
    return Graph(nodes, tuple(Edge(f"n{a}", f"n{b}", "x", f"from{a}") for a, b in pairs))


@given(graphs())
def test_every_cycle_named_is_one_and_each_knot_of_cycles_is_named(graph: Graph) -> None:
    network = to_networkx(graph)
    subject = Subject(graph, lambda node: None)
    named = list(cycles_within(set(graph.by_id), subject.incoming))
    for cycle in named:
        assert all(network.has_edge(a, b) for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
    assert bool(named) is not nx.is_directed_acyclic_graph(network)


@given(graphs())
def test_what_can_fire_is_what_no_cycle_is_above_of(graph: Graph) -> None:
    """With a port to every edge, a node can fire exactly when nothing above it waits for itself."""
    network = to_networkx(graph)
    blocked = set()
    for knot in nx.strongly_connected_components(network):
        node = next(iter(knot))
        if len(knot) > 1 or network.has_edge(node, node):
            blocked |= knot.union(*(nx.descendants(network, member) for member in knot))
    connected = {node for node in network if network.degree(node)}
    alone = {next(iter(network))} if not connected else set()
    if connected and all(network.in_degree(node) for node in connected):
        alone = {next(node for node in network if not network.degree(node))} if len(connected) < 10 else set()
    assert fireable(graph) == (connected - blocked) | alone


@given(graphs())
def test_edges_of_a_graph_without_cycles_lead_to_the_right(graph: Graph) -> None:
    network = to_networkx(graph)
    pairs = [(edge.from_, edge.to) for edge in graph.edges]
    placed = layout(list(graph.by_id), pairs, Sizes())
    if nx.is_directed_acyclic_graph(network):
        assert all(placed.nodes[a][0] < placed.nodes[b][0] for a, b in pairs)


def test_a_network_has_our_nodes_edges_and_marks() -> None:
    graph = Graph(
        (Node("a", "input"), Node("b", "output", {"x": 1})),
        (Edge("a", "b", "o", "i", optional=True), Edge("a", "b"), Edge("a", "gone")),
        title="T",
    )
    network = to_networkx(graph)
    assert network.nodes["b"] == {"type": "output", "configuration": {"x": 1}}
    assert [data for *_, data in network.edges(data=True)] == [
        {"out": "o", "in": "i", "optional": True, "constant": False},
        {"out": "", "in": "", "optional": False, "constant": False},
    ]


def test_checks_and_drawing_do_without_networkx() -> None:
    code = (
        "import sys; from jackfield.graphs import bgl, checks, drawing, network, positions;"
        "import jackfield.nodes.checking;"
        "assert not {'networkx', 'duckdb', 'pyarrow', 'mcp'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
