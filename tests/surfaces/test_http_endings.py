"""MCP-19: a call whose client goes away, or cancels it, ends at its source within a second, and its line says so."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc  # type: ignore[import-untyped]
import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest
from servers.http import Hang, HttpServer, Seen
from servers.listening import Listening, listening, read_reply
from servers.postgres import PostgresServer

from .serving import connector, zoo
from .test_interrupt import SLOW, wait_until

LIST_ROWS = {"id": "list_rows", "name": "List rows", "category": "READ", "parameters": [],
             "description": "Return rows, a few of them.", "sql": "SELECT * FROM rows LIMIT 5"}  # fmt: skip
PLACE = {"id": "place_order", "name": "Place order", "category": "ACTION", "description": "Place an order, once.",
         "parameters": [], "request": {"method": "POST", "url": "@"}}  # fmt: skip
VERSION = "2025-11-25"


async def within(seconds: float, event: Any) -> None:
    with anyio.fail_after(seconds + 5):
        assert await anyio.to_thread.run_sync(event.wait, seconds)


async def line_of(here: Listening, tool: str) -> dict[str, Any]:
    """The line of this tool's call, as soon as it is there."""
    with anyio.fail_after(2):
        while True:
            for line in here.lines:
                if line["tool"] == tool:
                    return line
            await anyio.sleep(0.01)


@asynccontextmanager
async def session(here: Listening) -> AsyncIterator[dict[str, str]]:
    """The headers of a session of the handshake era."""
    given = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    opened = await here.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": given})
    headers = {"mcp_session_id": opened.headers["mcp-session-id"], "mcp_protocol_version": VERSION}
    await here.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, **headers)
    yield headers


def calling(here: Listening, name: str, headers: dict[str, str]) -> bytes:
    message = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": name, "arguments": {}}}
    given = {"content_type": "application/json", "accept": "application/json, text/event-stream", **headers}
    return here.request("POST", "/mcp", json.dumps(message).encode(), **given)


@pytest.mark.anyio
async def test_mcp_19_a_client_that_goes_away_ends_its_request_to_the_source(tmp_path: Path) -> None:
    hang = Hang()
    with HttpServer({"/rows": hang}) as source:
        path = connector(tmp_path, sources=[{"id": "rows", "type": "rest", "url": f"{source.url}/rows"}],
                         tools=[LIST_ROWS])  # fmt: skip
        async with listening(path) as here:
            async with here.connected() as (_, writer):
                writer.write(here.request_of("list_rows", {}))
                await within(10, hang.arrived)
            await within(1, hang.closed)
            line = await line_of(here, "list_rows")
    assert (line["error"], line["decision"], line["era"]) == ("CANCELLED", "allowed", "stateless")


@pytest.mark.anyio
@pytest.mark.parametrize("at_once", [True, False])
async def test_mcp_19_a_client_that_goes_away_ends_all_that_it_asked_in_a_row(tmp_path: Path, at_once: bool) -> None:
    hang = Hang()
    with HttpServer({"/rows": hang}) as source:
        path = connector(tmp_path, sources=[{"id": "rows", "type": "rest", "url": f"{source.url}/rows"}],
                         tools=[LIST_ROWS])  # fmt: skip
        async with listening(path) as here:
            async with here.connected() as (_, writer):
                asked = here.request_of("list_rows", {})
                writer.write(asked * 2 if at_once else asked)
                await within(10, hang.arrived)
                if not at_once:
                    writer.write(asked)
            await within(1, hang.closed)
            line = await line_of(here, "list_rows")
            assert (line["error"], len(here.lines)) == ("CANCELLED", 1)


