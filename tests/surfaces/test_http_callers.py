"""Who calls: what is kept of one principal is not there for another, and answers never cross.

The cases are MCP-04, MCP-06, MCP-07 of the project's list.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from servers.listening import Listening, listening

from jackfield.surfaces.http.principals import local_only

from .serving import zoo

TOKENS = {"Bearer a-token": "alice", "Bearer b-token": "bob"}
INITIALIZE = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}  # fmt: skip
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def by_token(scope: Any) -> str | None:
    return TOKENS.get(dict(scope["headers"]).get(b"authorization", b"").decode())


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Listening]:
    async with listening(zoo(tmp_path), authenticate=by_token) as it:
        yield it


async def session_of(here: Listening, **headers: str) -> str:
    reply = await here.post(INITIALIZE, **headers)
    assert reply.status == 200
    session = reply.headers["mcp-session-id"]
    told = await here.post(INITIALIZED, mcp_session_id=session, mcp_protocol_version="2025-11-25", **headers)
    assert told.status == 202
    return session


@pytest.mark.anyio
async def test_mcp_06_a_session_of_alice_is_unknown_to_bob(here: Listening) -> None:
    session = await session_of(here, authorization="Bearer a-token")
    named = {"mcp_session_id": session, "mcp_protocol_version": "2025-11-25"}
    unknown = {**named, "mcp_session_id": "0" * 32}
    bob = {"authorization": "Bearer b-token", "accept": "application/json, text/event-stream"}
    body = json.dumps(LIST).encode()
    for method, path in (("POST", "/mcp"), ("DELETE", "/mcp"), ("GET", "/mcp"), ("POST", "/v1/mcp")):
        sent = (body if method == "POST" else b"", bob | {"content_type": "application/json"})
        foreign = await here.ask(method, path, sent[0], **sent[1], **named)
        missing = await here.ask(method, path, sent[0], **sent[1], **unknown)
        assert (foreign.status, foreign.body) == (404, missing.body)
        assert {**foreign.headers, "date": ""} == {**missing.headers, "date": ""}
    told = [(line["decision"], line["principal"], line["message"].split(":")[0]) for line in here.lines]
    assert told == [("denied", "bob", "mcp_-32600")] * 8
    assert (await here.post(LIST, **named, authorization="Bearer a-token")).status == 200
    assert (await here.post(LIST, **named)).status == 401


@pytest.mark.anyio
async def test_nobody_knows_who_asks_without_credentials(here: Listening) -> None:
    for method, path in (
        ("POST", "/mcp"),
        ("GET", "/readyz"),
        ("GET", "/metrics"),
        ("GET", "/api/tools"),
        ("GET", "/"),
    ):
        reply = await here.ask(method, path, authorization="Bearer wrong")
        assert (reply.status, reply.error["code"]) == (401, "AUTH_REQUIRED")
        assert reply.headers["www-authenticate"].startswith("Bearer")
    assert (await here.ask("GET", "/healthz")).status == 200
    assert [line["decision"] for line in here.lines] == ["denied"] * 5


@pytest.mark.anyio
async def test_the_principal_of_a_call_is_in_the_audit(here: Listening) -> None:
    await here.call("list_animals", {}, authorization="Bearer a-token")
    await here.call("list_animals", {}, authorization="Bearer b-token")
    assert [line["principal"] for line in here.lines] == ["alice", "bob"]


def test_by_default_this_machine_is_local_and_nobody_else_is_anybody() -> None:
    for address in ("127.0.0.1", "127.8.9.1", "::1", "::1%lo"):
        assert local_only({"client": (address, 1)}) == "local"
    for address in ("10.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0", "192.168.1.1", "", "localhost.evil.test"):
        assert local_only({"client": (address, 1)}) is None
    assert local_only({"client": None}) is None


@pytest.mark.anyio
@pytest.mark.parametrize("headers", [
    {"mcp_name": "safe_tool"}, {"mcp_method": "tools/list"}, {"mcp_protocol_version": "2026-07-29"}, {"mcp_name": ""},
    {"mcp_method": ""},
])  # fmt: skip
async def test_mcp_04_headers_that_say_otherwise_than_the_body_are_400(tmp_path: Path, headers: dict[str, str]) -> None:
    async with listening(zoo(tmp_path)) as here:
        reply = await here.call("list_animals", {}, 1, **headers)
        assert reply.status == 400
        assert reply.json["error"]["code"] == -32020
        told = [(line["decision"], line["principal"], line["message"].split(":")[0]) for line in here.lines]
        assert told == [("denied", "local", "mcp_-32020")]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_mcp_07_clients_that_use_the_same_id_at_once_get_their_own_answers(tmp_path: Path, era: str) -> None:
    wanted = {"cat": [1, 3], "dog": [2]}
    async with listening(zoo(tmp_path)) as here:

        async def ask(species: str) -> None:
            session = {} if era == "stateless" else {"mcp_session_id": await session_of(here)}
            for _ in range(5):
                if era == "stateless":
                    reply = await here.call("list_animals", {"species": species}, 7)
                    answer = reply.json
                else:
                    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                            "params": {"name": "list_animals", "arguments": {"species": species}}}  # fmt: skip
                    reply = await here.post(body, **session, mcp_protocol_version="2025-11-25")
                    answer = json.loads(reply.body.partition(b"data: ")[2])
                assert answer["id"] == 7
                assert [row["id"] for row in answer["result"]["structuredContent"]["rows"]] == wanted[species]

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(ask, ("cat", "dog")[number % 2])
    assert len(here.lines) == 100
