"""Any concurrency gives the values of one at a time; races that arrival order would decide are decided by order."""

import random
from typing import Any

import anyio
import anyio.lowlevel
import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from servers.flow import KINDS, flow, kind

from jackfield.engine.engine import Engine
from jackfield.engine.runs import Fired
from jackfield.engine.scheduler import Ordered
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes.base import Context, Effect, Inputs, Outputs

Firing = tuple[str, str]
FIRINGS = 40


class Mixer:
    """A kind of node whose outputs are a function of its id and inputs: sometimes absent, sometimes an error.

    It lets other tasks run a random number of times first, so that the order of arrival is random.
    """

    def __init__(self, seed: int, longest: int, failing: float = 0.04) -> None:
        self.random = random.Random(seed)
        self.longest = longest
        self.failing = failing
        self.firings: list[Firing] = []
        self.writes: list[Firing] = []
        self.kinds = (*KINDS, kind("mix", self.mix), kind("write", self.write, Effect.WRITES))

    async def write(self, inputs: Inputs, context: Context) -> Outputs:
        self.writes.append((context.node, repr(sorted(inputs.items()))))
        return await self.mix(inputs, context)

    async def mix(self, inputs: Inputs, context: Context) -> Outputs:
        shown = repr(sorted((port, value) for port, value in inputs.items() if port != "$error"))
        self.firings.append((context.node, shown))
        for _ in range(self.random.randint(0, self.longest)):
            await anyio.lowlevel.checkpoint()
        digest = random.Random(context.node + shown)
        if digest.random() < self.failing:
            raise JackfieldError(Code.SOURCE_ERROR, "by chance")
        return {port: digest.randrange(1000) for port in ("x", "y") if digest.random() < 0.9}


PORTS = st.sampled_from(["x", "y"])


SHAPES = st.sampled_from(["data"] * 8 + ["optional", "constant", "wildcard", "control", "error"])


