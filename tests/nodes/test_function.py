import threading
from typing import Any, TypedDict

import pytest

from jackfield.engine.engine import Engine
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Json, Node
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.base import TABLE, Context, Effect
from jackfield.nodes.function import FunctionType, node
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio


class Parts(TypedDict):
    whole: int
    rest: float


@node(effect="pure")
def score(rows: Table, *, weight: float = 1.0) -> Table:
    """Weigh each row.

    More words.
    """
    scored = [{**row, "score": row["v"] * weight} for row in rows.arrow().to_pylist()]
    return Table.from_rows(scored)


@node()
async def split(number: float, /, by: int = 1) -> Parts:
    return {"whole": int(number // by), "rest": number % by}


@node(name="who", effect="reads", thread=True)
def in_thread(context: Context) -> dict[str, str]:
    return {"thread": threading.current_thread().name, "node": context.node}


@node()
def twice(word: str) -> str:
    return word * 2


async def run(kind: FunctionType, configuration: Json, *edges: Edge, **inputs: Any) -> Json:
    graph = Graph((Node("in", "input"), Node("f", kind.name, configuration), Node("out", "output")), edges)
    async with Engine([*NODE_TYPES, kind]) as engine:
        return dict((await engine.run(graph, inputs)).values)


def test_a_signature_is_the_declaration() -> None:
    assert (score.name, score.description, score.effect) == ("score", "Weigh each row.", Effect.PURE)
    assert [(p.name, p.schema, p.required) for p in score.ports.inputs] == [("rows", TABLE, True)]
    assert [(p.name, p.schema) for p in score.ports.outputs] == [("rows", TABLE)]
    assert score.configuration.model_json_schema()["properties"]["weight"]["type"] == "number"
    assert [(p.name, p.required) for p in split.ports.inputs] == [("number", True), ("by", False)]
    assert [(p.name, p.schema["type"]) for p in split.ports.outputs] == [("whole", "integer"), ("rest", "number")]
    assert (in_thread.name, in_thread.effect, in_thread.ports.inputs) == ("who", Effect.READS, ())
    assert in_thread.ports.open_outputs
    assert [(p.name, p.schema["type"]) for p in twice.ports.outputs] == [("value", "string")]


async def test_a_function_over_rows_runs_in_a_graph() -> None:
    table = Table.from_rows([{"v": 2}])
    edges = (Edge("in", "f", "rows", "rows"), Edge("f", "out", "rows", "rows"))
    found = await run(score, {"weight": 1.5}, *edges, rows=table)
    assert found["rows"].arrow().to_pylist() == [{"v": 2, "score": 3.0}]


async def test_an_async_function_gives_each_key_on_a_port() -> None:
    edges = (Edge("in", "f", "n", "number"), Edge("in", "f", "by", "by"), Edge("f", "out", "*"))
    assert await run(split, {}, *edges, n=7.5, by=2) == {"whole": 3, "rest": 1.5}
    assert await run(split, {}, *edges[::2], n=7.5) == {"whole": 7, "rest": 0.5}


async def test_a_blocking_function_runs_in_a_thread_when_it_says_so() -> None:
    found = await run(in_thread, {}, Edge("in", "f"), Edge("f", "out", "*"))
    assert found["thread"] != threading.main_thread().name
    assert found["node"] == "f"


async def test_a_configuration_that_the_signature_does_not_have_is_refused() -> None:
    with pytest.raises(JackfieldError, match="wieght") as refused:
        await run(score, {"wieght": 2}, Edge("in", "f", "rows", "rows"), rows=1)
    assert refused.value.code is Code.CONFIG_INVALID


async def test_a_function_that_returns_no_promised_dictionary_is_told() -> None:
    @node()
    def liar(x: int) -> dict[str, int]:
        return x  # type: ignore[return-value]

    with pytest.raises(JackfieldError, match=r"Node 'f' \(liar\) promises a dictionary .* returned a int") as failed:
        await run(liar, {}, Edge("in", "f", "x", "x"), Edge("f", "out", "*"), x=1)
    assert failed.value.code is Code.TYPE_MISMATCH


async def test_an_exception_of_a_function_is_its_nodes_failure_and_keeps_its_cause() -> None:
    @node()
    def broken(x: int) -> int:
        return x // 0

    with pytest.raises(JackfieldError, match="ZeroDivisionError") as failed:
        await run(broken, {}, Edge("in", "f", "x", "x"), Edge("f", "out", "*"), x=1)
    assert failed.value.code is Code.SOURCE_ERROR
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


def test_a_node_is_still_the_function() -> None:
    assert twice("ab") == "abab"


def test_a_signature_that_can_not_be_a_node_is_refused() -> None:
    with pytest.raises(JackfieldError, match=r"'many' can not be a node: its parameter 'values'"):

        @node()
        def many(*values: int) -> int:
            return sum(values)

    with pytest.raises(JackfieldError, match="an annotation is not known"):

        @node()
        def unknown(x: "NotThere") -> int:  # type: ignore[name-defined]  # noqa: F821
            return 1

    with pytest.raises(JackfieldError, match="keyword-only parameter has a type that is not JSON"):

        @node()
        def opaque(x: int, *, table: Table) -> int:
            return 1
