"""What is no message, or whose params do not fit, is told in one sentence what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from servers.listening import Listening, Reply, call, listening

from .serving import zoo
from .test_http_endings import session

pytestmark = pytest.mark.anyio


def error_of(reply: Reply) -> Any:
    body = reply.body.partition(b"data: ")[2] or reply.body
    return Reply(reply.status, reply.headers, body).json["error"]


@pytest.mark.parametrize("version", [{}, {"mcp_protocol_version": "2026-07-28"}], ids=["no version", "stateless"])
@pytest.mark.parametrize(
    ("document", "wrong"),
    [
        ({"a": 1}, "'jsonrpc' is not \"2.0\""),
        ([], "a list"),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], "a list"),
        (7, "no object"),
        ({"jsonrpc": "2.0"}, "no 'method'"),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, "'method' is no text"),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, "'params' is no object"),
    ],
)
async def test_what_is_no_message_is_told_why(
    tmp_path: Path, document: Any, wrong: str, version: dict[str, str]
) -> None:
    async with listening(zoo(tmp_path)) as here:
        reply = await here.post(document, **version)
    error = error_of(reply)
    assert (reply.status, error["code"]) == (400, -32600)
    assert wrong in error["message"]
    assert len(error["message"]) < 250
    assert "pydantic" not in error["message"]


async def refused(here: Listening, document: Any, **headers: str) -> str:
    error = error_of(await here.post(document, **headers))
    assert error["code"] == -32602
    return str(error["message"])


@pytest.mark.parametrize("era", ["handshake", "stateless"])
async def test_arguments_that_are_no_object_are_named(tmp_path: Path, era: str) -> None:
    async with listening(zoo(tmp_path)) as here, session(here) as headers:
        message = call("list_animals", ["s3cret"])
        if era == "stateless":
            said = str(error_of(await here.call("list_animals", ["s3cret"]))["message"])
        else:
            del message["params"]["_meta"]
            said = await refused(here, message, **headers)
    assert said == "The params of tools/call do not fit. 'arguments': input should be a valid object."


async def test_a_handshake_that_says_nothing_is_told_what_it_must_say(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here:
        said = await refused(here, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    assert said == (
        "The params of initialize do not fit. 'capabilities': field required; 'clientInfo': field required;"
        " 'protocolVersion': field required."
    )