@st.composite
def edges(draw: st.DrawFn, from_: str, to: str) -> Edge:
    shape = draw(SHAPES)
    if shape == "control":
        return Edge(from_, to)
    if shape == "wildcard":
        return Edge(from_, to, "*")
    if shape == "error":
        return Edge(from_, to, "$error", "$error")
    return Edge(from_, to, draw(PORTS), draw(PORTS), optional=shape == "optional", constant=shape == "constant")


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Graphs of every kind of edge, some with loops; at least one node has nothing above it."""
    ids = [f"n{number}" for number in range(draw(st.integers(3, 8)))]
    entries = draw(st.integers(1, 2))
    kinds = ["mix"] * 6 + ["output", "output", "write"]
    configured = st.sampled_from([{}, {}, {}, {"x": -1}])
    nodes = [
        Node(name, "mix" if place < entries else draw(st.sampled_from(kinds)), draw(configured))
        for place, name in enumerate(ids)
    ]
    found: list[Edge] = []
    for place in range(entries, len(ids)):
        sources = draw(st.lists(st.sampled_from(ids[:place]), min_size=1, max_size=3))
        found.extend([draw(edges(source, ids[place])) for source in sources])
        if draw(st.integers(0, 3)) == 0:
            found.append(draw(edges(draw(st.sampled_from(ids)), ids[place])))
    return Graph(tuple(nodes), tuple(draw(st.permutations(found))))


@st.composite
def funnels(draw: st.DrawFn) -> Graph:
    """Graphs without anything that order could matter to: each port has one edge, and all lead to one output."""
    count = draw(st.integers(2, 8))
    nodes = [*[Node(f"n{place}", "mix") for place in range(count)], Node("out", "output")]
    found: list[Edge] = []
    for place in range(count):
        later = st.integers(place + 1, count)
        targets = draw(st.sets(later, min_size=1, max_size=2))
        found.extend([Edge(f"n{place}", nodes[target].id, draw(PORTS), f"from_{place}") for target in targets])
    return Graph(tuple(nodes), tuple(draw(st.permutations(found))))


Outcome = tuple[Any, list[Firing]]


def outcome(graph: Graph, concurrency: int | None, seed: int, component: bool, failing: float = 0.04) -> Outcome:
    """What came out, what never fired, every firing with its inputs (of a whole run); and all writes in order."""
    mixer = Mixer(seed, 0 if concurrency == 1 else 7, failing)

    async def main() -> Outcome:
        async with Engine(mixer.kinds) as engine:
            try:
                run = await engine.run(graph, {}, max_concurrency=concurrency, component=component, max_firings=FIRINGS)
            except JackfieldError:
                return None, mixer.writes
            firings = () if component else tuple(sorted(mixer.firings))
            return (run.outputs, run.stuck, firings), mixer.writes

    return anyio.run(main)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(graphs(), funnels()), st.integers(0, 1000), st.booleans())
def test_any_concurrency_gives_the_values_of_one_at_a_time(graph: Graph, seed: int, component: bool) -> None:
    alone, writes = outcome(graph, 1, seed, component)
    for concurrency in (2, 8, None):
        values, written = outcome(graph, concurrency, seed, component)
        assert values == alone
        assert written == (writes if alone else writes[: len(written)])  # a failure may come earlier, a write may not


class ByArrival(Ordered):
    """The wrong scheduler that the property must tell from ours: whatever has arrived decides."""

    async def run(self) -> Fired:
        async with anyio.create_task_group() as group:

            async def fire(node: int, inputs: Inputs) -> None:
                self._firings += 1
                if self._firings > FIRINGS:
                    raise JackfieldError(Code.BUDGET_EXCEEDED, "It went on and on.")
                outputs = await self._execution.fire(node, inputs)
                if self._plan.is_output[node]:
                    self._outputs.append((self._plan.ids[node], outputs))
                for to in self._queues.deliver(node, outputs):
                    if self._queues.ready(to):
                        group.start_soon(fire, to, self._queues.take(to))

            for entry in self._plan.entries:
                group.start_soon(fire, entry, self._queues.take(entry))
        return self._outputs


def test_the_property_catches_a_scheduler_that_goes_by_arrival(monkeypatch: pytest.MonkeyPatch) -> None:
    def differs(graph: Graph) -> bool:
        first, second = (outcome(graph, None, seed, False, failing=0)[0] for seed in (1, 2))
        return bool(first != second)

    calm = settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    monkeypatch.setattr("jackfield.engine.execution.Ordered", ByArrival)
    assert find(graphs(), differs, settings=calm)


async def give(inputs: Inputs, context: Context) -> Outputs:
    for _ in range(inputs["after"]):
        await anyio.lowlevel.checkpoint()
    return {port: value for port, value in inputs.items() if port != "after"}


def race(name: str, a_after: int, b_after: int) -> Graph:
    """Two nodes that end in either order, above a node where that could matter."""
    a = ("give", {"x": "from a", "after": a_after})
    b = ("give", {"x": "from b", "y": "b", "after": b_after})
    below = {"j": "join", "out": "output"}
    match name:
        case "a wired port that is also configured":
            edges = ("a.x -> j.x", "b.y -> j.y")
            return flow({"a": a, "b": b, **below, "j": ("join", {"x": "configured"})}, *edges, "j.all -> out.all")
        case "an optional edge":
            return flow({"a": a, "b": b, **below}, "a.x ?> j.x", "b.y -> j.y", "j.all -> out.all")
        case "two edges into one port":
            return flow({"a": a, "b": b, **below}, "a.x -> j.x", "b.x -> j.x", "j.all -> out.all")
        case _:
            items = {"list": [{"after": a_after, "v": 1}, {"after": b_after, "v": 2}], "after": 0}
            nodes: dict[str, Any] = {"in": ("give", items), "pop": "extract", "work": "give", "out": "output"}
            steps = ("in.list -> pop.list", "pop.list -> pop.list", "pop.text -> unpack.item")
            return flow({**nodes, "unpack": "unpack"}, *steps, "unpack.* -> work", "work.v -> out.v")


async def unpack(inputs: Inputs, context: Context) -> Outputs:
    return dict(inputs["item"])


RACES = ("a wired port that is also configured", "an optional edge", "two edges into one port", "a loop")


async def ended(graph: Graph, concurrency: int | None) -> Any:
    async with Engine((*KINDS, kind("give", give), kind("unpack", unpack))) as engine:
        run = await engine.run(graph, {}, max_concurrency=concurrency, component=False)
        return run.outputs


@pytest.mark.anyio
@pytest.mark.parametrize("name", RACES)
async def test_timing_does_not_decide(name: str) -> None:
    ways = [race(name, 0, 30), race(name, 30, 0)]
    answers = [await ended(graph, concurrency) for graph in ways for concurrency in (1, 2, None)]
    assert answers[0]
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.anyio
@pytest.mark.parametrize("name", RACES)
async def test_timing_decides_where_arrival_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the races are races, and the test above can fail."""
    monkeypatch.setattr("jackfield.engine.execution.Ordered", ByArrival)
    assert await ended(race(name, 0, 30), None) != await ended(race(name, 30, 0), None)


@pytest.mark.anyio
async def test_nodes_that_do_not_depend_on_each_other_run_side_by_side() -> None:
    met = [anyio.Event(), anyio.Event()]

    async def meet(inputs: Inputs, context: Context) -> Outputs:
        mine, other = (0, 1) if context.node == "a" else (1, 0)
        met[mine].set()
        await met[other].wait()
        return {"v": context.node}

    graph = flow({"a": "meet", "b": "meet", "out": "output"}, "a.v -> out.a", "b.v -> out.b")
    ordered = flow({"a": "meet", "b": "meet", "out": "output"}, "a.v ?> out.a", "b.v -> out.b")
    async with Engine((*KINDS, kind("meet", meet))) as engine:
        with anyio.fail_after(5):
            assert (await engine.run(graph, {})).values == {"a": "a", "b": "b"}
            met[:] = [anyio.Event(), anyio.Event()]
            assert (await engine.run(ordered, {})).values == {"b": "b", "a": "a"}


