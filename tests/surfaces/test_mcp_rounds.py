"""Questions round by round, as a client without a session has them, and states that are not their own."""

import json
import stat
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from jackfield.graphs.model import Json

from .asking_graphs import NAME, asking
from .serving import served

pytestmark = pytest.mark.anyio
CAN: Json = {"elicitation": {}}


async def call(url: str, name: str, *, can: Json = CAN, headers: Json = None, **params: Any) -> tuple[int, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": can,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    sent = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
        **(headers or {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "_meta": meta, **params}}
    async with httpx2.AsyncClient(timeout=10) as client:
        reply = await client.post(url, headers=sent, json=body)
    return reply.status_code, reply.json()


def accept(name: str) -> Json:
    return {"action": "accept", "content": {"name": name}}


async def test_the_first_question_ends_the_call_and_the_answer_completes_it(tmp_path: Path) -> None:
    async with served(asking(tmp_path)) as server:
        _, first = await call(server.url, "greet", arguments={})
        asked = first["result"]
        assert asked["resultType"] == "input_required"
        assert asked["inputRequests"] == {
            "who": {
                "method": "elicitation/create",
                "params": {"mode": "form", "message": "Your name?", "requestedSchema": NAME},
            }
        }
        assert "Your name" not in asked["requestState"]
        _, second = await call(
            server.url,
            "greet",
            arguments={},
            inputResponses={"who": accept("Ada"), "other": accept("Eve")},
            requestState=asked["requestState"],
        )
    assert second["result"]["content"] == [{"type": "text", "text": "Hello Ada"}]


async def test_an_answer_of_another_name_leaves_the_question_open(tmp_path: Path) -> None:
    async with served(asking(tmp_path)) as server:
        _, reply = await call(server.url, "greet", inputResponses={"wrong": accept("Ada")})
    assert list(reply["result"]["inputRequests"]) == ["who"]


async def test_an_answer_counts_for_the_question_that_it_was_given_to(tmp_path: Path) -> None:
    async with served(asking(tmp_path)) as server:
        _, first = await call(server.url, "twice")
        state = first["result"]["requestState"]
        _, second = await call(server.url, "twice", inputResponses={"who": accept("Ada")}, requestState=state)
        (name,) = second["result"]["inputRequests"]
        assert name != "who"
        state = second["result"]["requestState"]
        again = {"who": accept("Eve"), name: accept("Bob")}
        _, third = await call(server.url, "twice", inputResponses=again, requestState=state)
    assert third["result"]["content"][0]["text"] == "Ada and Bob"


async def test_rounds_of_many_clients_do_not_meet(tmp_path: Path) -> None:
    answers: dict[str, str] = {}

    async with served(asking(tmp_path)) as server:

        async def greet(name: str) -> None:
            _, first = await call(server.url, "greet")
            state = first["result"]["requestState"]
            _, second = await call(server.url, "greet", inputResponses={"who": accept(name)}, requestState=state)
            answers[name] = second["result"]["content"][0]["text"]

        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(greet, f"guest {number}")
        assert len(server.calls) == 80
    assert answers == {f"guest {number}": f"Hello guest {number}" for number in range(40)}


async def test_what_a_client_cannot_be_asked_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    async with served(asking(tmp_path)) as server:
        status, reply = await call(server.url, "greet", can={})
        _, page = await call(server.url, "visit")
    assert (status, reply["error"]["code"]) == (400, -32021)
    assert reply["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert page["error"]["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}


@pytest.mark.parametrize("change", ["tampered", "other arguments", "other tool", "foreign"])
async def test_a_state_that_is_not_that_of_this_call_is_refused(tmp_path: Path, change: str) -> None:
    async with served(asking(tmp_path)) as server:
        _, first = await call(server.url, "greet", arguments={})
        state = first["result"]["requestState"]
        name, arguments = "greet", {}
        if change == "tampered":
            state += "x"
        elif change == "other arguments":
            arguments = {"x": 1}
        elif change == "other tool":
            name = "visit"
        else:
            state = json.dumps({"known": {}, "asked": {}})
        status, reply = await call(
            server.url, name, arguments=arguments, inputResponses={"who": accept("Ada")}, requestState=state
        )
    assert (status, reply["error"]["code"]) == (400, -32602)
    assert "result" not in reply


async def test_a_state_holds_after_a_restart_and_its_key_is_the_owners_alone(tmp_path: Path) -> None:
    path = asking(tmp_path)
    async with served(path) as server:
        _, first = await call(server.url, "greet")
    state = first["result"]["requestState"]
    async with served(path) as server:
        _, second = await call(server.url, "greet", inputResponses={"who": accept("Ada")}, requestState=state)
    assert second["result"]["content"][0]["text"] == "Hello Ada"
    key = tmp_path / ".jackfield" / "request_state.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_bytes()) == 32


def by_token(scope: Any) -> str | None:
    headers = {name: value.decode() for name, value in scope["headers"]}
    return {"Bearer a": "ada", "Bearer b": "bob"}.get(headers.get(b"authorization", ""))


async def test_a_state_is_of_use_to_its_own_principal_only(tmp_path: Path) -> None:
    async with served(asking(tmp_path), authenticate=by_token) as server:
        ada, bob = {"authorization": "Bearer a"}, {"authorization": "Bearer b"}
        _, first = await call(server.url, "greet", headers=ada)
        given = {"inputResponses": {"who": accept("Ada")}, "requestState": first["result"]["requestState"]}
        status, stolen = await call(server.url, "greet", headers=bob, **given)
        _, own = await call(server.url, "greet", headers=ada, **given)
    assert (status, stolen["error"]["code"]) == (400, -32602)
    assert own["result"]["content"][0]["text"] == "Hello Ada"
