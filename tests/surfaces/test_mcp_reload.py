"""Catalogs that change while they are served: who is told, how often, and what calls under way see."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
from mcp.client import Client
from mcp.server.connection import Connection
from mcp.server.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged

from jackfield.surfaces.mcp_server.subscriptions import Subscriptions

from .serving import ERAS, LIST_ANIMALS, REPORT, SOURCE, connector, served, zoo

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:resources/.*subscribe is removed"),
]
SCHEMA = "jackfield://connectors/zoo/schema"


class Heard:
    """What a client of either era was told, as method names and URIs."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self._more = anyio.Event()

    def add(self, what: str) -> None:
        self.said.append(what)
        self._more.set()

    async def until(self, what: str, times: int) -> None:
        with anyio.fail_after(10):
            while self.said.count(what) < times:
                self._more = anyio.Event()
                await self._more.wait()

    async def handler(self, message: Any) -> None:
        """Of a client with a session."""
        if isinstance(message, mcp_types.ResourceUpdatedNotification):
            self.add(message.params.uri)
        elif hasattr(message, "method"):
            self.add(message.method.removeprefix("notifications/").partition("/")[0])

    async def listen(self, client: Client, ready: anyio.Event) -> None:
        """Of a client without one."""
        names = {ToolsListChanged: "tools", PromptsListChanged: "prompts", ResourcesListChanged: "resources"}
        async with client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=[SCHEMA],
        ) as subscription:
            ready.set()
            async for event in subscription:
                self.add(event.uri if isinstance(event, ResourceUpdated) else names[type(event)])


def edit(folder: Path, number: int) -> None:
    """The connector anew, whole at once, with another tool."""
    more = {**LIST_ANIMALS, "id": f"list_animals_{number}"}
    text = connector(folder, slug="draft", sources=[SOURCE], tools=[LIST_ANIMALS, more], skills=[REPORT])
    document = {**json.loads(text.read_text()), "slug": "zoo", "version": f"1.0.{number}"}
    text.write_text(json.dumps(document))
    text.replace(folder / "zoo.connector.json")


@pytest.mark.parametrize("era", ERAS)
async def test_each_edit_is_told_once_and_what_is_listed_then_is_new(tmp_path: Path, era: str) -> None:
    heard = Heard()
    options = {"message_handler": heard.handler} if era == "legacy" else {}
    async with (
        served(zoo(tmp_path)) as server,
        server.client(era, **options) as client,
        anyio.create_task_group() as tasks,
    ):
        if era == "auto":
            ready = anyio.Event()
            tasks.start_soon(heard.listen, client, ready)
            await ready.wait()
        else:
            await client.subscribe_resource(SCHEMA)
        for number in (1, 2):
            edit(tmp_path, number)
            await heard.until("tools", number)
            await heard.until(SCHEMA, number)
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert f"list_animals_{number}" in names
            assert f"list_animals_{number - 1}" not in names
        tasks.cancel_scope.cancel()
    assert sorted(heard.said) == sorted(["tools", "prompts", "resources", SCHEMA] * 2)


async def test_a_broken_edit_and_a_touched_file_are_told_to_nobody(tmp_path: Path) -> None:
    heard = Heard()
    path = zoo(tmp_path)
    async with served(path) as server, server.client("legacy", message_handler=heard.handler) as client:
        whole = path.read_text()
        path.write_text(whole[:100])
        await server.service.refresh()
        assert server.service.app.catalog.findings
        path.write_text(whole)
        await server.service.refresh()
        assert not server.service.app.catalog.findings
        await client.list_tools()
    assert heard.said == []


async def test_a_client_that_unsubscribed_is_not_told_of_the_resource(tmp_path: Path) -> None:
    heard = Heard()
    async with served(zoo(tmp_path)) as server, server.client("legacy", message_handler=heard.handler) as client:
        await client.subscribe_resource(SCHEMA)
        await client.unsubscribe_resource(SCHEMA)
        edit(tmp_path, 1)
        await heard.until("resources", 1)
        await client.list_tools()
    assert SCHEMA not in heard.said


@pytest.mark.parametrize("era", ERAS)
async def test_calls_go_on_while_the_file_is_edited_and_answer_from_one_version_each(tmp_path: Path, era: str) -> None:
    """Fifty calls a second for three seconds; the file is edited five times meanwhile."""

    def version(number: int) -> None:
        rows = [{"id": number, "name": "Tom", "species": "cat"}]
        tool = {**LIST_ANIMALS, "sql": f"SELECT id, {number} AS version FROM animals LIMIT 10", "parameters": []}
        text = connector(tmp_path, slug="draft", sources=[{**SOURCE, "rows": rows}], tools=[tool])
        text.write_text(text.read_text().replace('"draft"', '"zoo"'))
        text.replace(tmp_path / "zoo.connector.json")

    version(0)
    seen: list[int] = []
    heard = Heard()
    async with (
        served(tmp_path / "zoo.connector.json") as server,
        server.client("legacy", message_handler=heard.handler),
        server.client(era) as client,
        anyio.create_task_group() as tasks,
    ):

        async def call() -> None:
            answer = await client.call_tool("list_animals", {})
            assert not answer.is_error, answer
            assert answer.structured_content is not None
            (row,) = answer.structured_content["rows"]
            assert row["id"] == row["version"]
            seen.append(row["version"])

        began = anyio.current_time()
        for number in range(150):
            tasks.start_soon(call)
            if number % 25 == 24 and number < 149:
                await heard.until("tools", number // 25)
                version(number // 25 + 1)
            await anyio.sleep_until(began + number / 50)
        await heard.until("tools", 5)
        tasks.start_soon(call)
    assert len(seen) == 151
    assert seen[-1] == 5
    assert heard.said.count("tools") == 5
    assert len(server.calls) == 151


class Stuck:
    """The way to a client that has stopped reading."""

    def __init__(self) -> None:
        self.tried = 0

    async def send_raw_request(self, method: str, params: Any, opts: Any = None) -> dict[str, Any]:
        raise AssertionError("nobody is asked anything")

    async def notify(self, method: str, params: Any, opts: Any = None) -> None:
        self.tried += 1
        await anyio.sleep_forever()


async def test_a_session_that_does_not_read_keeps_the_others_and_the_catalog_from_nothing(tmp_path: Path) -> None:
    stuck = Stuck()
    heard = Heard()
    async with served(zoo(tmp_path)) as server:
        connection = Connection.for_loop(stuck)
        connection.initialized.set()
        subscriptions = Subscriptions(server.service)
        subscriptions.watch(connection)
        async with server.client("legacy", message_handler=heard.handler) as client:
            await client.list_tools()
            edit(tmp_path, 1)
            await server.service.refresh()
            await heard.until("tools", 1)
            edit(tmp_path, 2)
            await server.service.refresh()
            await heard.until("tools", 2)
            assert "list_animals_2" in server.service.offer.tools
    assert stuck.tried == 2
