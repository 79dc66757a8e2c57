"""Runs as their callers see them: deadlines, cancellation, nesting, what a node's context holds."""

import asyncio
import gc
import weakref
from contextvars import copy_context
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from servers.flow import KINDS, flow, kind

from jackfield.engine.context import current
from jackfield.engine.engine import Engine, Settings
from jackfield.engine.environment import Environment
from jackfield.engine.events import Event
from jackfield.engine.pools import PoolSettings
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Graph
from jackfield.nodes.base import ARGUMENTS, Context, Effect, Inputs, Outputs
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio


class Waiter:
    """A kind of node that waits for ever, and tells when it began and when it was cancelled."""

    def __init__(self) -> None:
        self.began = anyio.Event()
        self.cancelled = anyio.Event()

    async def __call__(self, inputs: Inputs, context: Context) -> Outputs:
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()
        return {}


WAIT = flow({"in": "make", "slow": "wait", "out": "output"}, "in.text -> slow.text", "slow.v -> out.v")
SIDE_BY_SIDE = flow({"a": "wait", "b": "wait", "out": "output"}, "a.v -> out.a", "b.v -> out.b")


@pytest.mark.parametrize("concurrency", [1, None])
async def test_a_run_ends_at_its_deadline(concurrency: int | None) -> None:
    waiter = Waiter()
    async with Engine((*KINDS, kind("wait", waiter))) as engine:
        with anyio.fail_after(5), pytest.raises(JackfieldError) as caught:
            await engine.run(WAIT, {}, timeout_s=0.05, max_concurrency=concurrency)
    assert caught.value.code is Code.QUERY_TIMEOUT
    assert waiter.cancelled.is_set()


class Large:
    """Something that came in, which can be watched."""


async def test_a_run_that_is_over_holds_nothing_of_what_came_in_though_a_timer_does_of_it() -> None:
    contexts = []

    async def time(inputs: Inputs, context: Context) -> Outputs:
        contexts.append(copy_context())  # as each timer keeps, also when it was cancelled
        return {"v": 1}

    large = Large()
    watched = weakref.ref(large)
    graph = flow({"in": "input", "slow": "time", "out": "output"}, "in.a -> slow.a", "slow.v -> out.v")
    async with Engine((*KINDS, kind("time", time))) as engine:
        await engine.run(graph, {"a": large}, timeout_s=600)
        del large
        gc.collect()
        assert watched() is None
    assert contexts


async def test_a_run_ends_soon_after_its_deadline_even_if_a_node_does_not_stop() -> None:
    release = anyio.Event()

    async def deaf(inputs: Inputs, context: Context) -> Outputs:
        with anyio.CancelScope(shield=True):
            await release.wait()
        return {}

    async with Engine((*KINDS, kind("wait", deaf))) as engine:
        began = anyio.current_time()
        with pytest.raises(JackfieldError) as caught:
            await engine.run(WAIT, {}, timeout_s=0.1)
        assert anyio.current_time() - began < 1.1
        with anyio.move_on_after(0.1) as scope:
            await engine.run(WAIT, {})
        assert scope.cancelled_caught
        assert anyio.current_time() - began < 2.2
        release.set()
    assert caught.value.code is Code.QUERY_TIMEOUT


@pytest.mark.parametrize("graph", [WAIT, SIDE_BY_SIDE], ids=["chain", "side by side"])
async def test_a_cancelled_caller_leaves_nothing_running(graph: Graph) -> None:
    waiter = Waiter()
    async with Engine((*KINDS, kind("wait", waiter))) as engine:
        before = asyncio.all_tasks()
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(engine.run, graph, {})
                await waiter.began.wait()
                group.cancel_scope.cancel()
        assert waiter.cancelled.is_set()
        assert asyncio.all_tasks() == before


async def test_a_cancelled_run_gives_back_what_it_leased() -> None:
    holding = anyio.Event()
    closed: list[str] = []

    async def connect() -> str:
        return "connection"

    async def close(connection: str) -> None:
        closed.append(connection)

    async def hold(inputs: Inputs, context: Context) -> Outputs:
        async with context.pools.lease("db", connect, close):
            holding.set()
            await anyio.sleep_forever()
        return {}

    async with Engine((*KINDS, kind("wait", hold)), Settings(pools=PoolSettings(size=1))) as engine:
        async with anyio.create_task_group() as group:
            group.start_soon(engine.run, WAIT, {})
            await holding.wait()
            group.cancel_scope.cancel()
        assert closed == ["connection"]
        with anyio.fail_after(1):
            async with engine.pools.lease("db", connect, close):
                assert engine.pools.idle("db") == 0


