"""Breadboard's firing rule, one case a line of it, at one node at a time and side by side."""

from typing import Any

import pytest
from servers.flow import KINDS, flow, kind

from jackfield.engine.engine import Engine
from jackfield.engine.runs import Run
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Graph
from jackfield.nodes.base import Context, Inputs, Outputs

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("concurrency", [1, None])]


async def give(inputs: Inputs, context: Context) -> Outputs:
    return dict(inputs)


async def count(inputs: Inputs, context: Context) -> Outputs:
    """Numbers from `n` down to 1, then nothing more."""
    return {"n": inputs["n"] - 1 or None, "v": inputs["n"]}


MORE = (*KINDS, kind("give", give), kind("count", count))


async def run(graph: Graph, concurrency: int | None, inputs: Inputs | None = None, **options: Any) -> Run:
    async with Engine(MORE) as engine:
        return await engine.run(graph, inputs or {}, max_concurrency=concurrency, component=False, **options)


def started(finished: Run) -> list[str]:
    return [event.node for event in finished.events if event.kind == "started"]


def values(finished: Run) -> list[Outputs]:
    return [outputs for _, outputs in finished.outputs]


async def test_a_node_waits_for_each_required_port(concurrency: int | None) -> None:
    graph = flow({"a": "make", "b": "make", "out": "output"}, "a.text -> out.a", "b.text -> out.b")
    assert values(await run(graph, concurrency)) == [{"a": "Hello, world!", "b": "Hello, world!"}]


async def test_each_firing_takes_one_value_of_each_port(concurrency: int | None) -> None:
    nodes = {"in": ("give", {"n": 3}), "left": "count", "right": "count", "out": "output"}
    loops = ("in.n -> left.n", "left.n -> left.n", "in.n -> right.n", "right.n -> right.n")
    graph = flow(nodes, *loops, "left.v -> out.left", "right.v -> out.right")
    assert values(await run(graph, concurrency)) == [{"left": n, "right": n} for n in (3, 2, 1)]


async def test_several_values_wait_at_a_port_in_order(concurrency: int | None) -> None:
    nodes = {"in": ("give", {"list": [1, 2, 3]}), "pop": "extract", "late": "make", "join": "join", "out": "output"}
    loop = ("in.list -> pop.list", "pop.list -> pop.list", "pop.text -> join.v")
    graph = flow(nodes, *loop, "late.text => join.k", "join.all -> out.all")
    assert [found["all"] for found in values(await run(graph, concurrency))] == [
        "k=Hello, world! v=1",
        "k=Hello, world! v=2",
        "k=Hello, world! v=3",
    ]


async def test_a_value_without_its_partner_waits(concurrency: int | None) -> None:
    nodes = {"in": ("give", {"n": 3}), "loop": "count", "once": "make", "out": "output"}
    graph = flow(nodes, "in.n -> loop.n", "loop.n -> loop.n", "loop.v -> out.v", "once.text -> out.text")
    finished = await run(graph, concurrency)
    assert values(finished)[0] == {"v": 3, "text": "Hello, world!"}
    assert sum(node == "out" for node in started(finished)) == 1


@pytest.mark.parametrize("value", ["", 0, False, [], {}])
async def test_a_falsy_value_travels(concurrency: int | None, value: Any) -> None:
    graph = flow({"a": ("give", {"x": value}), "out": "output"}, "a.x -> out.x")
    assert values(await run(graph, concurrency)) == [{"x": value}]


async def test_null_does_not_travel(concurrency: int | None) -> None:
    graph = flow({"a": ("give", {"x": None, "y": 1}), "out": "output"}, "a.x -> out.x", "a.y -> out.y")
    finished = await run(graph, concurrency)
    assert [str(stuck) for stuck in finished.stuck] == [
        "Node 'out' never fired: no value came to 'x'; waiting: 'y'.",
    ]
    assert finished.outputs == (("a", {"x": None, "y": 1}),)


async def test_a_configured_port_is_not_waited_for(concurrency: int | None) -> None:
    nodes = {"a": ("give", {"y": 1}), "out": ("output", {"x": "configured"})}
    graph = flow(nodes, "a.x -> out.x", "a.y -> out.y")
    assert values(await run(graph, concurrency))[0] == {"x": "configured", "y": 1}


async def test_a_wired_value_goes_over_the_configured_one(concurrency: int | None) -> None:
    nodes = {"a": ("give", {"x": "wired"}), "out": ("output", {"x": "configured"})}
    assert values(await run(flow(nodes, "a.x -> out.x"), concurrency)) == [{"x": "wired"}]


