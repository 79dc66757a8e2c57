"""Kinds that tell rather than compute: log, progress, wait, fail."""

from typing import Any

import anyio
import pytest
from servers.person import Person

from jackfield.engine.engine import Engine
from jackfield.engine.environment import Environment
from jackfield.engine.events import Event
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Json, Node
from jackfield.nodes import NODE_TYPES

pytestmark = pytest.mark.anyio


def single(type: str, configuration: Json, inputs: Json) -> Graph:
    schema = {"type": "object", "properties": {name: {} for name in inputs}}
    nodes = (Node("input", "input", {"schema": schema}), Node("it", type, configuration), Node("output", "output"))
    wires = [Edge("input", "it", name, name) for name in inputs] or [Edge("input", "it")]
    return Graph(nodes, (*wires, Edge("it", "output", "*")))


async def run(type: str, configuration: Json, inputs: Json, **more: Any) -> Json:
    async with Engine(NODE_TYPES) as engine:
        done = await engine.run(
            single(type, configuration, inputs), inputs, environment=Environment("shop"), timeout_s=10, **more
        )
    return done.values


async def test_a_log_reaches_the_client_in_the_name_of_its_connector_and_passes_its_inputs_on() -> None:
    person = Person()
    assert await run("log", {"data": "begun", "level": "notice"}, {"x": 1}, client=person) == {"x": 1, "data": "begun"}
    await run("log", {"logger": "mine"}, {"data": {"rows": 2}}, client=person)
    assert person.heard == [("notice", "begun", "shop"), ("info", {"rows": 2}, "mine")]


async def test_a_log_to_nobody_is_no_failure() -> None:
    assert await run("log", {"data": "begun"}, {"x": 1}) == {"x": 1, "data": "begun"}


async def test_progress_is_heard_by_who_listens() -> None:
    heard: list[Event] = []
    configuration = {"done": 50, "total": 100, "message": "half"}
    assert await run("progress", configuration, {"x": 1}, listener=heard.append) == {"x": 1}
    assert [event.facts for event in heard if event.kind == "progress"] == [
        {"done": 50, "total": 100, "message": "half"}
    ]


async def test_waiting_passes_values_on_and_ends_with_its_call() -> None:
    assert await run("wait", {"seconds": 0.01}, {"x": 1}) == {"x": 1}
    async with Engine(NODE_TYPES) as engine:
        with anyio.fail_after(5), pytest.raises(JackfieldError) as failed:
            await engine.run(single("wait", {"seconds": 3600}, {}), {}, timeout_s=0.05)
    assert failed.value.code is Code.QUERY_TIMEOUT


async def test_a_failure_of_the_authors_own_has_his_words_and_code() -> None:
    configuration = {"message": "No customer {{id}}.", "hint": "Ask for another.", "code": "SCHEMA_NOT_FOUND"}
    with pytest.raises(JackfieldError) as failed:
        await run("fail", configuration, {"id": 7})
    error = failed.value
    assert (error.code, error.message, error.hint) == (Code.SCHEMA_NOT_FOUND, "No customer 7.", "Ask for another.")


async def test_a_code_that_there_is_not_is_a_fault_of_the_configuration() -> None:
    with pytest.raises(JackfieldError) as failed:
        await run("fail", {"message": "x", "code": "OOPS"}, {})
    assert failed.value.code is Code.CONFIG_INVALID