@pytest.mark.anyio
@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_no_more_nodes_run_at_once_than_allowed(limit: int) -> None:
    running = 0
    most = 0

    async def count(inputs: Inputs, context: Context) -> Outputs:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await anyio.lowlevel.checkpoint()
        running -= 1
        return {"v": 1}

    names = [f"n{number}" for number in range(8)]
    nodes: dict[str, Any] = {**dict.fromkeys(names, "count"), "out": "output"}
    async with Engine((*KINDS, kind("count", count))) as engine:
        for arrow in ("->", "?>"):
            most = 0
            graph = flow(nodes, *[f"{name}.v {arrow} out.{name}" for name in names])
            await engine.run(graph, {}, max_concurrency=limit, component=False)
            assert most == limit


@pytest.mark.anyio
async def test_a_write_waits_until_all_before_it_has_succeeded() -> None:
    async def slow(inputs: Inputs, context: Context) -> Outputs:
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        raise JackfieldError(Code.SOURCE_ERROR, "too bad")

    written: list[str] = []

    async def write(inputs: Inputs, context: Context) -> Outputs:
        written.append(context.node)
        return {"done": True}

    graph = flow({"read": "slow", "save": "write", "out": "output"}, "read.v -> out.v", "save.done -> out.done")
    async with Engine((*KINDS, kind("slow", slow), kind("write", write, Effect.WRITES))) as engine:
        with pytest.raises(JackfieldError, match="too bad"):
            await engine.run(graph, {})
    assert written == []


@pytest.mark.anyio
async def test_a_failure_that_no_output_can_survive_ends_the_run_at_once() -> None:
    async def fail(inputs: Inputs, context: Context) -> Outputs:
        raise JackfieldError(Code.SOURCE_ERROR, "too bad")

    async def wait(inputs: Inputs, context: Context) -> Outputs:
        await anyio.sleep_forever()
        return {}

    kinds = (*KINDS, kind("fail", fail), kind("wait", wait), kind("write", fail, Effect.WRITES))
    nodes = {"slow": "wait", "quick": "fail", "out": "output", "save": "write"}
    edges = ("slow.v -> save.a", "quick.v -> save.b", "save.v -> out.v")
    async with Engine(kinds) as engine:
        with anyio.fail_after(5), pytest.raises(JackfieldError, match="too bad"):
            await engine.run(flow(nodes, *edges), {})


@pytest.mark.anyio
async def test_a_failure_after_the_first_output_does_not_happen() -> None:
    """In order the run ends before it; so it does however early the failure comes."""
    nodes = {"a": "make", "b": "make", "out": "output", "slow": "noop", "bad": "throw"}
    graph = flow(nodes, "a.text -> out.text", "b.text -> slow.text", "slow.text -> bad.text")
    async with Engine(KINDS) as engine:
        for concurrency in (1, 2, None):
            run = await engine.run(graph, {}, max_concurrency=concurrency)
            assert run.values == {"text": "Hello, world!"}


@pytest.mark.anyio
async def test_a_loop_without_an_end_is_stopped_and_leaves_others_their_turns() -> None:
    graph = flow({"a": "make", "b": "noop"}, "a.text -> b.text", "b.text -> b.text")
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with Engine(KINDS) as engine, anyio.create_task_group() as group:
        group.start_soon(count_turns)
        for concurrency in (1, 4):
            before = turns
            with pytest.raises(JackfieldError) as caught:
                await engine.run(graph, {}, max_concurrency=concurrency, max_firings=5000)
            assert caught.value.code is Code.BUDGET_EXCEEDED
            assert caught.value.details["node"] == "b"
            assert turns - before > 10
        group.cancel_scope.cancel()


@pytest.mark.anyio
@pytest.mark.parametrize("arrow", ["->", "?>"], ids=["swift", "ordered"])
async def test_a_long_chain_needs_no_recursion(arrow: str) -> None:
    names = [f"n{number}" for number in range(1500)]
    nodes: dict[str, Any] = {"a": "make", **dict.fromkeys(names, "noop"), "out": "output"}
    links = [f"{one}.text -> {other}.text" for one, other in zip(["a", *names], [*names, "out"], strict=True)]
    links[0] = links[0].replace("->", arrow)
    async with Engine(KINDS) as engine:
        assert (await engine.run(flow(nodes, *links), {})).values == {"text": "Hello, world!"}


@pytest.mark.anyio
async def test_ten_thousand_nodes_in_layers_run() -> None:
    layers, width = 100, 100
    ids = [[f"n{layer}_{place}" for place in range(width)] for layer in range(layers)]
    edges = [
        Edge(ids[layer - 1][(place + step) % width], ids[layer][place], "n", f"p{step}")
        for layer in range(1, layers)
        for place in range(width)
        for step in (0, 1)
    ]
    ends = [Edge(name, "out", "n", name) for name in ids[-1]]

    async def count(inputs: Inputs, context: Context) -> Outputs:
        return {"n": 1 + max(inputs.values(), default=0)}

    nodes = [*[Node(name, "count") for layer in ids for name in layer], Node("out", "output")]
    async with Engine((*KINDS, kind("count", count))) as engine:
        run = await engine.run(Graph(tuple(nodes), (*edges, *ends)), {})
    assert set(run.values.values()) == {layers}
