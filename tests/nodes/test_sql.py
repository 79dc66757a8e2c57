"""The `sql` node in a graph: its ports are its tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from jackfield.engine.engine import Engine
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio

ANIMALS = [{"id": 1, "species": "cat"}, {"id": 2, "species": "dog"}, {"id": 3, "species": "cat"}]
OWNERS = [{"animal": 1, "name": "Ada"}, {"animal": 2, "name": "Bo"}]


def graph(sql: str, rows: dict[str, list[dict[str, Any]]]) -> Graph:
    sources = tuple(Node(name, "rows", {"rows": content}) for name, content in rows.items())
    return Graph(
        nodes=(Node("input", "input", {}), *sources, Node("sql", "sql", {"sql": sql}), Node("output", "output", {})),
        edges=(
            Edge("input", "sql", "$arguments", "$arguments"),
            *(Edge(name, "sql", "rows", name) for name in rows),
            Edge("sql", "output", "rows", "rows"),
        ),
    )


OUTPUT = (Node("output", "output"),)
BARE = Graph(
    nodes=(Node("input", "input"), Node("sql", "sql", {"sql": "SELECT id FROM t"}), Node("output", "output")),
    edges=(Edge("input", "sql", "t", "t"), Edge("sql", "output", "rows", "rows")),
)


async def answer(graph: Graph, **arguments: Any) -> list[dict[str, Any]]:
    async with Engine(NODE_TYPES) as engine:
        run = await engine.run(graph, arguments)
        table = run.values["rows"]
        assert isinstance(table, Table)
        return table.to_pylist()


async def test_tables_of_several_sources_are_joined() -> None:
    sql = "SELECT name FROM animals a JOIN owners o ON o.animal = a.id WHERE species = :species"
    joined = graph(sql, {"animals": ANIMALS, "owners": OWNERS})
    assert await answer(joined, species="cat") == [{"name": "Ada"}]


async def test_parameters_need_no_blank_between_them() -> None:
    sql = "SELECT concat(:a,'-',:b) AS text, :n+:n AS twice, :a||:b AS both FROM animals WHERE id=:n AND id IN (:n,:n)"
    found = await answer(graph(sql, {"animals": ANIMALS}), a="x", b="y", n=2)
    assert found == [{"text": "x-y", "twice": 4, "both": "xy"}]


async def test_an_empty_source_leaves_the_other_rows_of_an_outer_join() -> None:
    sql = "SELECT a.id, o.name FROM animals a LEFT JOIN owners o ON o.animal = a.id ORDER BY 1"
    source = Node("owners", "rows", {"rows": [], "schema": {"animal": "int", "name": "string"}})
    joined = graph(sql, {"animals": ANIMALS, "owners": OWNERS})
    joined = Graph(tuple(source if node.id == "owners" else node for node in joined.nodes), joined.edges)
    assert await answer(joined) == [{"id": number, "name": None} for number in (1, 2, 3)]


async def test_an_unknown_table_is_named_with_those_that_are_wired() -> None:
    with pytest.raises(JackfieldError) as error:
        await answer(graph("SELECT * FROM animal", {"animals": ANIMALS}))
    assert error.value.code is Code.SCHEMA_NOT_FOUND
    assert "'animals'" in error.value.hint


@pytest.mark.parametrize("value", [Table.whole(pa.table({"id": [7]})), [{"id": 7}], {"id": 7}])
async def test_rows_may_come_as_a_table_or_as_objects(value: Any) -> None:
    assert await answer(BARE, t=value) == [{"id": 7}]


async def test_what_is_no_rows_is_a_type_mismatch() -> None:
    with pytest.raises(JackfieldError) as error:
        await answer(BARE, t="seven")
    assert error.value.code is Code.TYPE_MISMATCH
    assert "'t'" in error.value.message


async def test_a_second_query_sees_just_the_rows_and_types_of_the_first() -> None:
    """One query out of both would cast rows that the first one drops, or give HUGEINT on: DuckDB reorders them."""
    first = "SELECT a.v, CAST(a.n AS HUGEINT) AS s FROM t a JOIN t b ON a.n = b.n WHERE b.tag = 'number'"
    second = "SELECT count(*) AS c, any_value(typeof(s)) AS kind FROM first WHERE CAST(v AS INT) > 3"
    chain = Graph(
        nodes=(Node("input", "input"), Node("a", "sql", {"sql": first}), Node("b", "sql", {"sql": second}), *OUTPUT),
        edges=(Edge("input", "a", "t", "t"), Edge("a", "b", "rows", "first"), Edge("b", "output", "rows", "rows")),
    )
    rows = [{"n": n, "tag": "word", "v": "x"} if n % 3 == 0 else {"n": n, "tag": "number", "v": "7"} for n in range(99)]
    assert await answer(chain, t=rows) == [{"c": 66, "kind": "BIGINT"}]