async def test_an_optional_edge_is_not_waited_for_but_used(concurrency: int | None) -> None:
    nodes = {"a": ("give", {"x": 1}), "b": ("give", {"y": 2}), "out": "output"}
    assert values(await run(flow(nodes, "a.x ?> out.x", "b.y -> out.y"), concurrency)) == [{"x": 1, "y": 2}]
    assert values(await run(flow(nodes, "a.no ?> out.x", "b.y -> out.y"), concurrency)) == [{"y": 2}]


async def test_a_node_with_optional_edges_only_fires_at_every_opportunity(concurrency: int | None) -> None:
    nodes = {"a": ("give", {"x": 1}), "b": ("give", {"y": 2}), "out": "output"}
    assert values(await run(flow(nodes, "a.x ?> out.x", "b.y ?> out.y"), concurrency)) == [{"x": 1, "y": 2}, {}]


async def test_a_constant_stays_for_every_firing(concurrency: int | None) -> None:
    nodes = {"k": ("give", {"k": "K"}), "in": ("give", {"n": 2}), "loop": "count", "out": "output"}
    graph = flow(nodes, "k.k => out.k", "in.n -> loop.n", "loop.n -> loop.n", "loop.v -> out.v")
    assert values(await run(graph, concurrency)) == [{"k": "K", "v": 2}, {"k": "K", "v": 1}]


async def test_a_later_constant_replaces_the_first(concurrency: int | None) -> None:
    nodes = {"in": ("give", {"n": 3}), "loop": "count", "k": "noop", "out": "output"}
    graph = flow(nodes, "in.n -> loop.n", "loop.v => out.k", "loop.v -> out.v", "loop.n -> loop.n")
    assert values(await run(graph, concurrency)) == [{"k": 3, "v": 3}, {"k": 2, "v": 2}, {"k": 1, "v": 1}]


async def test_a_control_edge_triggers_and_carries_nothing(concurrency: int | None) -> None:
    nodes = {"a": ("give", {"x": 1}), "b": ("give", {"y": 2}), "out": "output"}
    finished = await run(flow(nodes, "a -> b", "b.y -> out.y"), concurrency)
    assert (started(finished), values(finished)) == (["a", "b", "out"], [{"y": 2}])


async def test_two_control_edges_trigger_twice(concurrency: int | None) -> None:
    nodes = {"a": "make", "b": "make", "c": ("give", {"x": 1}), "out": "output"}
    assert values(await run(flow(nodes, "a -> c", "b -> c", "c.x -> out.x"), concurrency)) == [{"x": 1}, {"x": 1}]


async def test_a_control_edge_does_not_fire_a_node_that_lacks_values(concurrency: int | None) -> None:
    nodes = {"a": ("give", {"x": 1}), "b": "noop", "out": "output"}
    finished = await run(flow(nodes, "a -> out", "a.x -> b.x", "b.x -> out.x"), concurrency)
    assert values(finished) == [{"x": 1}]


async def test_an_edge_whose_value_is_absent_is_an_opportunity_all_the_same(concurrency: int | None) -> None:
    nodes = {"a": ("give", {"y": 2}), "out": ("output", {"x": "configured"})}
    graph = flow(nodes, "a.absent -> out.x")
    assert values(await run(graph, concurrency)) == [{"x": "configured"}]


async def test_a_wildcard_carries_every_output_but_null_and_what_begins_with_a_dollar(concurrency: int | None) -> None:
    nodes = {"a": ("give", {"x": 0, "y": "", "n": None, "$arguments": {"x": 0}}), "out": "output"}
    assert values(await run(flow(nodes, "a.* -> out"), concurrency)) == [{"x": 0, "y": ""}]


async def test_a_port_with_a_dollar_travels_by_its_own_edge(concurrency: int | None) -> None:
    nodes = {"a": ("give", {"$arguments": {"x": 0}}), "out": "output"}
    assert values(await run(flow(nodes, "a.$arguments -> out.all"), concurrency)) == [{"all": {"x": 0}}]


@pytest.mark.parametrize("failing", ["throw", "error", "refuse"])
async def test_a_caught_error_goes_to_its_edges_only(concurrency: int | None, failing: str) -> None:
    nodes = {"in": "make", "bad": failing, "out": "output", "never": "output"}
    graph = flow(nodes, "in.text -> bad.text", "bad.$error -> out.error", "bad.x -> never.x", "bad -> never")
    finished = await run(graph, concurrency)
    assert [node for node, _ in finished.outputs] == ["out"]
    caught = finished.values["error"]
    assert caught["kind"] == "error"
    assert caught["descriptor"]["id"] == "bad"
    assert caught["descriptor"]["type"] == failing
    assert caught["inputs"] == {"text": "Hello, world!"}
    assert "secret" not in repr(caught)


