"""The `http` save against a real server: batches, keys, and what is said when it stops half way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from servers.http import HttpServer, Reply, Seen

from jackfield.engine.engine import Engine
from jackfield.engine.environment import Environment
from jackfield.engine.runs import Run
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.http import retry
from jackfield.nodes.secrets import EnvironmentSecrets
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio
ROWS = [{"id": number, "name": f"n{number}"} for number in range(25)]


async def save(config: Mapping[str, Any], table: Table | None = None, **options: Any) -> Run:
    nodes = (Node("input", "input"), Node("sink", "save", {"type": "http", **config}), Node("output", "output"))
    edges = (
        Edge("input", "sink", "rows", "rows"),
        Edge("sink", "output", "rows", "rows"),
        Edge("sink", "output", "report", "report"),
    )
    environment = Environment(connector="shop", secrets=EnvironmentSecrets({"TOKEN": "tok-123456"}))
    async with Engine(NODE_TYPES) as engine:
        rows = table or Table.from_rows(ROWS)
        return await engine.run(Graph(nodes, edges), {"rows": rows}, environment=environment, **options)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "backoff", lambda attempt: 0.0)


async def test_rows_are_posted_in_batches_and_passed_on() -> None:
    with HttpServer({"POST /in": Reply({}, 202)}) as server:
        run = await save(
            {"url": f"{server.url}/in", "batch_rows": 10, "auth": {"type": "bearer", "secret_key": "TOKEN"}}
        )
        assert [len(seen.json()) for seen in server.requests] == [10, 10, 5]
        assert [row for seen in server.requests for row in seen.json()] == ROWS
        assert server.last.headers["authorization"] == "Bearer tok-123456"
        assert len({seen.headers["idempotency-key"] for seen in server.requests}) == 3
        assert run.values["report"]["rows"] == 25
        assert run.values["rows"].to_pylist() == ROWS


async def test_records_may_be_wrapped_beside_other_fields() -> None:
    with HttpServer({"POST /in": {}}) as server:
        await save({"url": f"{server.url}/in", "wrap": "records", "body": {"typecast": True}})
        assert server.last.json() == {"typecast": True, "records": ROWS}


async def test_batches_are_cut_at_the_same_rows_however_the_table_comes() -> None:
    def stream(size: int) -> Table:
        batches = pa.Table.from_pylist(ROWS).to_batches(max_chunksize=size)
        return Table.stream(pa.RecordBatchReader.from_batches(batches[0].schema, batches))

    with HttpServer({"POST /in": {}}) as server:
        for size in (3, 7, 25):
            await save({"url": f"{server.url}/in", "batch_rows": 10}, stream(size), idempotency_key="k")
        sent = [(seen.headers["idempotency-key"], seen.body) for seen in server.requests]
        assert sent[:3] == sent[3:6] == sent[6:]


async def test_a_fault_that_passes_is_retried_under_the_same_key() -> None:
    def answer(seen: Seen) -> Reply:
        return Reply({}, 503 if len(server.requests) == 2 else 200)

    with HttpServer({"POST /in": answer}) as server:
        await save({"url": f"{server.url}/in", "batch_rows": 10})
        keys = [seen.headers["idempotency-key"] for seen in server.requests]
        assert len(keys) == 4
        assert keys[1] == keys[2]
        assert server.requests[1].body == server.requests[2].body


async def test_a_save_that_stops_half_way_says_how_far_it_came() -> None:
    def answer(seen: Seen) -> Reply:
        return Reply("full", 400 if len(server.requests) > 2 else 200)

    with HttpServer({"POST /in": answer}) as server:
        with pytest.raises(JackfieldError) as caught:
            await save({"url": f"{server.url}/in", "batch_rows": 10})
        error = caught.value
        assert (error.code, error.details["rows_accepted"]) == (Code.SOURCE_ERROR, 20)
        assert "20 rows were accepted before" in error.message
        assert "same idempotency key" in error.hint


async def test_repeating_a_save_under_its_key_repeats_the_keys_of_its_batches() -> None:
    with HttpServer({"POST /in": {}}) as server:
        for key in ("k", "k", "other"):
            await save({"url": f"{server.url}/in"}, idempotency_key=key)
        keys = [seen.headers["idempotency-key"] for seen in server.requests]
        assert keys[0] == keys[1] != keys[2]


async def test_no_rows_are_no_request() -> None:
    with HttpServer({"POST /in": {}}) as server:
        run = await save({"url": f"{server.url}/in"}, Table.whole(pa.table({"id": pa.array([], pa.int64())})))
        assert (run.values["report"]["rows"], server.requests) == (0, [])


async def test_whether_it_can_save_is_answered_without_a_request() -> None:
    with HttpServer({"POST /in": {}}) as server:
        good = await save({"url": f"{server.url}/in", "method": "canSave"})
        assert good.values["report"]["canSave"] is True
        auth = {"type": "bearer", "secret_key": "UNSET"}
        bad = await save({"url": f"{server.url}/in", "method": "canSave", "auth": auth})
        assert bad.values["report"]["canSave"] is False
        assert "UNSET" in bad.values["report"]["reason"]
        assert server.requests == []
