"""LIM-08, LIM-09: a client that sends slowly, or reads nothing, loses its connection; whoever else asks is served."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import anyio
import pytest
from servers.listening import Listening, Reply, listening, read_reply

from .serving import LIST_ANIMALS, connector, zoo

QUICK = {"SERVE_HEAD_S": "0.4", "SERVE_BODY_S": "0.4", "SERVE_IDLE_S": "0.4", "SERVE_WRITE_S": "0.4"}
CLIENTS = 1_000


async def left(here: Listening, sent: bytes) -> bytes:
    """What a client that sends only this is told until it is cut off."""
    async with here.connected() as (reader, writer):
        writer.write(sent)
        with anyio.fail_after(10):
            return await reader.read()


@pytest.mark.anyio
@pytest.mark.parametrize(("sent", "status"), [
    (b"", b"408"), (b"POST /mc", b"408"), (b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-A", b"408"),
    (b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
     b"408"),
    (b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
     b"5\r\n{", b"408"),
    (b"\r\n\r\n\r\n", b"408"),
])  # fmt: skip
async def test_lim_08_half_a_request_is_cut_off(tmp_path: Path, sent: bytes, status: bytes) -> None:
    async with listening(zoo(tmp_path), QUICK) as here:
        told = await left(here, sent.replace(b"%d", b"%d" % here.port))
        assert told.split(b" ")[1] == status
        assert b"connection: close" in told
        assert "too_slow" in here.lines[-1]["message"]


@pytest.mark.anyio
async def test_lim_08_drips_do_not_stop_the_clock(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path), QUICK) as here:
        for start in (b"", b"GET /healthz HTTP/1.1\r\n"):
            async with here.connected() as (reader, writer), anyio.create_task_group() as tasks:
                writer.write(start)
                tasks.start_soon(drip, writer, b"X-Pad: 1\r\n" if start else b"\r\n")
                with anyio.fail_after(10), suppress(ConnectionResetError):  # what drips after the end is reset
                    assert b" 408 " in await reader.read()
                tasks.cancel_scope.cancel()
        assert [line["message"].partition(":")[0] for line in here.lines] == ["head_too_slow"] * 2


async def drip(writer: asyncio.StreamWriter, what: bytes) -> None:
    while True:
        writer.write(what)
        await anyio.sleep(0.05)


@pytest.mark.anyio
async def test_lim_08_an_idle_connection_is_kept_for_a_while_and_then_closed(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path), QUICK) as here, here.connected() as (reader, writer):
        for _ in range(2):
            writer.write(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\n\r\n".encode())
            assert (await read_reply(reader)).status == 200
        writer.write(b"\r\n")  # begins nothing
        with anyio.fail_after(10):
            assert await reader.read() == b""


@pytest.mark.anyio
@pytest.mark.parametrize("most", ["4000", "200"])
async def test_lim_08_a_thousand_half_requests_do_not_stop_healthz(tmp_path: Path, most: str) -> None:
    """With room for all of them, and with room for a few: then the oldest makes room."""
    async with listening(zoo(tmp_path), {"SERVE_CONNECTIONS": most}) as here, AsyncExitStack() as held:
        for _ in range(CLIENTS):
            _, writer = await held.enter_async_context(here.connected())
            writer.write(b"POST /mcp HTTP/1.1\r\nHost: x\r\nX-A")
        with anyio.fail_after(2):
            assert (await here.ask("GET", "/healthz")).status == 200
        with anyio.fail_after(5):
            assert (await here.call("list_animals", {})).status == 200


@pytest.mark.anyio
async def test_lim_08_a_huge_head_is_431(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here:
        host = f"Host: 127.0.0.1:{here.port}\r\n"
        for head in (
            f"GET /healthz HTTP/1.1\r\n{host}X-A: {'a' * 40_000}\r\n\r\n",
            f"GET /healthz HTTP/1.1\r\n{host}" + "X-A: a\r\n" * 101 + "\r\n",
            f"GET /healthz?{'a' * 40_000} HTTP/1.1\r\n{host}\r\n",
            f"GET /healthz HTTP/1.1\r\n{host}X-A: {'a' * 200_000}",
        ):
            reply = await here.say(head.encode())
            assert (reply.status, reply.error["details"]["reason"]) == (431, "head_too_large")
            assert reply.headers["connection"] == "close"
        assert (await here.ask("GET", "/healthz", x_a="a" * 20_000)).status == 200


@pytest.mark.anyio
async def test_lim_09_a_client_that_reads_nothing_is_cut_off(tmp_path: Path) -> None:
    wide = {**LIST_ANIMALS, "id": "list_wide", "sql": "SELECT id, repeat(name, 30000) AS name FROM animals LIMIT 200",
            "parameters": [], "result": {"page_size": 200, "max_bytes": 40_000_000}}  # fmt: skip
    rows = [{"id": number, "name": "Tom"} for number in range(200)]
    path = connector(tmp_path, sources=[{"id": "animals", "type": "rows", "rows": rows}], tools=[wide])
    async with listening(path, QUICK) as here:
        async with here.connected() as (_, writer):
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(here.request_of("list_wide", {}))
            with anyio.fail_after(10):
                await _until(here, unread=True)
                await _until(here, unread=False)
        assert (await here.ask("GET", "/healthz")).status == 200


async def _until(here: Listening, *, unread: bool) -> None:
    """Nothing tells of a connection's end when nobody reads from it: look."""
    while any(held.unread_since is not None for held in here.serving.connections) != unread:  # noqa: ASYNC110
        await anyio.sleep(0.01)


@pytest.mark.anyio
async def test_pipelined_requests_are_answered_in_order(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path), QUICK) as here, here.connected() as (reader, writer):
        for path in ("/healthz", "/readyz", "/healthz"):
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\n\r\n".encode())
        replies: list[Reply] = [await read_reply(reader) for _ in range(3)]
        assert [reply.json["status"] for reply in replies] == ["ok", "ready", "ok"]
        with anyio.fail_after(10):
            assert await reader.read() == b""  # and then it is idle, and closed


@pytest.mark.anyio
async def test_white_space_around_the_value_of_a_header_is_not_of_the_value(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here:
        reply = await here.call("list_animals", {"species": "dog"}, mcp_name=" \t list_animals \t ")
        assert reply.json["result"]["structuredContent"]["row_count"] == 1
