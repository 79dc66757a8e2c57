"""App.call: one function for every surface. What it runs, what it keeps, what it forgets, and what it never tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from servers.http import HttpServer, Reply, Seen

from jackfield.engine.events import Event
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.surfaces.app import App
from jackfield.surfaces.settings import load

from .test_call import ROWS, TOOLS, connector

READ = {"id": "list_animals", "name": "List animals", "category": "READ", "parameters": [],
        "description": "Return the first hundred animals.", "sql": "SELECT id FROM animals LIMIT 100"}  # fmt: skip


def rename(url: str) -> dict[str, Any]:
    return {"id": "rename_animal", "name": "Rename animal", "category": "ACTION",
            "description": "Update the name of one animal.", "request": {"method": "POST", "url": f"{url}/animals"},
            "parameters": []}  # fmt: skip


def app(path: Path, **variables: str) -> App:
    return App([path], settings=load(path.parent, {}), variables=variables)


@pytest.mark.anyio
async def test_the_graph_that_runs_is_the_tools_graph_and_its_events_show_each_node(tmp_path: Path) -> None:
    path = connector(tmp_path, [{"id": "sales", "type": "rows", "rows": ROWS}], TOOLS)
    heard: list[Event] = []
    async with app(path) as opened:
        result = await opened.call("shop", "list_sales", {}, listener=heard.append)
        tool = opened.connector("shop").tools["list_sales"]
        assert result.run is not None
        assert result.run.graph_hash == tool.graph.hash
    assert {node.id for node in tool.graph.nodes} <= {event.node for event in result.run.events}
    assert heard[-1].kind == "run_finished"


@pytest.mark.anyio
async def test_rows_are_cached_until_a_write_of_their_connector_or_a_fresh_call(tmp_path: Path) -> None:
    with HttpServer({"/animals": [{"id": 1}], "POST /animals": {"done": True}}) as server:
        source = {"id": "animals", "type": "rest", "url": f"{server.url}/animals"}
        path = connector(tmp_path, [source], [READ, rename(server.url)])

        def pulls() -> int:
            return sum(seen.method == "GET" for seen in server.requests)

        async with app(path) as opened:
            await opened.call("shop", "list_animals", {})
            await opened.call("shop", "list_animals", {})
            assert pulls() == 1
            await opened.call("shop", "list_animals", {}, fresh=True)
            assert pulls() == 2
            answer = await opened.call("shop", "rename_animal", {})
            assert answer.value["response"]["body"] == {"done": True}
            await opened.call("shop", "list_animals", {})
            assert pulls() == 3


@pytest.mark.anyio
async def test_pages_are_the_size_that_was_asked_for_and_bound_to_their_principal(tmp_path: Path) -> None:
    tool = {**READ, "sql": "SELECT unnest(range(7)) AS id FROM animals", "result": {"max_rows": 5}}
    path = connector(tmp_path, [{"id": "animals", "type": "rows", "rows": [{"id": 1}]}], [tool])
    async with app(path) as opened:
        whole = await opened.call("shop", "list_animals", {})
        assert whole.as_json()["row_count"] == 7
        first = (await opened.call("shop", "list_animals", {}, page=3, principal="ada")).as_json()
        assert [row["id"] for row in first["rows"]] == [0, 1, 2]
        assert (first["total_rows"], first["truncated"]) == (7, True)
        cursor = first["next_cursor"]
        rest = await opened.call("shop", "list_animals", {}, page=3, principal="ada", cursor=cursor)
        assert rest.as_json()["truncation_reason"] == "result_cap"
        assert [row["id"] for row in rest.as_json()["rows"]] == [3, 4]
        with pytest.raises(JackfieldError) as caught:
            await opened.call("shop", "list_animals", {}, principal="eve", cursor=cursor)
        assert caught.value.code is Code.RESULT_EXPIRED


@pytest.mark.anyio
async def test_a_secret_that_an_upstream_repeats_is_not_in_the_error(tmp_path: Path) -> None:
    def echo(seen: Seen) -> Any:
        return Reply({"error": f"bad token {seen.headers['authorization']}"}, 500)

    with HttpServer({"/animals": echo}) as server:
        source = {"id": "animals", "type": "rest", "url": f"{server.url}/animals",
                  "auth": {"type": "bearer", "secret_key": "TOKEN"}}  # fmt: skip
        async with app(connector(tmp_path, [source], [READ]), TOKEN="very-secret-word") as opened:
            with pytest.raises(JackfieldError) as caught:
                await opened.call("shop", "list_animals", {}, timeout_s=5)
    error = json.dumps(caught.value.as_json())
    assert "very-secret-word" not in error
    assert caught.value.code is Code.SOURCE_ERROR


@pytest.mark.anyio
async def test_a_graph_calls_the_tools_of_connectors_beside_it(tmp_path: Path) -> None:
    connector(tmp_path, [{"id": "sales", "type": "rows", "rows": ROWS}], TOOLS)
    graph = {
        "nodes": [{"id": "sales", "type": "tool", "configuration": {"tool": "shop/list_sales", "kind": "map"}},
                  {"id": "output", "type": "output"}],
        "edges": [{"from": "sales", "out": "rows", "to": "output", "in": "rows"}],
    }  # fmt: skip
    (tmp_path / "board.bgl.json").write_text(json.dumps(graph))
    elsewhere = load(tmp_path / "elsewhere", {})
    async with App([tmp_path / "board.bgl.json"], settings=elsewhere, variables={}) as opened:
        result = await opened.call("board", "board", {})
        assert result.as_json()["rows"][0]["id"] == 2


@pytest.mark.anyio
async def test_a_capped_source_says_so_in_the_answer(tmp_path: Path) -> None:
    def page(seen: Seen) -> Any:
        number = int(seen.query["page"])
        return [{"id": number * 2}, {"id": number * 2 + 1}]

    with HttpServer({"/animals": page}) as server:
        pages = {"strategy": "page", "page_param": "page", "size_param": "size", "page_size": 2, "max_pages": 3}
        source = {"id": "animals", "type": "rest", "url": f"{server.url}/animals", "pagination": pages}
        async with app(connector(tmp_path, [source], [READ])) as opened:
            answer = (await opened.call("shop", "list_animals", {})).as_json()
    assert (answer["row_count"], answer["truncated"]) == (6, True)
    assert (answer["truncation_reason"], answer["total_rows"]) == ("source_cap", None)


@pytest.mark.anyio
async def test_the_settings_deadline_ends_a_call(tmp_path: Path) -> None:
    from servers.http import Hang

    hang = Hang()
    with HttpServer({"/animals": hang}) as server:
        path = connector(tmp_path, [{"id": "animals", "type": "rest", "url": f"{server.url}/animals"}], [READ])
        settings = load(tmp_path, {"JACKFIELD_CALL_TIMEOUT_S": "0.5"})
        async with App([path], settings=settings) as opened:
            with pytest.raises(JackfieldError) as caught:
                await opened.call("shop", "list_animals", {})
    assert caught.value.code in (Code.QUERY_TIMEOUT, Code.SOURCE_TIMEOUT)
    assert hang.closed.wait(1)


@pytest.mark.anyio
async def test_a_model_runs_a_skill_with_its_tools_where_one_is_configured(tmp_path: Path) -> None:
    def chat(seen: Seen) -> Any:
        asked = seen.json()
        if not any(message["role"] == "tool" for message in asked["messages"]):
            call = {"id": "c1", "type": "function", "function": {"name": "list_animals", "arguments": "{}"}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        else:
            message = {"role": "assistant", "content": "There is one animal."}
        return {"choices": [{"message": message}]}

    skills = [{"id": "animal_report", "name": "Animal report", "description": "Count the animals that are there.",
               "tool_ids": ["list_animals"], "prompt_template": "Count the animals."}]  # fmt: skip
    path = connector(tmp_path, [{"id": "animals", "type": "rows", "rows": [{"id": 1}]}], [READ], skills=skills)
    with HttpServer({"POST /v1/chat/completions": chat}) as server:
        model = {"JACKFIELD_MODEL_URL": f"{server.url}/v1", "JACKFIELD_MODEL_NAME": "small"}
        async with App([path], settings=load(tmp_path, model), variables={}) as opened:
            answered = await opened.call("shop", "animal_report", {})
    assert answered.value["answer"] == "There is one animal."
    async with App([path], settings=load(tmp_path, {}), variables={}) as opened:
        rendered = await opened.call("shop", "animal_report", {})
    assert rendered.value["prompt"].startswith("Count the animals.")