async def test_a_failure_that_cuts_off_a_write_tells_of_it() -> None:
    writing = anyio.Event()

    async def write(inputs: Inputs, context: Context) -> Outputs:
        writing.set()
        await anyio.sleep_forever()
        return {}

    async def call(inputs: Inputs, context: Context) -> Outputs:
        return await context.call_tool("save", {})

    async def fail(inputs: Inputs, context: Context) -> Outputs:
        await writing.wait()
        raise JackfieldError(Code.SOURCE_ERROR, "too bad")

    kinds = (*KINDS, kind("call", call), kind("fail", fail), kind("write", write, Effect.WRITES))

    async def resolve(name: str) -> tuple[Graph, Environment]:
        return flow({"w": "write"}), Environment()

    environment = Environment(resolve=resolve)
    graph = flow({"c": "call", "f": "fail", "out": "output"}, "c.v -> out.c", "f.v -> out.f")
    async with Engine(kinds) as engine:
        with anyio.fail_after(5), pytest.raises(JackfieldError, match="too bad") as caught:
            await engine.run(graph, {}, environment=environment)
    assert caught.value.details == {"node": "f", "outcome_unknown": ["c/w"]}


async def test_closing_the_engine_ends_its_runs_with_an_error() -> None:
    waiter = Waiter()
    errors: list[JackfieldError] = []

    async with anyio.create_task_group() as group:
        engine = Engine((*KINDS, kind("wait", waiter)))

        async def ask() -> None:
            try:
                await engine.run(WAIT, {})
            except JackfieldError as error:
                errors.append(error)

        async with engine:
            group.start_soon(ask)
            await waiter.began.wait()
    assert [error.code for error in errors] == [Code.CANCELLED]


async def test_an_error_raised_because_of_the_cancellation_does_not_replace_it() -> None:
    async def complain(inputs: Inputs, context: Context) -> Outputs:
        try:
            await anyio.sleep_forever()
        except BaseException:
            raise RuntimeError("the driver says: cancelled") from None
        return {}

    async with Engine((*KINDS, kind("wait", complain))) as engine:
        with pytest.raises(JackfieldError) as caught:
            await engine.run(WAIT, {}, timeout_s=0.05)
        assert caught.value.code is Code.QUERY_TIMEOUT
        with anyio.move_on_after(0.05) as scope:
            await engine.run(SIDE_BY_SIDE, {})
        assert scope.cancelled_caught


async def test_a_node_whose_own_work_was_cancelled_has_failed() -> None:
    async def lose(inputs: Inputs, context: Context) -> Outputs:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task
        return {}

    async with Engine((*KINDS, kind("wait", lose))) as engine:
        for graph in (WAIT, SIDE_BY_SIDE):
            with anyio.fail_after(5), pytest.raises(JackfieldError, match="was cancelled, but not by its run"):
                await engine.run(graph, {})


async def test_a_write_cut_off_has_an_unknown_outcome() -> None:
    waiter = Waiter()
    graph = flow({"in": "make", "save": "write", "out": "output"}, "in.text -> save.text", "save.v -> out.v")
    kinds = (*KINDS, kind("write", waiter, Effect.WRITES))
    events: list[Event] = []
    async with Engine(kinds) as engine:
        with pytest.raises(JackfieldError) as caught:
            await engine.run(graph, {}, timeout_s=0.05, listener=events.append)
    assert caught.value.code is Code.OUTCOME_UNKNOWN
    assert caught.value.details == {"node": "save", "cause": "QUERY_TIMEOUT"}
    assert [event.node for event in events if event.kind == "outcome_unknown"] == ["save"]


async def test_a_write_that_says_how_it_ended_is_believed() -> None:
    async def roll_back(inputs: Inputs, context: Context) -> Outputs:
        try:
            await anyio.sleep_forever()
        except BaseException:
            raise JackfieldError(Code.QUERY_TIMEOUT, "Rolled back.") from None
        return {}

    graph = flow({"in": "make", "save": "write", "out": "output"}, "in.text -> save.text", "save.v -> out.v")
    async with Engine((*KINDS, kind("write", roll_back, Effect.WRITES))) as engine:
        with pytest.raises(JackfieldError, match=r"Rolled back\."):
            await engine.run(graph, {}, timeout_s=0.05)


async def test_one_error_comes_out_of_many_the_first_in_order() -> None:
    names = "abc"
    failing = {name: anyio.Event() for name in names}

    async def fail(inputs: Inputs, context: Context) -> Outputs:
        failing[context.node].set()
        for event in failing.values():
            await event.wait()
        raise JackfieldError(Code.SOURCE_ERROR, f"{context.node} failed")

    nodes = {**dict.fromkeys(names, "fail"), "out": "output"}
    graph = flow(nodes, *[f"{name}.v -> out.{name}" for name in reversed(names)])
    async with Engine((*KINDS, kind("fail", fail))) as engine:
        with anyio.fail_after(5), pytest.raises(JackfieldError) as caught:
            await engine.run(graph, {})
    assert caught.value.details["node"] == "a"


