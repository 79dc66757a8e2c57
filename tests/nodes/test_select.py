import pytest

from jackfield.engine.engine import Engine
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Json, Node
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio


async def selected(configuration: Json, value: object) -> Json:
    graph = Graph(
        (Node("in", "input"), Node("pick", "select", configuration), Node("out", "output", {"end": True})),
        (Edge("in", "pick", "value", "value"), Edge("pick", "out", "value", "value", optional=True)),
    )
    async with Engine(NODE_TYPES) as engine:
        return dict((await engine.run(graph, {"value": value})).values).get("value")


ORDER: Json = {
    "user": {"name": "Ada"},
    "items": [{"id": 1, "price": 9}, {"id": 2, "price": 4}],
    "none": None,
    "zero": 0,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("user.name", "Ada"),
        ("zero", 0),
        ("items[?price > `5`].id", [1]),
        ("items[0]", {"id": 1, "price": 9}),
        ("length(items)", 2),
        ("none", None),
        ("user.age", None),
        ("user.name.first", None),
    ],
)
async def test_a_path_finds_its_part(path: str, found: Json) -> None:
    assert await selected({"path": path}, ORDER) == found


async def test_rows_are_searched_as_a_list_of_objects() -> None:
    assert await selected({"path": "[].id"}, Table.from_rows([{"id": 1}, {"id": 2}])) == [1, 2]


async def test_what_must_be_there_and_is_not_fails_with_what_is_there() -> None:
    with pytest.raises(JackfieldError, match=r"nothing is at 'user\.age' of an object with 'user', 'items'") as refused:
        await selected({"path": "user.age", "required": True}, ORDER)
    assert refused.value.code is Code.SCHEMA_NOT_FOUND


async def test_an_expression_that_does_not_fit_the_value_is_a_type_mismatch() -> None:
    with pytest.raises(JackfieldError, match=r"'abs\(user\)' does not fit an object") as refused:
        await selected({"path": "abs(user)"}, ORDER)
    assert refused.value.code is Code.TYPE_MISMATCH


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("items[", "not a JMESPath expression"),
        pytest.param("[" * 1500, "nests too deep|not a JMESPath", id="TPL-08 deep"),
        pytest.param("a||" * 600 + "a", "nests too deep|characters", id="TPL-08 wide"),
        pytest.param("a" * 1_000_000 + "[0]", "1,000,003 characters", id="TPL-08 long"),
    ],
)
async def test_an_expression_that_can_not_be_read_is_refused_before_it_runs(path: str, message: str) -> None:
    with pytest.raises(JackfieldError, match=message) as refused:
        await selected({"path": path}, ORDER)
    assert refused.value.code is Code.CONFIG_INVALID
    assert len(str(refused.value)) < 1000
