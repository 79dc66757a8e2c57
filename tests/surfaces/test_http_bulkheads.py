"""Bulkheads: a connector whose upstream hangs fills its own slots, connections and threads, and nobody else's."""

from __future__ import annotations

import sys
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc  # type: ignore[import-untyped]
import anyio
import anyio.to_thread
import pytest
from servers.http import HttpServer
from servers.listening import Listening, listening
from servers.postgres import PostgresServer

from jackfield.nodes.blocking import MOST

from .serving import ANIMALS, LIST_ANIMALS, connector
from .test_http_endings import LIST_ROWS

WAITING = 200
SICK = 6  # databases: with 8 connections each they could take every thread


def well(folder: Path, url: str) -> None:
    """Connectors whose upstreams answer: a file, and a REST source beside the sick one."""
    (folder / "animals.csv").write_text(
        "id,name,species\n" + "".join(f"{a['id']},{a['name']},{a['species']}\n" for a in ANIMALS)
    )
    connector(folder, slug="shelf", sources=[{"id": "animals", "type": "csv", "path": "animals.csv"}],
              tools=[{**LIST_ANIMALS, "id": "list_shelf"}])  # fmt: skip
    connector(folder, slug="web", sources=[{"id": "animals", "type": "rest", "url": url, "cache_ttl_s": 0}],
              tools=[{**LIST_ANIMALS, "id": "list_web"}])  # fmt: skip


@contextmanager
def locked(dsn: str, table: str) -> Iterator[None]:
    """While nobody can read `table`, nor ask what its columns are."""
    with adbc.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
        connection.rollback()


@asynccontextmanager
async def filled(here: Listening, tool: str, count: int) -> AsyncIterator[None]:
    """While `count` calls of a sick connector's tool hang or wait."""

    async def hang() -> None:
        async with here.connected() as (reader, writer):
            writer.write(here.request_of(tool, {}))
            await reader.read()

    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(hang)
        with anyio.fail_after(30):
            while sum(here.service.bulkheads.depth().get("sick", (0, 0))) < count:  # noqa: ASYNC110 - no event tells
                await anyio.sleep(0.01)
        yield
        tasks.cancel_scope.cancel()


async def serve_the_others(here: Listening, tools: tuple[str, ...]) -> None:
    for tool in tools:
        for _ in range(5):
            with anyio.fail_after(5):
                reply = await here.call(tool, {"species": "dog"})
            assert reply.json["result"]["structuredContent"]["rows"][0]["name"] == "Rex", tool


@pytest.mark.anyio
async def test_two_hundred_calls_that_hang_at_a_rest_source_stop_nobody_else(tmp_path: Path) -> None:
    async def hang(seen: Any) -> Any:
        await seen.disconnected()

    with HttpServer({"/rows": hang}) as sick, HttpServer({"/animals": ANIMALS}) as source:
        well(tmp_path, f"{source.url}/animals")
        connector(tmp_path, slug="sick", sources=[{"id": "rows", "type": "rest", "url": f"{sick.url}/rows"}],
                  tools=[LIST_ROWS])  # fmt: skip
        async with listening(tmp_path) as here:
            await serve_the_others(here, ("list_shelf", "list_web"))
            async with filled(here, "list_rows", WAITING):
                await serve_the_others(here, ("list_shelf", "list_web"))
                assert (await here.ask("GET", "/readyz")).status == 200


@pytest.mark.anyio
async def test_a_database_whose_every_query_hangs_stops_no_other_database(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """Many databases of one connector, so that a pool does not bound how many threads wait for them."""
    with ExitStack() as stack:
        made = "CREATE TABLE animals AS SELECT 2 AS id, 'Rex' AS name, 'dog' AS species"
        dsn = stack.enter_context(postgres.database(made))
        dsns = [stack.enter_context(postgres.database("CREATE TABLE rows (id int)")) for _ in range(SICK)]
        for held in dsns:
            stack.enter_context(locked(held, "rows"))
        connector(
            tmp_path,
            slug="sick",
            sources=[{"id": f"rows{n}", "type": "postgres", "dsn": dsns[n], "table": "rows"} for n in range(SICK)],
            tools=[{**LIST_ROWS, "id": f"list_rows{n}", "sql": f"SELECT * FROM rows{n} LIMIT 5"} for n in range(SICK)],
        )
        source = {"id": "animals", "type": "postgres", "dsn": dsn, "table": "animals"}
        connector(tmp_path, slug="well", sources=[source], tools=[{**LIST_ANIMALS, "id": "list_well"}])
        async with listening(tmp_path) as here, anyio.create_task_group() as tasks:

            async def hang(tool: str) -> None:
                async with here.connected() as (reader, writer):
                    writer.write(here.request_of(tool, {}))
                    await reader.read()

            for number in range(64):
                tasks.start_soon(hang, f"list_rows{number % SICK}")
            with anyio.fail_after(20):
                while here.service.bulkheads.depth().get("sick", (0, 0))[0] < 64:  # noqa: ASYNC110 - no event tells
                    await anyio.sleep(0.01)
                while _waiting() < MOST:  # noqa: ASYNC110 - no event tells
                    await anyio.sleep(0.01)
            await serve_the_others(here, ("list_well",))
            assert here.service.bulkheads.depth()["sick"] == (64, 0)
            tasks.cancel_scope.cancel()


def _waiting() -> int:
    """How many threads wait for a database."""
    frames = [traceback.extract_stack(frame)[-1] for frame in sys._current_frames().values()]
    return sum("adbc" in frame.filename for frame in frames)


@pytest.mark.anyio
async def test_what_does_not_fit_is_answered_overloaded_with_a_time_to_come_again(tmp_path: Path) -> None:
    async def hang(seen: Any) -> Any:
        await seen.disconnected()

    with HttpServer({"/rows": hang}) as sick:
        path = connector(tmp_path, slug="sick", sources=[{"id": "rows", "type": "rest", "url": f"{sick.url}/rows"}],
                         tools=[LIST_ROWS])  # fmt: skip
        async with listening(path, {"SERVE_CALLS": "2", "SERVE_WAITING": "3"}) as here:
            async with filled(here, "list_rows", 5):
                reply = await here.call("list_rows", {})
                over_api = await here.ask("POST", "/api/tools/list_rows/run", b"{}", content_type="application/json")
            assert [line["error"] for line in here.lines[:2]] == ["OVERLOADED"] * 2
    assert (over_api.status, over_api.headers["retry-after"], over_api.error["code"]) == (503, "1", "OVERLOADED")
    error = reply.json["result"]["structuredContent"]["error"]
    assert (error["code"], error["details"]["retry_after_s"]) == ("OVERLOADED", 1.0)
