"""`jackfield serve` over the demo, as the official Python client meets it: over HTTP and stdio, in both eras."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from anyio.streams.text import TextReceiveStream
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.server.subscriptions import ResourceUpdated
from mcp_types import PromptReference
from watchfiles import awatch

from jackfield.surfaces.demo_world import TOKEN, lay_workspace, live_api

from .serving import ERAS

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:resources/.*subscribe is removed"),
]
COMMAND = [sys.executable, "-m", "jackfield.surfaces.cli", "serve"]
LIST_ORDERS = {
    "id": "list_orders", "name": "List orders", "category": "READ", "parameters": [],
    "description": "Return the first orders by their id. Returns up to 200 rows.",
    "sql": "SELECT id, day FROM orders ORDER BY id LIMIT 200",
}  # fmt: skip
# A hundred billion triples are not counted within the test.
COUNT_TRIPLES = {
    "id": "count_triples", "name": "Count triples", "category": "READ", "parameters": [],
    "description": "Count the triples of orders that come one after the other.",
    "sql": "SELECT count(*) AS triples FROM orders a, orders b, orders c WHERE a.id < b.id AND b.total < c.total",
}  # fmt: skip
EVERY = [(transport, era) for transport in ("http", "stdio") for era in ERAS]


@asynccontextmanager
async def demo(transport: str, era: str, folder: Path, **options: Any) -> AsyncIterator[Client]:
    """A client of `jackfield serve` as a process of its own, in the workspace of the demo."""
    lay_workspace(folder)
    _add_tool(folder, LIST_ORDERS)
    _add_tool(folder, COUNT_TRIPLES)
    with live_api(0) as api:
        environment = {**os.environ, "SHOP_API": api, "SHOP_TOKEN": TOKEN}
        if transport == "stdio":
            server = StdioServerParameters(
                command=COMMAND[0], args=[*COMMAND[1:], "--stdio", str(folder)], env=environment, cwd=folder
            )
            async with Client(server, mode=era, **options) as client:
                yield client
            return
        command = [*COMMAND, "--port", "0", str(folder)]
        async with await anyio.open_process(command, cwd=folder, env=environment, stderr=None) as process:
            assert process.stdout is not None
            with anyio.fail_after(30):
                url = (await TextReceiveStream(process.stdout).receive()).strip()
            async with Client(f"{url}/mcp", mode=era, **options) as client:
                yield client
            process.terminate()


@pytest.mark.parametrize(("transport", "era"), EVERY)
async def test_a_client_lists_calls_paginates_reads_prompts_and_completes(
    tmp_path: Path, transport: str, era: str
) -> None:
    told: list[float] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with demo(transport, era, tmp_path / "demo") as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"revenue_by_region", "get_customer", "export_revenue", "build-connector"} <= tools

        answer = await client.call_tool(
            "revenue_by_region", {"since": "2026-03-01", "countries": ["NO", "SE"]}, progress_callback=heard
        )
        assert answer.structured_content is not None
        assert [row["region"] for row in answer.structured_content["rows"]] == ["Nordics"]
        block = answer.content[0]
        assert block.type == "text"
        assert json.loads(block.text) == answer.structured_content
        assert told == sorted(set(told))
        assert told

        export = await client.call_tool("export_revenue", {"since": "2026-01-01"})
        assert not export.is_error
        wrong = await client.call_tool("get_customer", {"customer": "first"})
        assert wrong.is_error
        assert (wrong.structured_content or {})["error"]["code"] == "VALIDATION_INVALID_PARAMS"

        (content,) = (await client.read_resource("jackfield://connectors/shop/sources/customers/sample")).contents
        assert json.loads(content.model_dump()["text"])["row_count"] == 20
        (content,) = (await client.read_resource("elliot://docs/principles")).contents
        assert "Descriptions are contracts" in content.model_dump()["text"]

        prompt = await client.get_prompt("weekly_report")
        assert "revenue_by_region" in prompt.messages[0].content.model_dump()["text"]
        ref = PromptReference(type="ref/prompt", name="lint-connector")
        assert (await client.complete(ref, {"name": "connector", "value": "s"})).completion.values == ["shop"]


@pytest.mark.parametrize(("transport", "era"), EVERY)
async def test_a_client_goes_on_at_a_cursor_and_reads_the_whole(tmp_path: Path, transport: str, era: str) -> None:
    async with demo(transport, era, tmp_path / "demo") as client:
        first = await client.call_tool("list_orders", {})
        body = first.structured_content
        assert body is not None
        assert (body["row_count"], body["truncated"]) == (50, True)
        second = await client.call_tool("list_orders", {"cursor": body["next_cursor"]})
        assert second.structured_content is not None
        assert second.structured_content["rows"][0]["id"] == 51
        (link,) = (block for block in first.content if block.type == "resource_link")
        (content,) = (await client.read_resource(str(link.uri))).contents
        assert [row["id"] for row in json.loads(content.model_dump()["text"])["rows"]] == list(range(1, 201))


@pytest.mark.parametrize(("transport", "era"), EVERY)
async def test_a_client_that_gives_up_is_served_on(tmp_path: Path, transport: str, era: str) -> None:
    """Cancelling a call ends it at the server: the line of the audit says so."""
    folder = tmp_path / "demo"
    async with demo(transport, era, folder) as client:
        with anyio.move_on_after(0.5) as given_up:
            await client.call_tool("count_triples", {})
        assert given_up.cancelled_caught
        with anyio.fail_after(5):
            async for _ in awatch(folder / ".jackfield" / "audit", yield_on_timeout=True, rust_timeout=100):
                if _audit(folder):
                    break
        assert not (await client.call_tool("get_customer", {"customer": 1})).is_error
    (line,) = [line for line in _audit(folder) if line["tool"] == "count_triples"]
    assert (line["error"], line["connector"]) == ("CANCELLED", "shop")


def _audit(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / ".jackfield" / "audit" / "audit.log").read_text().splitlines()]


def _add_tool(folder: Path, tool: dict[str, Any]) -> None:
    path = folder / "shop.connector.json"
    document = json.loads(path.read_text())
    document["tools"].append(tool)
    draft = folder / "draft.txt"
    draft.write_text(json.dumps(document))
    draft.replace(path)


@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_a_session_is_told_when_the_lists_change(tmp_path: Path, transport: str) -> None:
    said: list[str] = []
    changed = anyio.Event()

    async def handler(message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            changed.set()
        said.append(type(message).__name__)

    async with demo(transport, "legacy", tmp_path / "demo", message_handler=handler) as client:
        await client.list_tools()
        _add_tool(tmp_path / "demo", {**LIST_ORDERS, "id": "list_new_orders"})
        with anyio.fail_after(10):
            await changed.wait()
        assert "list_new_orders" in {tool.name for tool in (await client.list_tools()).tools}
    assert said.count("ToolListChangedNotification") == 1


@pytest.mark.parametrize(("transport", "era"), EVERY)
async def test_a_client_that_subscribed_is_told_of_the_resource(tmp_path: Path, transport: str, era: str) -> None:
    uri = "jackfield://connectors/shop/schema"
    told = anyio.Event()

    async def handler(message: Any) -> None:
        if isinstance(message, mcp_types.ResourceUpdatedNotification):
            assert message.params.uri == uri
            told.set()

    options = {"message_handler": handler} if era == "legacy" else {}
    async with demo(transport, era, tmp_path / "demo", **options) as client:
        before = (await client.read_resource(uri)).contents[0]
        with anyio.fail_after(20):
            if era == "legacy":
                await client.subscribe_resource(uri)
                _add_tool(tmp_path / "demo", {**LIST_ORDERS, "id": "list_new_orders"})
                await told.wait()
            else:
                async with client.listen(resource_subscriptions=[uri]) as subscription:
                    _add_tool(tmp_path / "demo", {**LIST_ORDERS, "id": "list_new_orders"})
                    async for event in subscription:
                        assert event == ResourceUpdated(uri)
                        break
        assert (await client.read_resource(uri)).contents[0] != before


@pytest.mark.parametrize("cancelled", [False, True])
async def test_the_end_of_stdin_ends_a_server_whose_client_still_listens_or_has_cancelled(
    tmp_path: Path, cancelled: bool
) -> None:
    _, *arguments = COMMAND
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    listen = {"_meta": meta, "notifications": {"toolsListChanged": True}}
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": listen},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"_meta": meta, "requestId": 1}},
    ]
    # Longer than the test may take: to wait for what nobody is going to answer would fail it.
    environment = {**os.environ, "JACKFIELD_SERVE_DRAIN_S": "600"}
    command = [sys.executable, *arguments, "--stdio", str(tmp_path)]
    async with await anyio.open_process(command, cwd=tmp_path, env=environment, stderr=None) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with anyio.fail_after(30):
            await process.stdin.send(f"{json.dumps(messages[0])}\n".encode())
            assert b"acknowledged" in await process.stdout.receive()
            if cancelled:
                await process.stdin.send(f"{json.dumps(messages[1])}\n".encode())
            await process.stdin.aclose()
            assert await process.wait() == 0
