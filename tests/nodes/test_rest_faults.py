"""A REST source and an upstream that fails: what is tried again, for how long, and what is said in the end."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import Callable
from email.utils import format_datetime
from typing import Any

import anyio
import pytest
from servers.http import HttpServer, Reply, Seen
from servers.raw import RawServer, read_request, reset
from servers.rest import failure, pull

from jackfield.graphs.errors import Code
from jackfield.nodes.http import retry
from jackfield.nodes.http.ratelimit import Limiter, RateLimit
from jackfield.nodes.http.retry import retry_after

pytestmark = pytest.mark.anyio


def failing(times: int, reply: Reply) -> Callable[[Seen], Any]:
    left = times

    def answer(seen: Seen) -> Any:
        nonlocal left
        left -= 1
        return reply if left >= 0 else [{"id": 1}]

    return answer


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backoff without its waiting; what a header asks for is still waited for."""
    monkeypatch.setattr(retry, "backoff", lambda attempt: 0.0)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_status_that_passes_is_tried_again_twice_and_no_more(status: int) -> None:
    for times in (1, 2):
        with HttpServer({"/items": failing(times, Reply(b"", status))}) as server:
            run = await pull({"url": f"{server.url}/items"})
            assert run.values["rows"].to_pylist() == [{"id": 1}]
            assert len(server.requests) == times + 1
    with HttpServer({"/items": Reply(b"", status)}) as server:
        error = await failure({"url": f"{server.url}/items"})
        assert error.code is (Code.RATE_LIMITED if status == 429 else Code.SOURCE_ERROR)
        assert len(server.requests) == 3


async def test_retry_after_is_waited_for() -> None:
    with HttpServer({"/items": failing(1, Reply(b"", 429, {"retry-after": "1"}))}) as server:
        began = time.monotonic()
        await pull({"url": f"{server.url}/items"})
        assert time.monotonic() - began >= 1


@pytest.mark.parametrize("status", [429, 503])
async def test_a_wait_beyond_the_deadline_is_not_begun(status: int) -> None:
    """LIM-18"""
    with HttpServer({"/items": Reply(b"", status, {"retry-after": "86400"})}) as server:
        with anyio.fail_after(5):
            error = await failure({"url": f"{server.url}/items"}, timeout_s=20)
            assert (len(server.requests), error.details["retry_after_s"]) == (1, 86400)
            error = await failure({"url": f"{server.url}/items"})
            assert (len(server.requests), error.details["retry_after_s"]) == (2, 86400)
    if status == 429:
        assert error.code is Code.RATE_LIMITED
        assert "Try again in 86400 s" in error.hint


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", 0.0),
        (" 120 ", 120.0),
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1e3", None),
        ("9" * 400, None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_garbage_is_ignored(value: str | None, expected: float | None) -> None:
    assert retry_after(value) == expected


def test_retry_after_may_be_a_date_to_come() -> None:
    found = retry_after(format_datetime(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=60), usegmt=True))
    assert found is not None
    assert 58 <= found <= 60


@pytest.mark.usefixtures("impatient")
async def test_a_connection_that_breaks_is_tried_again() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        if server.connections < 3:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[{")
            await writer.drain()
            return reset(writer)
        writer.write(b'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n[{"id": 1}] ')
        return await writer.drain()

    with RawServer(script) as server:
        run = await pull({"url": f"{server.url}/items"})
        assert run.values["rows"].to_pylist() == [{"id": 1}]
        assert server.connections == 3


@pytest.mark.usefixtures("impatient")
async def test_a_connection_that_always_breaks_gives_no_half_data() -> None:
    with RawServer(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[{}") as server:
        error = await failure({"url": f"{server.url}/items"})
        assert error.code is Code.SOURCE_BAD_REPLY
        assert server.connections == 3, "the engine must not multiply the retries of the source"


@pytest.mark.usefixtures("impatient")
async def test_a_dead_host_is_unreachable() -> None:
    error = await failure({"url": "http://127.0.0.1:1/items"})
    assert error.code is Code.SOURCE_UNREACHABLE
    assert "http://127.0.0.1:1" in error.message
    assert error.hint


async def test_a_slow_source_ends_at_its_own_timeout() -> None:
    async def never(seen: Seen) -> None:
        await seen.disconnected()

    with HttpServer({"/items": never}) as server:
        with anyio.fail_after(5):
            error = await failure({"url": f"{server.url}/items", "timeout_s": 0.1})
        assert error.code is Code.SOURCE_TIMEOUT


async def test_requests_are_spaced_by_the_rate_limit() -> None:
    def answer(seen: Seen) -> list[dict[str, int]]:
        return [{"id": int(seen.query["page"])}]

    with HttpServer({"/items": answer}) as server:
        pagination = {"strategy": "page", "size_param": "n", "page_size": 1, "max_pages": 6}
        began = time.monotonic()
        run = await pull(
            {"url": f"{server.url}/items", "pagination": pagination, "rate_limit": {"requests": 3, "per_s": 0.4}}
        )
        assert run.values["rows"].num_rows == 6
        assert time.monotonic() - began >= 0.4


async def test_turns_are_given_so_many_in_any_window() -> None:
    limiter = Limiter(RateLimit(requests=2, per_s=0.1))
    began = anyio.current_time()
    turns: list[float] = []

    async def take() -> None:
        await limiter.turn()
        turns.append(anyio.current_time() - began)

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(take)
    assert all(turn >= place // 2 * 0.1 for place, turn in enumerate(sorted(turns)))
    assert turns == sorted(turns)
