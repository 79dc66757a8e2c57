"""Shutdown: no new connections and no new work; calls under way end, or are ended with an answer; streams end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from servers.http import Hang, HttpServer
from servers.listening import Listening, call, listening, read_reply

from .serving import connector, zoo
from .test_http_endings import LIST_ROWS, PLACE, calling, session

PING = {"jsonrpc": "2.0", "id": 9, "method": "tools/list"}


def hanging(tmp_path: Path, source: HttpServer) -> Path:
    place = {**PLACE, "request": {"method": "POST", "url": f"{source.url}/orders"}}
    rows = {"id": "rows", "type": "rest", "url": f"{source.url}/rows"}
    return connector(tmp_path, sources=[rows], tools=[LIST_ROWS, place])


async def closed_door(here: Listening) -> None:
    """Wait until nobody gets in any more."""
    with anyio.fail_after(5):
        while True:
            try:
                async with here.connected():
                    await anyio.sleep(0.01)
            except OSError:
                return


async def arrival(hang: Hang) -> None:
    with anyio.fail_after(10):
        assert await anyio.to_thread.run_sync(hang.arrived.wait, 10)


@pytest.mark.anyio
async def test_while_it_drains_it_is_alive_but_not_ready_and_takes_nothing_new(tmp_path: Path) -> None:
    hang = Hang()
    with HttpServer({"/rows": hang}) as source:
        async with (
            listening(hanging(tmp_path, source)) as here,
            session(here) as headers,
            here.connected() as idle,
            here.connected() as busy,
        ):
            assert await _ask(here, idle, "/readyz") == (200, "ready")
            busy[1].write(here.request_of("list_rows", {}))
            await arrival(hang)
            here.serving.stop()
            await closed_door(here)
            assert await _ask(here, idle, "/readyz") == (503, "not ready")
            assert await _ask(here, idle, "/healthz") == (200, "ok")
            body = json.dumps(call("list_rows", {}, 3)).encode()
            idle[1].write(here.request("POST", "/mcp", body, content_type="application/json", **headers))
            reply = await read_reply(idle[0])
            assert (reply.status, reply.json["id"], reply.headers["retry-after"]) == (503, 3, "1")
            assert reply.error["details"] == {"reason": "draining"}
            here.serving.stop()  # again: at once
            answer = await read_reply(busy[0])
    error = answer.json["result"]["structuredContent"]["error"]
    assert (answer.json["result"]["isError"], error["code"]) == (True, "CANCELLED")
    assert [line["error"] for line in here.lines if line["tool"] == "list_rows"] == ["CANCELLED"]


async def _ask(here: Listening, connection: Any, path: str) -> tuple[int, str]:
    reader, writer = connection
    writer.write(here.request("GET", path))
    reply = await read_reply(reader)
    return reply.status, reply.json["status"]


@pytest.mark.anyio
async def test_a_call_under_way_gets_its_time_and_is_answered(tmp_path: Path) -> None:
    asked, release = anyio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def rows(seen: Any) -> Any:
        loop.call_soon_threadsafe(asked.set)
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(release.wait(), loop))
        return [{"id": 1}]

    with HttpServer({"/rows": rows}) as source:
        async with listening(hanging(tmp_path, source)) as here, here.connected() as (reader, writer):
            writer.write(here.request_of("list_rows", {}))
            with anyio.fail_after(10):
                await asked.wait()
            here.serving.stop()
            await closed_door(here)
            release.set()
            reply = await read_reply(reader)
            assert reply.json["result"]["structuredContent"]["rows"] == [{"id": 1}]
            with anyio.fail_after(5):
                await here.serving.ended.wait()


@pytest.mark.anyio
@pytest.mark.parametrize(("tool", "code"), [("list_rows", "CANCELLED"), ("place_order", "OUTCOME_UNKNOWN")])
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_what_does_not_end_in_time_is_ended_with_an_answer(
    tmp_path: Path, tool: str, code: str, era: str
) -> None:
    hang = Hang()
    with HttpServer({"/rows": hang, "POST /orders": hang}) as source:
        async with listening(hanging(tmp_path, source), {"SERVE_DRAIN_S": "0.2"}) as here, session(here) as headers:
            async with here.connected() as (reader, writer):
                request = here.request_of(tool, {}) if era == "stateless" else calling(here, tool, headers)
                writer.write(request)
                await arrival(hang)
                here.serving.stop()
                reply = await read_reply(reader)
            body = reply.body if era == "stateless" else reply.body.partition(b"data: ")[2]
            assert json.loads(body)["result"]["structuredContent"]["error"]["code"] == code
            with anyio.fail_after(5):
                await here.serving.ended.wait()
            assert await anyio.to_thread.run_sync(hang.closed.wait, 1)


@pytest.mark.anyio
async def test_streams_end_whole_and_keep_nothing_waiting(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here, session(here) as headers, here.connected() as (reader, writer):
        writer.write(here.request("GET", "/mcp", accept="text/event-stream", **headers))
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        here.serving.stop()
        with anyio.fail_after(5):
            assert (await reader.read()).endswith(b"0\r\n\r\n")
            await here.serving.ended.wait()


@pytest.mark.anyio
@pytest.mark.parametrize("accept", ["text/event-stream", "*/*", ""])
async def test_the_live_stream_of_the_api_ends_whole(tmp_path: Path, accept: str) -> None:
    async with listening(zoo(tmp_path)) as here, here.connected() as (reader, writer):
        writer.write(here.request("GET", "/api/events", accept=accept))
        assert b"text/event-stream" in await reader.readuntil(b"\r\n\r\n")
        here.serving.stop()
        with anyio.fail_after(5):
            assert (await reader.read()).endswith(b"0\r\n\r\n")
            await here.serving.ended.wait()


@pytest.mark.anyio
async def test_a_listening_client_of_the_stateless_era_is_let_go(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here, here.connected() as (reader, writer):
        message = call("", {})
        message["method"] = "subscriptions/listen"
        message["params"] = {"notifications": {"toolsListChanged": True}, "_meta": message["params"]["_meta"]}
        writer.write(here.request(
            "POST", "/mcp", json.dumps(message).encode(), content_type="application/json",
            accept="application/json, text/event-stream", mcp_protocol_version="2026-07-28",
            mcp_method="subscriptions/listen",
        ))  # fmt: skip
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"text/event-stream" in head
        here.serving.stop()
        with anyio.fail_after(5):
            assert (await reader.read()).endswith(b"0\r\n\r\n")
            await here.serving.ended.wait()
