import pytest

from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes import registry
from jackfield.nodes.checking import check_graph
from jackfield.nodes.repeating import CODE

STATEMENT = {"engine": "postgres", "dsn": "postgres://h/d", "sql": "DELETE FROM t"}
ASK = Node("ask", "ask", {"message": "Sure?"})
WRITE = Node("write", "statement", STATEMENT)
TEXT = Node("text", "template", {"template": "x"})


def found(*parts: Node | Edge, graphs: dict[str, Graph] | None = None) -> list[str]:
    nodes = tuple(part for part in parts if isinstance(part, Node))
    edges = tuple(part for part in parts if isinstance(part, Edge))
    findings = check_graph(Graph(nodes, edges, graphs or {}), registry())
    return [f"{one.place.pointer}: {one.message}" for one in findings if one.code == CODE]


BEFORE = "/nodes/1: Node 'write' (statement) may write before node 'ask' asks."


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        pytest.param([Edge("ask", "write", "content", "$arguments")], [], id="the write waits for the answer"),
        pytest.param([Edge("ask", "write")], [], id="the write is triggered by the answer"),
        pytest.param([Edge("ask", "text", "action", "x"), Edge("text", "write", "text", "x")], [], id="at a distance"),
        pytest.param([Edge("write", "ask")], [BEFORE], id="the write comes first"),
        pytest.param([Edge("text", "write", "text", "x"), Edge("text", "ask")], [BEFORE], id="side by side"),
        pytest.param([Edge("text", "write", "text", "x"), Edge("ask", "write")], [BEFORE], id="a trigger holds not"),
        pytest.param([Edge("ask", "write", "action", "x", optional=True)], [BEFORE], id="optional"),
        pytest.param([Edge("ask", "write", "*"), Edge("write", "ask")], [BEFORE], id="round and round"),
    ],
)
def test_a_write_waits_for_every_question(edges: list[Edge], expected: list[str]) -> None:
    assert found(ASK, WRITE, TEXT, *edges) == expected


def test_what_sub_graphs_do_counts_where_they_are_run() -> None:
    asking, writing = Graph((ASK,)), Graph((WRITE,))
    nodes = (Node("w", "invoke", {"$board": "#writing"}), Node("a", "#asking"))
    graphs = {"asking": asking, "writing": writing}
    assert found(*nodes, Edge("w", "a"), graphs=graphs) == [
        "/nodes/0: Node 'w' (invoke) may write before node 'a' asks."
    ]
    assert found(*nodes, Edge("a", "w"), graphs=graphs) == []


def test_a_map_whose_items_ask_and_write_writes_one_item_before_it_asks_of_the_next() -> None:
    inner = Graph((ASK, WRITE), (Edge("ask", "write"),))
    asked = found(Node("all", "map", {"$board": "#inner", "items": [1]}), graphs={"inner": inner})
    assert asked == ["/nodes/0: Node 'all' (map) may write before node 'all' asks."]


def test_a_fault_within_a_sub_graph_has_its_place() -> None:
    inner = Graph((ASK, WRITE), (Edge("write", "ask"),))
    (asked,) = found(Node("it", "#inner"), graphs={"inner": inner})
    assert asked.startswith("/graphs/inner/nodes/1: ")


def test_a_graph_that_runs_itself_is_looked_at_once() -> None:
    inner = Graph((ASK, Node("again", "#inner")), (Edge("ask", "again"),))
    assert found(Node("it", "#inner"), graphs={"inner": inner}) == []
