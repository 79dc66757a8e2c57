"""What an agent's own connector may send while its cases run and before it is served: what the person allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from servers.http import HttpServer

from jackfield.graphs.errors import Code

from .platform_bench import connector, workbench

pytestmark = pytest.mark.anyio
SECRET = "s3cret-of-the-operator"
ANIMALS = [{"id": 1, "name": "Tom"}]


def taking(url: str, **source: Any) -> str:
    """A connector whose only source sends the variable."""
    return connector(sources=[{"id": "animals", "type": "rest", "url": url, **source}])


WAYS: dict[str, dict[str, Any]] = {
    "auth": {"auth": {"type": "bearer", "secret_key": "PRIVATE"}},
    "params": {"params": {"q": "{{ env:PRIVATE }}"}},
    "headers": {"headers": {"x-note": "{{ env:PRIVATE }}"}},
}


@pytest.mark.parametrize("way", WAYS)
async def test_a_variable_that_nobody_allowed_goes_nowhere(tmp_path: Path, way: str) -> None:
    cases = json.dumps({"connector": "zoo", "cases": [{"id": "a", "tool_id": "list_animals", "arguments": {}}]})
    with HttpServer({"/animals": ANIMALS}) as server:
        text = taking(f"{server.url}/animals", **WAYS[way])
        async with workbench(tmp_path, variables={"PRIVATE": SECRET}) as bench:
            told = await bench("deploy-connector", text=text)
            assert [block["reason"] for block in told["blocks"]] == ["variables_not_allowed"]
            assert told["blocks"][0]["variable"] == "PRIVATE"
            refused = await bench.failed("run-eval", text=text, eval=cases)
            assert refused.code is Code.ACCESS_DENIED
            assert "discover.variables" in refused.hint
        assert server.requests == []
        assert SECRET not in json.dumps(told) + str(refused)


async def test_a_variable_that_the_person_listed_goes_out(tmp_path: Path) -> None:
    with HttpServer({"/animals": ANIMALS}) as server:
        settings = {"JACKFIELD_DISCOVER_VARIABLES": "PRIVATE"}
        async with workbench(tmp_path, variables={"PRIVATE": SECRET}, settings=settings) as bench:
            told = await bench("deploy-connector", text=taking(f"{server.url}/animals", **WAYS["auth"]))
        assert told["deployed"], told["blocks"]
        assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


async def test_what_a_served_connector_sends_may_be_sent_there_again_and_nowhere_else(tmp_path: Path) -> None:
    with HttpServer({"/animals": ANIMALS, "/more": ANIMALS}) as server, HttpServer({"/animals": ANIMALS}) as other:
        served = taking(f"{server.url}/animals", **WAYS["auth"])
        (tmp_path / "connectors").mkdir()
        (tmp_path / "connectors" / "zoo.connector.json").write_text(served)
        async with workbench(tmp_path, variables={"PRIVATE": SECRET}) as bench:
            again = json.loads(taking(f"{server.url}/more", **WAYS["auth"]))
            told = await bench("deploy-connector", text=json.dumps({**again, "version": "2.0.0"}))
            assert told["deployed"], told["blocks"]
            elsewhere = json.loads(taking(f"{other.url}/animals", **WAYS["auth"]))
            told = await bench("deploy-connector", text=json.dumps({**elsewhere, "version": "3.0.0"}))
            assert [block["reason"] for block in told["blocks"]] == ["variables_not_allowed"]
        assert other.requests == []
