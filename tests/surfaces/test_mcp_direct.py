"""A plain call that goes straight to the answer is answered as the SDK answers it; any other goes to the SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from jackfield.surfaces.mcp_server import direct

from .serving import Served, served

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
}
DOCUMENT = {
    "name": "Numbers",
    "slug": "numbers",
    "version": "1.0.0",
    "sources": [
        {"id": "numbers", "type": "rows", "rows": [{"n": n, "word": f'"{n}" æ'} for n in range(60)]},
        {"id": "broad", "type": "rows", "rows": [{"text": "x" * 50_000}]},
    ],
    "tools": [
        {
            "id": "list_numbers",
            "name": "List numbers",
            "category": "READ",
            "description": "Return numbers from the first one on, in order.",
            "sql": "SELECT n, word FROM numbers WHERE n >= :first ORDER BY n",
            "parameters": [{"name": "first", "type": "int", "description": "Least number", "required": True}],
        },
        {
            "id": "get_text",
            "name": "Get text",
            "category": "READ",
            "description": "Return one text that is too long.",
            "sql": "SELECT text FROM broad LIMIT 1",
            "parameters": [],
        },
        {
            "id": "pause",
            "name": "Pause",
            "category": "READ",
            "description": "Return nothing after a graph that has no SQL.",
            "graph": {
                "nodes": [
                    {"id": "in", "type": "input", "configuration": {"schema": {"type": "object", "properties": {}}}},
                    {"id": "out", "type": "output"},
                ],
                "edges": [{"from": "in", "to": "out", "out": "*", "in": ""}],
            },
            "parameters": [],
        },
    ],
}  # fmt: skip


def message(name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments, "_meta": META},
        **more,
    }


@asynccontextmanager
async def up(folder: Path) -> AsyncIterator[Served]:
    file = folder / "numbers.connector.json"
    file.write_text(json.dumps(DOCUMENT), "utf-8")
    async with served(file) as one:
        yield one


async def both(url: str, body: Any, monkeypatch: pytest.MonkeyPatch, **headers: str) -> list[tuple[int, Any]]:
    """The answer as it is given, and as the SDK alone gives it."""
    name = str(body["params"].get("name"))
    answers = []
    async with httpx2.AsyncClient() as client:
        for is_direct in (True, False):
            with monkeypatch.context() as patch:
                if not is_direct:
                    patch.setattr(direct.Direct, "_plain_call", lambda self, scope: None)
                reply = await client.post(url, json=body, headers={**HEADERS, "mcp-name": name, **headers})
                answers.append((reply.status_code, reply.json()))
    return answers


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_numbers", {"first": 55}),
        ("list_numbers", {"first": "12"}),
        ("list_numbers", {}),
        ("list_numbers", None),
        ("list_numbers", {"first": 1, "frist": 2}),
        ("get_text", {}),
    ],
)
async def test_the_answer_is_the_sdks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, arguments: Any
) -> None:
    async with up(tmp_path) as one:
        ours, theirs = await both(one.url, message(name, arguments), monkeypatch)
    for _, answer in (ours, theirs):  # the whole of a cut answer is kept under a name of its own each time
        for block in answer["result"]["content"]:
            block.pop("uri", None), block.pop("name", None)
    assert ours == theirs


@pytest.mark.anyio
async def test_a_page_of_a_longer_answer_is_the_sdks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with up(tmp_path) as one:
        answers = await both(one.url, message("list_numbers", {"first": 1}), monkeypatch)
        for _, answer in answers:
            result = answer["result"]
            assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
            cursor = result["structuredContent"].pop("next_cursor")
            assert cursor
            result["content"] = [block["type"] for block in result["content"]]
        assert answers[0] == answers[1]
        assert answers[0][1]["result"]["content"] == ["text", "resource_link"]
        (_, rest), _ = await both(one.url, message("list_numbers", {"cursor": cursor}), monkeypatch)
        assert rest["result"]["structuredContent"]["rows"][0]["n"] == 51


ODD: list[tuple[str, dict[str, Any], dict[str, str]]] = [
    ("no such tool", message("nothing", {}), {}),
    ("a graph", message("pause", {}), {}),
    ("another name in the header", message("list_numbers", {"first": 1}), {"mcp-name": "get_text"}),
    ("another method in the header", message("list_numbers", {"first": 1}), {"mcp-method": "tools/list"}),
    ("no event streams", message("list_numbers", {"first": 58}), {"accept": "application/json"}),
    ("any media", message("list_numbers", {"first": 58}), {"accept": "*/*"}),
    ("a fraction as id", message("list_numbers", {"first": 58}, id=1.5), {}),
    ("no id", message("list_numbers", {"first": 58}, id=None), {}),
    ("a list of arguments", message("list_numbers", [1]), {}),
    ("another version", message("list_numbers", {"first": 58}, jsonrpc="1.0"), {}),
    ("a member more", message("list_numbers", {"first": 58}, extra=1), {}),
    ("no meta", {**message("list_numbers", {}), "params": {"name": "list_numbers", "arguments": {}}}, {}),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("body", "headers"), [case[1:] for case in ODD], ids=[case[0] for case in ODD])
async def test_what_is_not_plain_is_left_to_the_sdk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: dict[str, Any], headers: dict[str, str]
) -> None:
    async with up(tmp_path) as one:
        answered: list[str] = []
        real = direct.Direct._answered

        async def told(self: Any, offered: Any, *rest: Any) -> bytes:
            answered.append(offered.name)
            return await real(self, offered, *rest)

        monkeypatch.setattr(direct.Direct, "_answered", told)
        async with httpx2.AsyncClient() as client:
            name = str(body["params"]["name"])
            reply = await client.post(one.url, json=body, headers={**HEADERS, "mcp-name": name, **headers})
        assert answered == []
        assert reply.status_code in (200, 202, 400, 404, 406)


@pytest.mark.anyio
async def test_progress_that_is_asked_for_is_told(tmp_path: Path) -> None:
    body = message("list_numbers", {"first": 58})
    body["params"]["_meta"] = {**META, "progressToken": 1}
    async with up(tmp_path) as one, httpx2.AsyncClient() as client:
        reply = await client.post(one.url, json=body, headers={**HEADERS, "mcp-name": "list_numbers"})
    assert "notifications/progress" in reply.text


@pytest.mark.anyio
async def test_a_direct_call_is_recorded_as_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with up(tmp_path) as one:
        await both(one.url, message("list_numbers", {"first": 58}), monkeypatch)
        ours, theirs = one.calls
    for name in ("name", "connector", "tool", "category", "rows", "bytes"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert (ours.caller.principal, ours.caller.client, ours.caller.era) == ("local", "test/1", "stateless")
