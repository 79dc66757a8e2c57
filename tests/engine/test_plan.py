"""Plans: what is refused, what may run when, and that a large graph compiles fast."""

from typing import Any

import pytest
from servers.flow import KINDS, flow, kind

from jackfield.engine.plan import Plan, compiled
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes.base import Context, Effect, Inputs, NoConfiguration, Outputs, Port, node


async def nothing(inputs: Inputs, context: Context) -> Outputs:
    return {}


@node(
    "add",
    description="Adds two numbers.",
    configuration=NoConfiguration,
    inputs=(Port("a"), Port("b")),
    outputs=(Port("sum"),),
)
async def add(config: NoConfiguration, inputs: Inputs, context: Context) -> Outputs:
    return {"sum": inputs["a"] + inputs["b"]}


ALL = (*KINDS, add, kind("read", nothing, Effect.READS), kind("write", nothing, Effect.WRITES))
BY_NAME = {one.name: one for one in ALL}


def plan(graph: Graph) -> Plan:
    return compiled(graph, BY_NAME)


def refused(graph: Graph, start: str = "") -> JackfieldError:
    with pytest.raises(JackfieldError) as caught:
        compiled(graph, BY_NAME, start)
    assert caught.value.code is Code.CONFIG_INVALID
    return caught.value


def eager(graph: Graph) -> set[str]:
    made = plan(graph)
    return {name for name, now in zip(made.ids, made.eager, strict=True) if now}


def test_an_unknown_kind_is_refused_with_the_near_name() -> None:
    error = refused(flow({"a": "mkae"}))
    assert str(error) == "Node 'a' is of kind 'mkae', which does not exist. Did you mean 'make'?"


def test_an_edge_to_nowhere_is_refused_with_the_near_name() -> None:
    error = refused(flow({"orders": "make", "out": "output"}, "order.text -> out.text"))
    assert str(error) == "An edge goes from 'order', which is no node of this graph. Did you mean 'orders'?"
    assert "goes to 'otu'" in refused(flow({"a": "make", "out": "output"}, "a.text -> otu.text")).message


def test_two_nodes_with_one_id_are_refused() -> None:
    assert refused(Graph((Node("a", "make"), Node("a", "noop")))).message == "Two nodes have the id 'a'."


def test_a_graph_that_nothing_can_start_is_refused() -> None:
    assert (
        "each has an incoming edge ('a', 'b')" in refused(flow({"a": "noop", "b": "noop"}, "a -> b", "b -> a")).message
    )
    assert refused(Graph()).message == "The graph has no nodes."
    assert "no node 'c' to start from" in refused(flow({"a": "make"}), start="c").message


def test_a_configuration_that_does_not_fit_is_refused_before_anything_runs() -> None:
    assert "Node 'a' (add): configuration 'c'" in refused(flow({"a": ("add", {"c": 1})})).message


def test_a_funnel_without_writes_is_simple() -> None:
    nodes: dict[str, Any] = {"a": "make", "b": "read", "j": "join", "out": "output"}
    edges = ("a.text -> j.a", "b.v -> j.b", "j.all -> out.all")
    assert plan(flow(nodes, *edges)).simple
    assert not plan(flow({**nodes, "side": "noop"}, *edges, "a.text -> side.text")).simple
    assert not plan(flow({**nodes, "b": "write"}, *edges)).simple
    assert not plan(flow({**nodes, "more": "output"}, *edges, "j.all -> more.all")).simple
    assert plan(flow({"a": "make", "out": "output"}, "a.text -> out.text")).linear


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        ({}, ("a.x ?> j.x",)),
        ({}, ("a.x => j.x",)),
        ({}, ("a.* -> j",)),
        ({}, ("a.x -> j.x", "b.x -> j.x")),
        ({}, ("a -> j", "b -> j")),
        ({}, ("a.x -> j.x", "j.x -> j.y")),
        ({"j": ("join", {"x": 1})}, ("a.x -> j.x",)),
        ({"j": "write"}, ("a.x -> j.x",)),
    ],
    ids=["optional", "constant", "wildcard", "one port", "two controls", "loop", "configured", "writes"],
)
def test_where_order_matters_a_node_and_all_below_it_take_their_turn(
    nodes: dict[str, Any], edges: tuple[str, ...]
) -> None:
    base = {"a": "make", "b": "make", "j": "join", "k": "noop", "m": "noop"}
    assert eager(flow({**base, **nodes}, *edges, "j.all -> k.x", "a.text -> m.x")) == {"a", "b", "m"}


def test_a_node_that_runs_a_writing_sub_graph_takes_its_turn() -> None:
    inner = flow({"in": "input", "w": "write"}, "in -> w")
    outer = flow({"in": "input", "deep": "#inner"}, "in -> deep")
    graph = flow(
        {"in": "input", "part": "#outer", "r": "read"}, "in -> part", "in -> r", graphs={"outer": outer, "inner": inner}
    )
    assert eager(graph) == {"in", "r"}


def test_ten_thousand_nodes_compile_without_recursion() -> None:
    width, layers = 100, 100
    ids = [[f"n{layer}_{place}" for place in range(width)] for layer in range(layers)]
    nodes = [Node(name, "add" if layer else "make") for layer, row in enumerate(ids) for name in row]
    edges = [
        Edge(ids[layer - 1][(place + step) % width], ids[layer][place], "sum", port)
        for layer in range(1, layers)
        for place in range(width)
        for step, port in enumerate("ab")
    ]
    made = plan(Graph(tuple(nodes), tuple(edges)))
    assert (len(made.ids), sum(map(len, made.wires))) == (10_000, 19_800)
