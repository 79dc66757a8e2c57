"""The events of a run: complete, in order, the same heard as read."""

import json

import pytest
from servers.flow import KINDS, flow, kind

from jackfield.engine.engine import Engine
from jackfield.engine.events import Event
from jackfield.graphs.errors import JackfieldError
from jackfield.nodes.base import Context, Inputs, NoConfiguration, Outputs, Port, node
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio


async def pull(inputs: Inputs, context: Context) -> Outputs:
    context.note("pulled", source="orders", bytes=10)
    context.progress(1, 2, "half")
    return {"rows": Table.from_rows([{"x": 1}, {"x": 2}])}


@node("one", description="One port.", configuration=NoConfiguration, inputs=(Port("v"),), outputs=(Port("v"),))
async def one(config: NoConfiguration, inputs: Inputs, context: Context) -> Outputs:
    return {"v": inputs["v"]}


GRAPH = flow({"s": "pull", "out": "output"}, "s.rows -> out.rows")
MORE = (*KINDS, kind("pull", pull))


async def test_a_run_leaves_its_facts_in_order() -> None:
    async with Engine(MORE) as engine:
        run = await engine.run(GRAPH, {})
    assert [(event.node, event.kind) for event in run.events] == [
        ("", "run_started"),
        ("s", "started"),
        ("s", "pulled"),
        ("s", "finished"),
        ("out", "started"),
        ("out", "finished"),
        ("", "run_finished"),
    ]
    assert [event.at for event in run.events] == sorted(event.at for event in run.events)
    assert {event.run for event in run.events} == {run.id}
    assert run.events[3].facts["rows"] == {"rows": 2}
    assert run.events[3].facts["seconds"] > 0


async def test_a_node_starts_when_the_one_before_it_has_finished() -> None:
    nodes = {"in": "input", "a": "one", "b": "one", "c": "noop", "d": "one", "out": "output"}
    graph = flow(nodes, "in.v -> a.v", "a.v -> b.v", "b.v -> c.v", "c.v -> d.v", "d.v -> out.v")
    async with Engine((*MORE, one)) as engine:
        run = await engine.run(graph, {"v": 1})
    told = [(event.node, event.kind) for event in run.events[1:-1]]
    assert told == [(name, moment) for name in nodes for moment in ("started", "finished")]


async def test_a_listener_hears_what_is_kept_and_progress_besides() -> None:
    heard: list[Event] = []
    async with Engine(MORE) as engine:
        run = await engine.run(GRAPH, {}, listener=heard.append)
    assert [event for event in heard if event.kind != "progress"] == list(run.events)
    assert [event.facts for event in heard if event.kind == "progress"] == [{"done": 1, "total": 2, "message": "half"}]


async def test_a_listener_hears_a_run_that_fails() -> None:
    heard: list[Event] = []
    graph = flow({"in": "make", "bad": "refuse"}, "in.text -> bad.text")
    async with Engine(MORE) as engine:
        with pytest.raises(JackfieldError):
            await engine.run(graph, {}, listener=heard.append)
    assert [(event.node, event.kind) for event in heard] == [
        ("", "run_started"),
        ("in", "started"),
        ("in", "finished"),
        ("bad", "started"),
        ("bad", "failed"),
        ("", "run_failed"),
    ]
    assert heard[-1].facts["code"] == "SOURCE_ERROR"


async def test_an_event_is_json() -> None:
    async with Engine(MORE) as engine:
        run = await engine.run(GRAPH, {})
    for event in run.events:
        assert json.loads(json.dumps(event.as_json()))["kind"] == event.kind


async def test_of_very_many_events_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jackfield.engine.events.KEPT", 10)
    names = [f"n{number}" for number in range(50)]
    edges = [f"{one}.text -> {other}.text" for one, other in zip(["a", *names], [*names, "out"], strict=True)]
    async with Engine(MORE) as engine:
        run = await engine.run(flow({"a": "make", **dict.fromkeys(names, "noop"), "out": "output"}, *edges), {})
    assert run.values == {"text": "Hello, world!"}
    assert [event.node for event in run.events if event.kind == "finished"] == [*names[-9:], "out"]