async def test_a_context_says_where_its_node_is(tmp_path: Path) -> None:
    seen: list[Any] = []

    async def look(inputs: Inputs, context: Context) -> Outputs:
        assert current() is context
        seen.append((context.node, context.connector, context.folder, context.principal, context.fresh))
        seen.append((context.idempotency_key, context.deadline < float("inf"), len(context.run_id)))
        return {}

    environment = Environment("shop", tmp_path)
    async with Engine((*KINDS, kind("look", look))) as engine:
        await engine.run(
            flow({"a": "look"}),
            {},
            environment=environment,
            principal="ann",
            fresh=True,
            idempotency_key="k1",
            timeout_s=60,
        )
    assert seen == [("a", "shop", tmp_path, "ann", True), ("k1", True, 16)]
    with pytest.raises(LookupError):
        current()


async def test_the_context_of_a_node_is_its_own_again_after_a_nested_graph() -> None:
    async def nest(inputs: Inputs, context: Context) -> Outputs:
        outputs = await context.invoke(flow({"in": "input", "out": "output"}, "in.* -> out"), {"x": 1})
        assert current() is context
        return outputs

    async with Engine((*KINDS, kind("nest", nest))) as engine:
        run = await engine.run(flow({"a": "nest", "out": "output"}, "a.x -> out.x"), {})
    assert run.values == {"x": 1}
    assert [event.node for event in run.events if event.kind == "finished"] == ["a/in", "a/out", "a", "out"]


async def test_a_graph_that_calls_itself_is_stopped() -> None:
    async def again(inputs: Inputs, context: Context) -> Outputs:
        return await context.invoke(flow({"a": "again"}), {})

    async with Engine((*KINDS, kind("again", again))) as engine:
        with pytest.raises(JackfieldError) as caught:
            await engine.run(flow({"a": "again"}), {})
    assert caught.value.code is Code.BUDGET_EXCEEDED
    assert "more than 64 deep" in caught.value.message


async def test_a_sub_graph_that_calls_itself_side_by_side_is_stopped() -> None:
    """Each doubles: side by side they would be too many long before they are too deep."""
    ends = ("a.x -> out.a", "b.x -> out.b")
    part = flow({"in": "input", "a": "#part", "b": "#part", "out": "output"}, "in.x -> a.x", "in.x -> b.x", *ends)
    graph = flow({"in": "input", "a": "#part"}, "in.x -> a.x", graphs={"part": part})
    async with Engine(KINDS) as engine:
        for concurrency in (1, 2, None):
            with pytest.raises(JackfieldError) as caught:
                await engine.run(graph, {"x": 1}, max_concurrency=concurrency)
            assert caught.value.code is Code.BUDGET_EXCEEDED
            assert caught.value.hint == "A graph that calls itself must have a way to end."


async def test_a_called_tool_runs_in_its_own_environment() -> None:
    seen: list[str] = []

    async def look(inputs: Inputs, context: Context) -> Outputs:
        seen.append(f"{context.connector}: {context.node}")
        return {"x": inputs["x"]}

    async def call(inputs: Inputs, context: Context) -> Outputs:
        return await context.call_tool("geo/locate", {"x": 5})

    tool = flow({"in": "input", "look": "look", "out": "output"}, "in.x -> look.x", "look.x -> out.x")

    async def resolve(name: str) -> tuple[Graph, Environment]:
        assert name == "geo/locate"
        return tool, Environment("geo")

    async with Engine((*KINDS, kind("look", look), kind("call", call))) as engine:
        graph = flow({"c": "call", "out": "output"}, "c.x -> out.x")
        run = await engine.run(graph, {}, environment=Environment("shop", resolve=resolve))
        assert run.values == {"x": 5}
        assert seen == ["geo: c/look"]
        with pytest.raises(JackfieldError) as caught:
            await engine.run(graph, {})
    assert caught.value.code is Code.TOOL_NOT_FOUND


async def test_a_called_tool_does_not_see_its_callers_inputs() -> None:
    async def call(inputs: Inputs, context: Context) -> Outputs:
        return await context.call_tool("needy", {})

    schema = {"schema": {"type": "object", "properties": {"password": {"type": "string"}}, "required": ["password"]}}
    needy = flow({"in": ("input", schema), "out": "output"}, "in.password -> out.password")
    graph = flow({"in": "input", "c": "call", "out": "output"}, "in -> c", "c.password -> out.password")

    async def resolve(name: str) -> tuple[Graph, Environment]:
        return needy, Environment()

    environment = Environment(resolve=resolve)
    async with Engine((*KINDS, kind("call", call))) as engine:
        with pytest.raises(JackfieldError) as caught:
            await engine.run(graph, {"password": "mine"}, environment=environment)
    assert caught.value.code is Code.VALIDATION_MISSING_FIELD


