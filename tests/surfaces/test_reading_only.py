"""A run of what only reads changes nothing, whatever its graph calls; and a deploy calls nothing that might."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from servers.http import HttpServer

from jackfield.graphs.bgl import from_json
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.surfaces.app import App
from jackfield.surfaces.settings import load

from .platform_bench import workbench

pytestmark = pytest.mark.anyio
EMPTY_INPUT = {"id": "in", "type": "input", "configuration": {"schema": {"type": "object", "properties": {}}}}


def tool(name: str, category: str, **parts: Any) -> dict[str, Any]:
    description = "Return what is there." if category == "READ" else "Send what is there."
    return {
        "id": name, "name": name, "category": category, "description": description, "parameters": [], **parts
    }  # fmt: skip


def graph(kind: str, **configuration: Any) -> dict[str, Any]:
    nodes = [{"id": "t", "type": kind, "configuration": configuration}, {"id": "out", "type": "output"}]
    return {"nodes": nodes, "edges": [{"from": "t", "to": "out", "out": "*", "in": ""}]}


def document(slug: str, *tools: Mapping[str, Any], **parts: Any) -> str:
    return json.dumps({"name": slug, "slug": slug, "version": "1.0.0", "sources": [], "tools": tools, **parts})


def sent(url: str) -> dict[str, Any]:
    return tool("send_it", "ACTION", request={"url": f"{url}/x"})


async def test_a_read_tool_is_refused_what_writes_by_each_way_to_it(tmp_path: Path) -> None:
    with HttpServer({"POST /x": {"done": True}, "/x": {"n": 1}}) as server:
        deep = {**graph("invoke", **{"$board": "#deep"}), "graphs": {"deep": graph("request", url=f"{server.url}/x")}}
        ways = {
            "by_node": graph("request", url=f"{server.url}/x"),
            "by_tool": graph("tool", tool="send_it"),
            "by_other": graph("tool", tool="other/send_it"),
            "by_map": graph("map", tool="send_it", items=[{}, {}]),
            "by_invoke": deep,
        }
        readers = [tool(name, "READ", graph=given) for name, given in ways.items()]
        again = [tool("by_two", "READ", graph=graph("tool", tool="by_tool"))]
        looks = [tool("look", "READ", graph=graph("request", url=f"{server.url}/x", method="GET"))]
        (tmp_path / "one.connector.json").write_text(document("one", sent(server.url), *readers, *again, *looks))
        (tmp_path / "two.connector.json").write_text(document("other", sent(server.url), prefix=True))
        async with App(settings=load(tmp_path, {}), variables={}) as app:
            for name in (*ways, "by_two"):
                with pytest.raises(JackfieldError) as refused:
                    await app.call("one", name, {})
                assert refused.value.code is Code.ACCESS_DENIED, name
                assert "(request) changes something" in refused.value.message
                assert server.requests == []
            assert (await app.call("one", "look", {})).category == "READ"
            assert [seen.method for seen in server.requests] == ["GET"]
            await app.call("one", "send_it", {})
            await app.run(from_json(ways["by_tool"]), {}, connector=app.connector("one"))  # a person runs a graph
            assert [seen.method for seen in server.requests] == ["GET", "POST", "POST"]


async def test_an_error_edge_does_not_make_a_refused_write_happen(tmp_path: Path) -> None:
    with HttpServer({"POST /x": {"done": True}}) as server:
        given = graph("request", url=f"{server.url}/x")
        given["edges"].append({"from": "t", "to": "out", "out": "$error", "in": "error"})
        (tmp_path / "one.connector.json").write_text(document("one", tool("peek", "READ", graph=given)))
        async with App(settings=load(tmp_path, {}), variables={}) as app:
            answer = await app.call("one", "peek", {})
            assert "ACCESS_DENIED" in json.dumps(answer.as_json())
            assert server.requests == []


async def test_a_deploy_of_a_read_tool_that_writes_is_blocked_and_nothing_is_sent(tmp_path: Path) -> None:
    with HttpServer({"POST /x": {"done": True}}) as server:
        async with workbench(tmp_path) as bench:
            other = document("other", sent(server.url))
            assert (await bench("deploy-connector", text=other))["blocks"] == []
            for given in (
                graph("tool", tool="other/send_it"),
                graph("request", url=f"{server.url}/x"),
                graph("map", tool="other/send_it", items=[{}]),
            ):
                told = await bench("deploy-connector", text=document("trick", tool("peek", "READ", graph=given)))
                assert [block["reason"] for block in told["blocks"]] == ["lint_errors"]
                assert told["blocks"][0]["findings"][0]["code"] == "CATEGORY_CONTRADICTED"
            assert server.requests == []
            assert bench.files() == ["connectors/other.connector.json"]