async def test_an_error_edge_does_not_fire_its_node_when_all_went_well(concurrency: int | None) -> None:
    nodes = {"a": "make", "caught": "output", "out": "output"}
    graph = flow(nodes, "a.$error -> caught.error", "a.text -> out.text")
    assert [node for node, _ in (await run(graph, concurrency)).outputs] == ["out"]


async def test_an_uncaught_exception_ends_the_run_and_hides_its_text(concurrency: int | None) -> None:
    graph = flow({"in": "make", "bad": "throw", "out": "output"}, "in.text -> bad.text", "bad.x -> out.x")
    with pytest.raises(JackfieldError) as caught:
        await run(graph, concurrency)
    assert caught.value.code is Code.INTERNAL_ERROR
    assert "Node 'bad' (throw) failed by a bug: ValueError" in caught.value.message
    assert "secret" not in str(caught.value.as_json())
    assert isinstance(caught.value.__cause__, ValueError)


async def test_an_uncaught_error_of_ours_keeps_its_code_and_gets_its_node(concurrency: int | None) -> None:
    graph = flow({"in": "make", "bad": "refuse", "out": "output"}, "in.text -> bad.text", "bad.x -> out.x")
    with pytest.raises(JackfieldError) as caught:
        await run(graph, concurrency)
    assert (caught.value.code, caught.value.details) == (Code.SOURCE_ERROR, {"node": "bad"})


async def test_an_uncaught_returned_error_ends_the_run(concurrency: int | None) -> None:
    graph = flow({"in": "make", "bad": "error", "out": "output"}, "in.text -> bad.text", "bad.x -> out.x")
    with pytest.raises(JackfieldError, match="Node 'bad' failed: it returned an error"):
        await run(graph, concurrency)


async def test_one_node_at_a_time_goes_in_breadboards_order(concurrency: int | None) -> None:
    """Opportunities are a queue: breadth first, in the order of the edges."""
    nodes = {**dict.fromkeys("cab", "make"), **dict.fromkeys("defg", "noop")}
    edges = ("a.text -> e.x", "c.text -> d.x", "b.text -> f.x", "d.x -> g.x", "e.x -> g.y")
    finished = await run(flow(nodes, *edges), concurrency)
    assert finished.outputs == (("g", {"x": "Hello, world!", "y": "Hello, world!"}),)
    if concurrency == 1:
        assert started(finished) == ["c", "a", "b", "d", "e", "f", "g"]


async def test_the_last_node_that_fired_gives_the_answer_when_no_output_does(concurrency: int | None) -> None:
    graph = flow({"a": "make", "b": "noop"}, "a.text -> b.text")
    assert (await run(graph, concurrency)).outputs == (("b", {"text": "Hello, world!"}),)


async def test_a_node_that_never_fired_says_what_is_missing_and_what_waits(concurrency: int | None) -> None:
    nodes = {"a": ("give", {"x": 1}), "out": "output", "after": "noop"}
    graph = flow(nodes, "a.x -> out.x", "a.typo -> out.y", "a.k => out.k", "out.x -> after.x")
    finished = await run(graph, concurrency)
    assert [(stuck.node, stuck.missing, stuck.waiting) for stuck in finished.stuck] == [
        ("out", ("k", "y"), ("x",)),
        ("after", ("x",), ()),
    ]


async def test_among_nodes_that_stand_alone_the_one_marked_start_runs(concurrency: int | None) -> None:
    nodes = {"a": "make", "b": "make", "c": "noop", "alone": ("give", {"v": 1})}
    graph = flow(nodes, "b.text -> c.text")
    marked = Graph(
        tuple(
            type(node)(node.id, node.type, node.configuration, {"start": True}) if node.id == "alone" else node
            for node in graph.nodes
        ),
        graph.edges,
    )
    assert started(await run(marked, concurrency)) == ["alone"]
    assert started(await run(graph, concurrency)) == ["b", "c"]
    assert started(await run(flow({"a": "make", "b": "make"}), concurrency)) == ["a"]


async def test_a_start_node_runs_whatever_it_needs(concurrency: int | None) -> None:
    graph = flow({"a": "make", "b": "noop", "out": "output"}, "a.text -> b.text", "b.text -> out.text", "b -> out")
    finished = await run(graph, concurrency, start="b")
    assert started(finished) == ["b"]
