"""A `rest` source as tests pull it: wired to the arguments and the scan that it is given, with an engine around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from jackfield.engine.engine import Engine
from jackfield.engine.environment import Environment
from jackfield.engine.runs import Run
from jackfield.graphs.errors import JackfieldError
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.scan import Scan
from jackfield.nodes.secrets import EnvironmentSecrets
from jackfield.nodes.table import Table

SECRETS = {
    "TOKEN": "tok-123456",
    "USER": "ada",
    "PASS": "p:ä ss-word",
    "PAIR": "ada:p:w",
    "COLON": "a:b",
    "HOST_PATH": "v1",
}


def graph(source: Mapping[str, Any], *ports: str) -> Graph:
    """One source, wired to the arguments and the scan that the run is given."""
    nodes = (Node("input", "input"), Node("items", "rest", source), Node("output", "output"))
    wires = [Edge("items", "output", port, port) for port in ports or ("rows",)]
    inputs = [Edge("input", "items", "scan", "scan"), Edge("input", "items", "arguments", "$arguments")]
    return Graph(nodes, (*inputs, *wires))


async def pull(
    source: Mapping[str, Any],
    arguments: Mapping[str, Any] | None = None,
    scan: Scan | None = None,
    *,
    engine: Engine | None = None,
    ports: tuple[str, ...] = (),
    **options: Any,
) -> Run:
    environment = Environment(connector="shop", secrets=EnvironmentSecrets(SECRETS))
    inputs = {"arguments": arguments or {}, "scan": scan or Scan()}
    if engine is not None:
        return await engine.run(graph(source, *ports), inputs, environment=environment, **options)
    async with Engine(NODE_TYPES) as own:
        return await own.run(graph(source, *ports), inputs, environment=environment, **options)


def table(run: Run, port: str = "rows") -> Table:
    value = run.outputs[0][1][port]
    assert isinstance(value, Table)
    return value


def rows(run: Run) -> list[dict[str, Any]]:
    return table(run).to_pylist()


def notes(run: Run, kind: str) -> list[Mapping[str, Any]]:
    return [event.facts for event in run.events if event.kind == kind]


async def failure(
    source: Mapping[str, Any], arguments: Mapping[str, Any] | None = None, **options: Any
) -> JackfieldError:
    with pytest.raises(JackfieldError) as caught:
        await pull(source, arguments, **options)
    return caught.value
