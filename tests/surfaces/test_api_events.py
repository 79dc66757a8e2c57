"""The live stream: a snapshot, then each call as it happens; nobody waits for who reads it."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest
from mcp.client import Client

from jackfield.surfaces import watchers
from jackfield.surfaces.api import events
from jackfield.surfaces.served import ServedCall

from .apiserving import api, following
from .serving import zoo
from .test_api_calls import by_token, numbers


@pytest.mark.anyio
async def test_a_call_over_mcp_is_on_the_stream_within_a_second(tmp_path: Path) -> None:
    """The seed's flow: list_animals {species: "cat"} → rows, an audit line, and the event."""
    zoo(tmp_path)
    async with api(tmp_path) as served, following(served) as stream:
        assert (await stream.next())[1] == "snapshot"
        async with Client(f"{served.url}/mcp") as agent:
            answer = await agent.call_tool("list_animals", {"species": "cat"})
            assert answer.structured_content is not None
            assert answer.structured_content["row_count"] == 2
            with anyio.fail_after(1):
                _, _, ended = await stream.next("call_ended")
        assert (ended["name"], ended["arguments"], ended["rows"]) == ("list_animals", {"species": "cat"}, 2)
        line = (await served.get("/audit")).json()["lines"][0]
        assert (line["tool"], line["args"], line["rows"]) == ("list_animals", {"species": "cat"}, 2)
        assert (line["run"], line["session_id"]) == (ended["run"], ended["session"])


@pytest.mark.anyio
async def test_the_stream_begins_with_a_snapshot_and_tells_the_events_of_nodes(tmp_path: Path) -> None:
    zoo(tmp_path)
    async with api(tmp_path) as served:
        await served.run("list_animals", species="dog")
        async with following(served) as stream:
            _, kind, snapshot = await stream.next()
            assert kind == "snapshot"
            assert [call["arguments"] for call in snapshot["recent"]] == [{"species": "dog"}]
            assert (snapshot["live"], snapshot["tools"]) == ([], 1)
            await served.run("list_animals", species="cat")
            seen = [await stream.next()]
            while seen[-1][1] != "call_ended":
                seen.append(await stream.next())
            assert seen[0][1] == "call_began"
            nodes = {data["node"] for _, kind, data in seen if kind == "node" and data["kind"] == "finished"}
            assert nodes >= {"input", "animals", "sql", "output"}
        async with following(served, "/events?nodes=false") as stream:
            await stream.next("snapshot")
            await served.run("list_animals")
            assert [(await stream.next())[1] for _ in range(2)] == ["call_began", "call_ended"]


@pytest.mark.anyio
async def test_a_reader_that_was_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    zoo(tmp_path)
    async with api(tmp_path) as served:
        async with following(served, "/events?nodes=false") as stream:
            await stream.next("snapshot")
            await served.run("list_animals", species="cat")
            last, _, _ = await stream.next("call_ended")
        await served.run("list_animals", species="dog")
        async with following(served, "/events?nodes=false", last_event_id=last) as stream:
            _, kind, data = await stream.next()
            assert (kind, data["arguments"]) == ("call_began", {"species": "dog"})
        async with following(served, "/events", last_event_id="of-another-process") as stream:
            assert (await stream.next())[1] == "snapshot"


@pytest.mark.anyio
async def test_a_new_catalog_is_told(tmp_path: Path) -> None:
    path = zoo(tmp_path)
    async with api(tmp_path) as served, following(served) as stream:
        await stream.next("snapshot")
        path.write_text(path.read_text().replace("Tom", "Tim"))
        await served.service.refresh()
        _, _, data = await stream.next("catalog_changed")
        assert (data["connectors"], data["tools"]) == (1, 1)


@pytest.mark.anyio
async def test_a_watcher_that_is_slow_is_told_how_much_it_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchers, "QUEUE", 4)
    zoo(tmp_path)
    async with api(tmp_path) as served:
        with served.observing.feed.watch("local", nodes=False) as watch:
            for _ in range(5):
                await served.run("list_animals")
            told = await watch.next(1)
            assert [event.kind for event in told] == ["gap", "call_began", "call_ended", "call_began", "call_ended"]
            assert told[0].data() == {"missed": 6}


@pytest.mark.anyio
async def test_a_reader_that_takes_nothing_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "WRITE_S", 0.2)
    monkeypatch.setattr(events, "SNAPSHOT", 500)
    zoo(tmp_path)
    async with api(tmp_path) as served:
        place = urlsplit(served.url)
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect((place.hostname, place.port))
            reader.sendall(
                f"GET /api/events HTTP/1.1\r\nHost: {place.netloc}\r\nAccept: text/event-stream\r\n\r\n".encode()
            )
            feed = served.observing.feed
            with anyio.fail_after(20):
                while not feed.watchers:
                    await anyio.lowlevel.checkpoint()
                while feed.watchers:
                    await served.run("list_animals", species="x" * 900)


@pytest.mark.anyio
async def test_an_idle_stream_is_kept_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.05)
    zoo(tmp_path)
    async with api(tmp_path) as served:
        headers = {"accept": "text/event-stream"}
        async with served.client.stream("GET", "/api/events", headers=headers) as response:
            with anyio.fail_after(10):
                async for line in response.aiter_lines():
                    if line.startswith(":"):
                        break


@pytest.mark.anyio
async def test_nobody_but_the_operator_watches_the_calls_of_others(tmp_path: Path) -> None:
    numbers(tmp_path, 3)
    async with (
        api(tmp_path, authenticate=by_token) as served,
        following(served, authorization="Bearer b") as stream,
    ):
        await stream.next("snapshot")
        for token in "ab":
            await served.post("/tools/list_numbers/run", headers={"authorization": f"Bearer {token}"})
        _, kind, data = await stream.next()
        assert (kind, data["principal"]) == ("call_began", "bob")
        while kind != "call_ended":
            _, kind, data = await stream.next()
            assert data.get("principal", "bob") == "bob"


@pytest.mark.anyio
async def test_a_run_that_nobody_watches_has_no_listener(tmp_path: Path) -> None:
    zoo(tmp_path)
    heard: list[int] = []
    async with api(tmp_path) as served:

        class Counting:
            def call_began(self, call: ServedCall) -> None:
                heard.append(len(call.listeners))

            def call_ended(self, call: ServedCall) -> None: ...

        served.service.observers = (*served.service.observers, Counting())
        await served.run("list_animals")
        async with following(served) as stream:
            await stream.next("snapshot")
            await served.run("list_animals")
        assert heard == [0, 1]


@pytest.mark.anyio
async def test_values_that_are_secret_are_in_no_event(tmp_path: Path) -> None:
    path = zoo(tmp_path)
    document = json.loads(path.read_text())
    document["tools"][0]["parameters"][0]["sensitive"] = True
    path.write_text(json.dumps(document))
    async with api(tmp_path) as served, following(served) as stream:
        await stream.next("snapshot")
        run = (await served.run("list_animals", species="a-secret-species")).headers["x-run-id"]
        text = ""
        kind = ""
        while kind != "call_ended":
            _, kind, data = await stream.next()
            text += json.dumps(data)
        text += (await served.get(f"/runs/{run}")).text + (await served.get("/runs")).text
        assert '"species": "***"' in text
        assert "a-secret" not in text


@pytest.mark.anyio
async def test_the_head_of_the_stream_does_not_last(tmp_path: Path) -> None:
    zoo(tmp_path)
    async with api(tmp_path) as served:
        answer = await served.client.head("/api/events")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        assert served.observing.feed.watchers == 0
