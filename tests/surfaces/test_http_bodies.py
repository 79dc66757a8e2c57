"""LIM-12: bodies of hostile size and shape are refused before any parser of the SDK sees them, in both eras."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from servers.listening import VERSION, Listening, call, listening, read_reply

from jackfield.surfaces.http.bodies import Bodies
from jackfield.surfaces.http.draining import Draining
from jackfield.surfaces.http.refusals import Refusals
from jackfield.surfaces.http.strict_json import MAX_DEPTH, NotStrictError, loads

from .serving import zoo

LIMIT = 4 * 2**20


@pytest.fixture(scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    async with listening(zoo(tmp_path_factory.mktemp("zoo"))) as it:
        yield it


def with_species(text: str) -> bytes:
    """A call whose one argument is this JSON."""
    return json.dumps(call("list_animals", {"species": "@"})).replace('"@"', text).encode()


MANY_KEYS = "{" + ",".join(f'"{number:x}":0' for number in range(200_000)) + "}"
BODIES = {
    "deep": (with_species("[" * 200_000 + "]" * 200_000), "nested deeper"),
    "deeper than agreed": (with_species("[" * 101 + "]" * 101), "nested deeper"),
    "many keys": (with_species(MANY_KEYS), "more than 100,000 keys"),
    "a number of 5,000 digits": (with_species("1" * 5_000), "out of range"),
    "a number of 1,000 digits": (with_species("1" * 300 + "." + "1" * 10 + "e300"), "out of range"),
    "NaN": (with_species("NaN"), "invalid character"),
    "-Infinity": (with_species("-Infinity"), "invalid"),
    "1e400": (with_species("1e400"), "out of range"),
    "a key twice": (with_species('"cat", "species": "dog"'), "same key twice"),
    "half a surrogate pair": (with_species('"\\ud800"'), "surrogate"),
    "half a surrogate pair as bytes": (with_species('"@"').replace(b"@", b"\xed\xa0\x80"), "UTF-8"),
    "a byte order mark": (b"\xef\xbb\xbf" + with_species('"cat"'), "byte order mark"),
    "UTF-16": (with_species('"cat"').decode().encode("utf-16"), "byte order mark"),
    "nothing": (b"", "truncated"),
    "half": (with_species('"cat"')[:-3], "truncated"),
    "two": (with_species('"cat"') * 2, "trailing"),
}


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["handshake", "stateless"])
@pytest.mark.parametrize("name", BODIES)
async def test_lim_12_what_is_not_strict_json_is_400_with_a_json_rpc_error(
    here: Listening, name: str, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    body, why = BODIES[name]
    headers = {"mcp_protocol_version": VERSION if era == "stateless" else "2025-11-25"}
    reply = await here.post(body, content_length=str(len(body)), **headers)
    assert reply.status == 400
    assert (reply.json["jsonrpc"], reply.json["id"], reply.json["error"]["code"]) == ("2.0", None, -32700)
    assert why in reply.json["error"]["message"]
    assert not caplog.records


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/mcp", "/v1/mcp", "/api/connectors"])
async def test_lim_12_a_body_over_the_limit_is_413(here: Listening, path: str) -> None:
    for body in (b" " * (5 * 2**20), b" " * (LIMIT + 1)):
        reply = await here.ask("POST", path, body, content_type="application/json")
        assert (reply.status, reply.error["details"]["reason"]) == (413, "body_too_large")
        assert reply.headers["connection"] == "close"
        assert ("jsonrpc" in reply.json) == (path != "/api/connectors")


@pytest.mark.anyio
async def test_lim_12_a_body_over_the_limit_in_chunks_is_413_as_soon_as_it_is_over(here: Listening) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\nTransfer-Encoding: chunked\r\n"
    async with here.connected() as (reader, writer):
        writer.write((head + "Content-Type: application/json\r\n\r\n").encode())
        chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
        writer.write(chunk * (LIMIT // 65_536 + 1))  # and no end
        reply = await read_reply(reader)
    assert (reply.status, reply.error["details"]["reason"]) == (413, "body_too_large")


@pytest.mark.anyio
async def test_a_body_of_just_the_limit_is_read(here: Listening) -> None:
    body = with_species('"cat"')
    reply = await here.post(body + b" " * (LIMIT - len(body)), mcp_protocol_version=VERSION, mcp_method="tools/call",
                            mcp_name="list_animals")  # fmt: skip
    assert reply.status == 200


@pytest.mark.anyio
async def test_five_megabytes_of_arguments_are_refused_and_the_next_call_is_served(here: Listening) -> None:
    assert (await here.call("list_animals", {"species": "x" * (5 * 2**20)})).status == 413
    assert (await here.call("list_animals", {"species": "cat"})).status == 200


@pytest.mark.anyio
async def test_mcp_without_json_is_415(here: Listening) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        reply = await here.post(call("list_animals", {}), content_type=kind)
        assert (reply.status, reply.error["details"]["reason"]) == (415, "content_type")


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_json_that_is_no_message_is_400(here: Listening, era: str) -> None:
    headers = {"mcp_protocol_version": VERSION if era == "stateless" else "2025-11-25"}
    for document in (
        [],
        [call("list_animals", {})],
        "x",
        3,
        {"jsonrpc": "2.0"},
        {"id": 1, "method": "tools/list"},
        None,
    ):
        reply = await here.post(document, **headers)
        assert reply.status == 400, document
        assert reply.json["error"]["code"] in (-32600, -32602)


@pytest.mark.anyio
async def test_all_bodies_together_are_bounded() -> None:
    refused: list[int] = []
    served: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        served.append(len((await receive())["body"]))

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            refused.append(message["status"])

    bodies = Bodies(app, 1000, Draining(), Refusals(lambda call: None), held=1500)
    scope = {"type": "http", "method": "POST", "path": "/api/x", "headers": [(b"content-length", b"900")]}
    held = asyncio.Event()

    async def first() -> Any:
        if not held.is_set():
            held.set()
            return {"type": "http.request", "body": b"x" * 900, "more_body": True}
        return await asyncio.Event().wait()

    async def second() -> Any:
        return {"type": "http.request", "body": b"x" * 900, "more_body": False}

    slow = asyncio.create_task(bodies(scope, first, send))
    await asyncio.wait_for(held.wait(), 5)
    await asyncio.sleep(0)
    await bodies(scope, second, send)
    assert (refused, served) == ([503], [])
    slow.cancel()
    await asyncio.gather(slow, return_exceptions=True)
    await bodies(scope, second, send)
    assert (refused, served) == ([503], [900])


@pytest.mark.parametrize("text", ['{"a": [1, {"b": null}], "c": "\\ud83d\\ude00 é", "d": -1.5e-400}', "1", '"x"', "[]"])
def test_strict_json_reads_what_json_is(text: str) -> None:
    assert loads(text.encode()) == json.loads(text)


def test_strict_json_counts_levels_from_the_outside() -> None:
    loads(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    loads(b"[" + b",".join([b"[]"] * 1000) + b"]")
    with pytest.raises(NotStrictError, match="nested deeper"):
        loads(b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1))


def test_strict_json_refuses_a_number_longer_than_any_column_holds() -> None:
    assert loads(b"1" * 300) == int("1" * 300)
    with pytest.raises(NotStrictError, match=r"digits|out of range"):
        loads(b"1" * 401)