async def test_missing_inputs_are_asked_of_the_provider() -> None:
    schema = {"schema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}
    asked: list[tuple[str, tuple[str, ...]]] = []

    async def provide(node: str, schema: Any, missing: tuple[str, ...]) -> dict[str, Any]:
        asked.append((node, missing))
        return {"name": "Ann"}

    graph = flow({"in": ("input", schema), "out": "output"}, "in.name -> out.name")
    async with Engine(KINDS) as engine:
        assert (await engine.run(graph, {}, input_provider=provide)).values == {"name": "Ann"}
        assert (await engine.run(graph, {"name": "Bo"}, input_provider=provide)).values == {"name": "Bo"}
    assert asked == [("in", ("name",))]


async def test_the_arguments_travel_as_one_object() -> None:
    graph = flow({"in": "input", "out": "output"}, f"in.{ARGUMENTS} -> out.all")
    async with Engine(KINDS) as engine:
        assert (await engine.run(graph, {"a": 1})).values == {"all": {"a": 1}}


async def test_a_stream_that_nobody_read_is_closed_at_the_end() -> None:
    closed: list[str] = []

    async def stream(inputs: Inputs, context: Context) -> Outputs:
        reader = Table.from_rows([{"x": 1}]).reader()
        return {"rows": Table.stream(reader, close=lambda: closed.append(context.node))}

    graph = flow({"s": "stream", "out": "output"}, "s -> out")
    async with Engine((*KINDS, kind("stream", stream))) as engine:
        await engine.run(graph, {})
    assert closed == ["s"]


async def test_a_table_may_stream_only_to_one_consumer_that_runs_once() -> None:
    seen: dict[str, bool] = {}

    async def look(inputs: Inputs, context: Context) -> Outputs:
        seen[context.node] = context.streams
        return {"rows": 1}

    nodes = dict.fromkeys("abcdef", "look")
    edges = ("a.rows -> c.x", "b.rows -> c.y", "b.rows -> d.x", "c.rows => e.x", "d.rows -> f.x", "e.rows -> out.rows")
    async with Engine((*KINDS, kind("look", look))) as engine:
        await engine.run(flow({**nodes, "out": "output"}, *edges), {}, component=False)
    assert seen == {"a": True, "b": False, "c": False, "d": True, "e": False, "f": True}


async def test_a_plan_is_compiled_once_for_equal_graphs() -> None:
    async with Engine(KINDS, Settings(plans=2)) as engine:
        first = engine.plan(flow({"a": "make"}))
        assert engine.plan(flow({"a": "make"})) is first
        engine.plan(flow({"b": "make"}))
        engine.plan(flow({"c": "make"}))
        assert engine.plan(flow({"a": "make"})) is not first


async def test_many_runs_at_once_do_not_mix() -> None:
    graph = flow({"in": "input", "a": "noop", "out": "output"}, "in.x -> a.x", "a.x -> out.x")
    answers: dict[int, Any] = {}

    async with Engine(KINDS) as engine:

        async def ask(number: int) -> None:
            answers[number] = (await engine.run(graph, {"x": number})).values

        async with anyio.create_task_group() as group:
            for number in range(200):
                group.start_soon(ask, number)
    assert answers == {number: {"x": number} for number in range(200)}


async def test_the_hash_of_a_run_is_that_of_its_graph() -> None:
    graph = flow({"a": "make"})
    async with Engine(KINDS) as engine:
        assert (await engine.run(graph, {})).graph_hash == graph.hash


async def test_a_run_says_whether_an_output_answered() -> None:
    async with Engine(KINDS) as engine:
        assert (await engine.run(flow({"a": "make", "out": "output"}, "a.text -> out.text"), {})).answered
        unanswered = await engine.run(flow({"a": "make", "out": "output"}, "a.typo -> out.text"), {})
    assert not unanswered.answered
    assert str(unanswered.stuck[0]) == "Node 'out' never fired: no value came to 'text'."


async def test_a_bug_in_a_listener_fails_the_run_and_not_the_engine() -> None:
    def broken(event: object) -> None:
        raise ZeroDivisionError

    async with Engine(KINDS) as engine:
        for graph in (flow({"a": "make"}), flow({"a": "make", "b": "make", "out": "output"}, "a -> out", "b -> out")):
            with pytest.raises(JackfieldError) as caught:
                await engine.run(graph, {}, listener=broken)
            assert caught.value.code is Code.INTERNAL_ERROR
            assert (await engine.run(graph, {})).outputs
