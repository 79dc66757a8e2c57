"""The `pushdown` node in a graph: a Scan for each table, on the port of its name, and an event that tells of it."""

from __future__ import annotations

import pytest

from jackfield.engine.engine import Engine
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.pushdown import pushdown_node
from jackfield.nodes.scan import Predicate, Scan

SQL = "SELECT o.id FROM orders o JOIN customers c ON c.id = o.buyer WHERE c.country = :country AND o.id > 3"


def test_its_ports_are_the_tables() -> None:
    ports = pushdown_node.ports_for({"sql": SQL, "tables": ["orders", "customers"]})
    assert [port.name for port in ports.outputs] == ["orders", "customers"]
    assert not ports.open_outputs


@pytest.mark.anyio
async def test_it_gives_each_source_what_the_query_needs_of_it() -> None:
    graph = Graph(
        nodes=(
            Node("input", "input", {}),
            Node("pushdown", "pushdown", {"sql": SQL, "tables": ["orders", "customers"]}),
            Node("output", "output", {}),
        ),
        edges=(
            Edge("input", "pushdown", "$arguments", "$arguments"),
            Edge("pushdown", "output", "orders", "orders"),
            Edge("pushdown", "output", "customers", "customers"),
        ),
    )
    async with Engine(NODE_TYPES) as engine:
        run = await engine.run(graph, {"country": "NO"})
    assert run.values == {
        "orders": Scan(("buyer", "id"), (Predicate("id", ">", 3),)),
        "customers": Scan(("country", "id"), (Predicate("country", "=", "NO"),)),
    }
    planned = {event.facts["table"]: event.facts["scan"] for event in run.events if event.kind == "planned"}
    assert planned["customers"]["predicates"] == [{"column": "country", "operator": "=", "value": "NO"}]
