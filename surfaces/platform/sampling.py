"""A few rows of a source, or one raw reply, by the very node that will read it when a tool is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ...connectors.model import Source
from ...graphs.model import Edge, Graph, Node
from ...nodes.base import ROWS, SCAN
from ...nodes.table import Table
from ..probe import Reply
from .bench import Bench

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE: Final = 1_000  # rows
PATIENCE_S: Final = 30.0
ASKED: Final = ("url", "method", "params", "headers", "body", "auth", "timeout_s")  # of a REST source


@dataclass(frozen=True, slots=True)
class Sample:
    """`requests` is how many a REST source sent; `is_whole`: these are all the rows there are."""

    rows: pa.Table
    requests: int
    is_whole: bool


async def sample(bench: Bench, source: Source, limit: int = SAMPLE) -> Sample:
    """At most `limit` rows of a source. Raises what reading it raises."""
    name = source.id
    graph = Graph(
        (
            Node("$pushdown", "pushdown", {"sql": f"SELECT * FROM source LIMIT {limit + 1}", "tables": ["source"]}),
            Node(name, source.type, dict(source.configuration)),
            Node("$output", "output"),
        ),
        (Edge("$pushdown", name, "source", SCAN), Edge(name, "$output", ROWS, ROWS)),
    )
    run = await bench.app.run(graph, {}, folder=bench.connectors, timeout_s=PATIENCE_S, fresh=True)
    table: Table = run.values[ROWS]
    rows = table.arrow()
    capped = any(event.kind == "capped" for event in run.events)
    pulled = [event.facts for event in run.events if event.kind == "pulled"]
    requests = int(pulled[-1].get("requests", 1)) if pulled else 1
    return Sample(rows.slice(0, limit), requests, rows.num_rows <= limit and not capped)


async def probe(bench: Bench, source: Source) -> Reply:
    """One reply of a `rest` source. Raises what sending and `check_status` raise, but not for a 401 or 403 unasked."""
    configuration = {name: source.configuration[name] for name in ASKED if name in source.configuration}
    name = source.id
    graph = Graph(
        (Node(name, "probe", configuration), Node("$output", "output")), (Edge(name, "$output", "reply", "reply"),)
    )
    run = await bench.app.run(graph, {}, folder=bench.connectors, timeout_s=PATIENCE_S, fresh=True)
    reply: Mapping[str, Any] = run.values["reply"]
    return Reply(reply["status"], reply["headers"], reply["text"], reply["url"])


async def asked(bench: Bench, source: Source, sql: str) -> list[dict[str, Any]]:
    """The rows that one SELECT gives at a database source, in the database's own dialect."""
    kept = {field: value for field, value in source.configuration.items() if field not in ("table", "query")}
    name = source.id
    graph = Graph(
        (Node(name, source.type, {**kept, "query": sql}), Node("$output", "output")),
        (Edge(name, "$output", ROWS, ROWS),),
    )
    run = await bench.app.run(graph, {}, folder=bench.connectors, timeout_s=PATIENCE_S, fresh=True)
    table: Table = run.values[ROWS]
    return table.to_pylist()


async def counted(bench: Bench, source: Source) -> int:
    """How many rows a source has, counted by the locked DuckDB over the rows that it gives."""
    name = source.id
    sql = "SELECT count(*) AS n FROM source"
    graph = Graph(
        (
            Node("$pushdown", "pushdown", {"sql": sql, "tables": ["source"]}),
            Node(name, source.type, dict(source.configuration)),
            Node("$sql", "sql", {"sql": sql}),
            Node("$output", "output"),
        ),
        (
            Edge("$pushdown", name, "source", SCAN),
            Edge(name, "$sql", ROWS, "source"),
            Edge("$sql", "$output", ROWS, ROWS),
        ),
    )
    run = await bench.app.run(graph, {}, folder=bench.connectors, timeout_s=PATIENCE_S)
    table: Table = run.values[ROWS]
    return int(table.to_pylist()[0]["n"])
