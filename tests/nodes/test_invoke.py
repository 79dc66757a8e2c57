import pytest

from jackfield.engine.engine import Engine
from jackfield.graphs.bgl import from_json
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Json
from jackfield.nodes import NODE_TYPES

pytestmark = pytest.mark.anyio

GREET: Json = {
    "nodes": [
        {
            "id": "in",
            "type": "input",
            "configuration": {
                "schema": {"type": "object", "properties": {"name": {}, "word": {}}, "required": ["name", "word"]}
            },
        },
        {"id": "text", "type": "template", "configuration": {"template": "{{word}}, {{name}}!"}},
        {"id": "out", "type": "output"},
    ],
    "edges": [
        {"from": "in", "out": "*", "to": "text"},
        {"from": "text", "out": "text", "to": "out", "in": "greeting"},
    ],
}


def board(call: Json, *edges: Json) -> Json:
    return {
        "nodes": [{"id": "in", "type": "input"}, {"id": "call", **call}, {"id": "out", "type": "output"}],
        "edges": [*edges, {"from": "call", "out": "*", "to": "out"}],
        "graphs": {"greet": GREET},
    }


NAME: Json = {"from": "in", "out": "name", "to": "call", "in": "name"}
WORD: Json = {"from": "in", "out": "word", "to": "call", "in": "word"}


async def values(document: Json, **inputs: Json) -> Json:
    async with Engine(NODE_TYPES) as engine:
        return dict((await engine.run(from_json(document), inputs)).values)


@pytest.mark.parametrize("call", [{"type": "invoke", "configuration": {"$board": "#greet"}}, {"type": "#greet"}])
async def test_a_subgraph_gets_the_wired_inputs_and_gives_its_output(call: Json) -> None:
    assert await values(board(call, NAME, WORD), name="Ada", word="Hello") == {"greeting": "Hello, Ada!"}


async def test_configured_values_are_inputs_of_the_subgraph() -> None:
    call = {"type": "invoke", "configuration": {"$board": "#greet", "word": "Hei"}}
    assert await values(board(call, NAME), name="Ada") == {"greeting": "Hei, Ada!"}


async def test_what_the_subgraph_lacks_is_asked_of_the_callers_inputs() -> None:
    call = {"type": "invoke", "configuration": {"$board": "#greet"}}
    assert await values(board(call, NAME), name="Ada", word="Hola") == {"greeting": "Hola, Ada!"}


async def test_what_nobody_supplies_is_missing_by_name() -> None:
    call = {"type": "invoke", "configuration": {"$board": "#greet"}}
    with pytest.raises(JackfieldError, match="'word' is required") as refused:
        await values(board(call, NAME), name="Ada")
    assert refused.value.code is Code.VALIDATION_MISSING_FIELD


async def test_the_subgraph_may_come_by_wire() -> None:
    wire = {"from": "in", "out": "which", "to": "call", "in": "$board"}
    found = await values(board({"type": "invoke"}, NAME, WORD, wire), name="Ada", word="Hi", which="#greet")
    assert found == {"greeting": "Hi, Ada!"}


async def test_a_subgraph_that_is_not_there_is_named() -> None:
    call = {"type": "invoke", "configuration": {"$board": "#gret"}}
    with pytest.raises(JackfieldError, match="'#gret'") as refused:
        await values(board(call, NAME), name="Ada")
    assert refused.value.code is Code.CONFIG_INVALID


async def test_an_invoke_without_a_board_says_what_to_set() -> None:
    with pytest.raises(JackfieldError, match=r"names no graph to run\. Set its configuration '\$board'"):
        await values(board({"type": "invoke"}, NAME), name="Ada")
