"""Bad clients: each is refused or answered clearly, nothing hangs, and nothing of them is left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest
from servers.listening import Listening, Reply, call, listening

from .serving import zoo
from .test_http_endings import session

LONG = "x" * (5 * 2**20)


def told(reply: Reply) -> Any:
    """The code of an answer: of JSON-RPC, or of ours."""
    body = reply.body.partition(b"data: ")[2] or reply.body
    found = Reply(reply.status, reply.headers, body).json
    if "error" in found:
        return found["error"]["code"]
    return found["result"]["structuredContent"]["error"]["code"] if found["result"]["isError"] else "fine"


WRONG: list[tuple[str, Any, Any]] = [
    ("list_animals", {"species": 5}, "VALIDATION_INVALID_PARAMS"),
    ("list_animals", {"species": ["cat"]}, "VALIDATION_INVALID_PARAMS"),
    ("list_animals", {"species": 10**300}, "VALIDATION_INVALID_PARAMS"),
    ("list_animals", {"spices": "cat"}, "VALIDATION_INVALID_PARAMS"),
    ("list_animals", {"species": "cat", "more": {"a": [1] * 1000}}, "VALIDATION_INVALID_PARAMS"),
    ("list_animals", {"": None}, "VALIDATION_INVALID_PARAMS"),
    ("list_animals", None, "fine"),
    ("list_animals", {"species": None}, "fine"),
    ("list_animals", {"species": "' OR 1=1 --"}, "fine"),
    ("list_animals", {"species": "\u2028\x1b[2J\n"}, "fine"),
    ("list_animals", {"species": "c\x00t"}, "VALIDATION_INVALID_PARAMS"),
    ("list_animals", "cat", -32602),
    ("list_animals", [], -32602),
    ("no_such_tool", {}, -32602),
    ("x" * 5000, {}, -32602),
]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_wrong_calls_are_answered_with_what_is_wrong(tmp_path: Path, era: str) -> None:
    async with listening(zoo(tmp_path)) as here, session(here) as headers:
        for name, arguments, code in WRONG:
            message = call(name, arguments)
            if era == "stateless":
                reply = await here.call(name, arguments)
            else:
                del message["params"]["_meta"]
                reply = await here.post(message, **headers)
            assert told(reply) == code, (name, arguments, reply.body[:500])
            assert reply.status in (200, 400)
        assert here.lines[-1]["tool"] is not None


@pytest.mark.anyio
async def test_nothing_of_bad_clients_is_left_behind(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path), {"SERVE_HEAD_S": "0.3", "SERVE_BODY_S": "0.3"}) as here:
        await here.call("list_animals", {})
        before = len(asyncio.all_tasks())
        for _ in range(3):
            await everything(here)
        with anyio.fail_after(10):
            while here.serving.connections or len(asyncio.all_tasks()) > before:  # noqa: ASYNC110 - no event tells
                await anyio.sleep(0.05)
        assert here.service.bulkheads.depth() == {"zoo": (0, 0)}
        assert (await here.call("list_animals", {"species": "cat"})).status == 200


async def everything(here: Listening) -> None:
    host = f"Host: 127.0.0.1:{here.port}\r\n"
    whole = here.request_of("list_animals", {})
    assert (await here.call("list_animals", {"species": LONG})).status == 413
    assert (await here.call("list_animals", {}, 1, x_huge="x" * 40_000)).status == 431
    assert (await here.say(f"POST /mcp HTTP/1.1\r\n{host}{host}\r\n".encode())).status == 400
    assert (await here.call("list_animals", {}, 1, origin="https://evil.test")).status == 403
    assert (await here.say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100)).status == 400
    assert (await here.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")).status == 400
    assert (await here.say(whole[:-3])).status == 408
    for cut in (1, 20, len(whole) - 3, len(whole)):
        async with here.connected() as (_, writer):
            writer.write(whole[:cut])  # and gone
    async with here.connected() as (reader, writer):
        writer.write(whole + whole[: len(whole) // 2])  # the second of two is gone half way
        await reader.readuntil(b"\r\n\r\n")