@pytest.mark.anyio
@pytest.mark.parametrize(("after", "status"), [
    (b"POST /mcp HT", 408), (b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
     b"Content-Length: 9\r\n\r\n{", 408),
    (b"\x00nothing\r\n\r\n", 400),
])  # fmt: skip
async def test_a_call_is_answered_whatever_comes_after_it(
    tmp_path: Path, after: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    asked, release = anyio.Event(), anyio.Event()
    with HttpServer({"/rows": _slowly(asked, release)}) as source:
        path = connector(tmp_path, sources=[{"id": "rows", "type": "rest", "url": f"{source.url}/rows"}],
                         tools=[LIST_ROWS])  # fmt: skip
        quick = {"SERVE_HEAD_S": "0.2", "SERVE_BODY_S": "0.2"}
        async with listening(path, quick) as here, here.connected() as (reader, writer):
            writer.write(here.request_of("list_rows", {}))
            with anyio.fail_after(10):
                await asked.wait()
                writer.write(after.replace(b"%d", b"%d" % here.port))
                await _sweeps(here)
                release.set()
                assert (await read_reply(reader)).json["result"]["structuredContent"]["rows"] == [{"id": 1}]
                assert (await read_reply(reader)).status == status
                assert await reader.read() == b""
    assert "Exception in ASGI" not in caplog.text


@pytest.mark.anyio
async def test_a_connection_that_is_kept_holds_on_to_nothing_of_its_calls(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here, here.connected() as (reader, writer):
        for _ in range(3):
            writer.write(here.request_of("list_animals", {"species": "cat"}))
            assert (await read_reply(reader)).status == 200
        (held,) = here.serving.connections
        assert held.timeout_keep_alive_task is None


async def _sweeps(here: Listening) -> None:
    """As if much time went by: whoever may be cut off is."""
    now = anyio.current_time()
    (held,) = here.serving.connections
    while held.since < now + 100 and held.to_say is None:
        await anyio.sleep(0.01)
        held.look(now + 100)


@pytest.mark.anyio
async def test_mcp_19_a_client_that_goes_away_ends_its_query_in_the_database(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    with postgres.database("CREATE TABLE animals (id int)") as dsn:
        path = connector(tmp_path, sources=[{"id": "rows", "type": "postgres", "dsn": dsn, "query": SLOW}],
                         tools=[LIST_ROWS])  # fmt: skip
        async with listening(path) as here:
            with adbc.connect(postgres.dsn) as watcher:
                async with here.connected() as (_, writer):
                    writer.write(here.request_of("list_rows", {}))
                    assert await anyio.to_thread.run_sync(wait_until, watcher, 1)
                assert await anyio.to_thread.run_sync(wait_until, watcher, 0, 1.0)
            assert (await line_of(here, "list_rows"))["error"] == "CANCELLED"


@pytest.mark.anyio
async def test_mcp_19_a_cancelled_request_of_a_session_ends_its_query_in_the_database(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    with postgres.database("CREATE TABLE animals (id int)") as dsn:
        path = connector(tmp_path, sources=[{"id": "rows", "type": "postgres", "dsn": dsn, "query": SLOW}],
                         tools=[LIST_ROWS])  # fmt: skip
        async with listening(path) as here, session(here) as headers, here.connected() as (reader, writer):
            with adbc.connect(postgres.dsn) as watcher:
                writer.write(calling(here, "list_rows", headers))
                assert await anyio.to_thread.run_sync(wait_until, watcher, 1)
                cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
                assert (await here.post(cancel, **headers)).status == 202
                assert await anyio.to_thread.run_sync(wait_until, watcher, 0, 1.0)
            assert (await line_of(here, "list_rows"))["error"] == "CANCELLED"
            told = await reader.readuntil(b"cancelled")
    assert b"data: " in told


@pytest.mark.anyio
async def test_mcp_19_a_write_that_is_cut_off_is_of_unknown_outcome(tmp_path: Path) -> None:
    hang = Hang()
    with HttpServer({"POST /orders": hang}) as target:
        place = {**PLACE, "request": {"method": "POST", "url": f"{target.url}/orders"}}
        path = connector(tmp_path, sources=[], tools=[place])
        async with listening(path) as here:
            async with here.connected() as (_, writer):
                writer.write(here.request_of("place_order", {}))
                await within(10, hang.arrived)
            await within(1, hang.closed)
            line = await line_of(here, "place_order")
    assert (line["error"], line["category"]) == ("OUTCOME_UNKNOWN", "ACTION")


@pytest.mark.anyio
async def test_a_session_keeps_its_call_when_its_connection_breaks(tmp_path: Path) -> None:
    """In the handshake era a lost connection is no cancellation (Transports, Streamable HTTP): only the message is."""
    asked, release = anyio.Event(), anyio.Event()
    with HttpServer({"/rows": _slowly(asked, release)}) as source:
        path = connector(tmp_path, sources=[{"id": "rows", "type": "rest", "url": f"{source.url}/rows"}],
                         tools=[LIST_ROWS])  # fmt: skip
        async with listening(path) as here, session(here) as headers:
            async with here.connected() as (_, writer):
                writer.write(calling(here, "list_rows", headers))
                with anyio.fail_after(10):
                    await asked.wait()
            release.set()
            line = await line_of(here, "list_rows")
    assert (line["error"], line["rows"]) == (None, 1)


def _slowly(asked: anyio.Event, release: anyio.Event) -> Any:
    """Rows that come when `release` is set, in the loop of the test: the source runs in a thread of its own."""
    token = anyio.lowlevel.current_token()

    async def answer(seen: Seen) -> Any:
        await anyio.to_thread.run_sync(lambda: anyio.from_thread.run_sync(asked.set, token=token))
        await anyio.to_thread.run_sync(lambda: anyio.from_thread.run(release.wait, token=token))
        return [{"id": 1}]

    return answer
