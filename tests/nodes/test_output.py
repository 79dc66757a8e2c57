import pytest

from jackfield.engine.engine import Engine
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes import NODE_TYPES, registry
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio


async def test_an_output_gives_its_inputs_and_configured_values() -> None:
    graph = Graph(
        (Node("in", "input"), Node("out", "output", {"note": "fixed"})),
        (Edge("in", "out", "x", "answer"),),
    )
    async with Engine(NODE_TYPES) as engine:
        run = await engine.run(graph, {"x": 0})
    assert run.values == {"answer": 0, "note": "fixed"}


async def test_a_table_reaches_the_caller_as_it_is() -> None:
    graph = Graph((Node("in", "input"), Node("out", "output")), (Edge("in", "out", "rows", "rows"),))
    table = Table.from_rows([{"a": 1}])
    async with Engine(NODE_TYPES) as engine:
        run = await engine.run(graph, {"rows": table})
    assert run.values["rows"] is table


def test_the_ports_of_an_output_are_the_properties_of_its_schema() -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "array"}, "note": {}}, "required": ["rows"]}
    ports = registry()["output"].ports_for({"schema": schema})
    assert [(port.name, port.required) for port in ports.inputs] == [("rows", True), ("note", False)]
