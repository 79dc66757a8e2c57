import datetime as dt
from typing import Any

import pytest

from jackfield.engine.engine import Engine
from jackfield.graphs.bgl import from_json
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Graph, Json
from jackfield.nodes import NODE_TYPES, registry

pytestmark = pytest.mark.anyio


def graph(schema: Json, *edges: tuple[str, str]) -> Graph:
    configuration = {} if schema is None else {"schema": schema}
    return from_json(
        {
            "nodes": [{"id": "in", "type": "input", "configuration": configuration}, {"id": "out", "type": "output"}],
            "edges": [{"from": "in", "out": out, "to": "out", "in": into} for out, into in edges],
        }
    )


async def values(board: Graph, **arguments: Any) -> Any:
    async with Engine(NODE_TYPES) as engine:
        return (await engine.run(board, arguments)).values


SCHEMA: Json = {
    "type": "object",
    "properties": {"day": {"type": "string", "format": "date"}, "city": {"type": "string"}, "n": {"default": 3}},
    "required": ["day"],
    "additionalProperties": False,
}


async def test_each_argument_leaves_by_its_own_port_and_all_by_one() -> None:
    board = graph(SCHEMA, ("day", "day"), ("n", "n"), ("$arguments", "all"))
    day = dt.date(2026, 1, 2)
    assert await values(board, day="2026-01-02") == {"day": day, "n": 3, "all": {"day": day, "city": None, "n": 3}}


async def test_falsy_arguments_travel_and_absent_ones_do_not() -> None:
    board = graph({"properties": {"a": {}, "b": {}, "c": {}, "d": {}}}, ("*", ""))
    assert await values(board, a=0, b="", c=False) == {"a": 0, "b": "", "c": False}


async def test_wrong_arguments_fail_the_run_with_their_own_code() -> None:
    for arguments, code in (
        ({}, Code.VALIDATION_MISSING_FIELD),
        ({"day": "2026-02-30"}, Code.VALIDATION_INVALID_PARAMS),
        ({"day": "2026-01-02", "dya": 1}, Code.VALIDATION_INVALID_PARAMS),
    ):
        with pytest.raises(JackfieldError) as refused:
            await values(graph(SCHEMA, ("day", "day")), **arguments)
        assert refused.value.code is code


async def test_without_a_schema_everything_passes_unchecked() -> None:
    assert await values(graph(None, ("*", "")), anything=[1], goes="x") == {"anything": [1], "goes": "x"}


async def test_an_open_schema_passes_on_what_it_does_not_name() -> None:
    board = graph({"properties": {"n": {"type": "integer"}}}, ("*", ""))
    assert await values(board, n=1, extra="x") == {"n": 1, "extra": "x"}


async def test_an_argument_that_looks_like_a_reference_stays_text() -> None:
    """TPL-04: what a caller sends is never expanded."""
    board = graph({"properties": {"s": {"type": "string"}}}, ("s", "s"))
    assert await values(board, s="{{ env:HOME }}") == {"s": "{{ env:HOME }}"}


def test_the_ports_of_an_input_are_the_properties_of_its_schema() -> None:
    ports = registry()["input"].ports_for({"schema": SCHEMA})
    assert [port.name for port in ports.outputs] == ["day", "city", "n", "$arguments"]
    assert not ports.open_outputs
    assert registry()["input"].ports_for({}).open_outputs
    assert registry()["input"].ports_for({"schema": {"properties": {}}}).open_outputs
