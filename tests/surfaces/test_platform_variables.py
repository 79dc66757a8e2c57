"""Discovery sends a variable only where the person allowed it, and only as credentials or as the address itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from servers.http import HttpServer, Reply

from jackfield.graphs.errors import Code
from jackfield.surfaces.platform.discover import DISCOVER
from jackfield.surfaces.platform.variables import origin_of

from .platform_bench import Workbench, connector, workbench

pytestmark = pytest.mark.anyio
VALUE = "open-sesame-77"
ALLOWED = {"JACKFIELD_DISCOVER_VARIABLES": "TOKEN,BASE"}
BEARER = {"auth": {"type": "bearer", "secret_key": "TOKEN"}}
ROWS = [{"id": 1}, {"id": 2}]


async def refused(bench: Workbench, source_type: str, **config: Any) -> dict[str, Any]:
    error = await bench.failed("elliot_discover_source", source_type=source_type, config=config)
    assert error.code is Code.ACCESS_DENIED
    assert VALUE not in json.dumps(error.as_json())
    return error.as_json()


async def test_a_variable_that_nobody_allowed_is_sent_nowhere(tmp_path: Path) -> None:
    with HttpServer({"/a": ROWS}) as server:
        async with workbench(tmp_path, variables={"TOKEN": VALUE, "BASE": server.url}) as bench:
            for config in (
                {"url": f"{server.url}/a", **BEARER},
                {"url": "{{ env:BASE }}/a"},
                {
                    "url": f"{server.url}/a",
                    "auth": {"type": "basic", "user_secret_key": "TOKEN", "pass_secret_key": "X"},
                },
            ):
                told = await refused(bench, "rest", **config)
                assert told["details"]["setting"] == "discover.variables"
                assert told["details"]["variable"] in told["message"]
                assert "discover.variables" in told["hint"]
            for kind in ("postgres", "mysql"):
                await refused(bench, kind, dsn="{{ env:TOKEN }}")
            await refused(bench, "file", path="{{ env:TOKEN }}/a.csv")
            source = {"id": "a", "type": "rest", "url": f"{server.url}/a", **BEARER}
            error = await bench.failed("build-connector", name="A", sources=[source])
            assert error.code is Code.ACCESS_DENIED
            assert server.requests == []


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"url": "{}/a", "headers": {"x": "{{ env:TOKEN }}"}}, "headers.x"),
        ({"url": "{}/a", "params": {"x": "{{ env:TOKEN }}"}}, "params.x"),
        ({"url": "{}/{{{{ env:TOKEN }}}}"}, "url"),
        ({"url": "{}/a?q={{{{ env:TOKEN }}}}"}, "url"),
        ({"url": "{{{{ env:BASE }}}}.evil.example/a"}, "url"),
        ({"url": "{{{{ env:BASE }}}}@evil.example/a"}, "url"),
        ({"url": "{{{{ env:BASE }}}}/{{{{ env:TOKEN }}}}"}, "url"),
    ],
)
async def test_an_allowed_variable_goes_out_as_credentials_or_address_alone(
    tmp_path: Path, config: dict[str, Any], field: str
) -> None:
    with HttpServer({"/a": ROWS}) as server:
        async with workbench(tmp_path, variables={"TOKEN": VALUE, "BASE": server.url}, settings=ALLOWED) as bench:
            told = await refused(bench, "rest", **{**config, "url": config["url"].format(server.url)})
            assert told["details"]["parameter"] == f"config.{field}"
            assert server.requests == []


async def test_what_is_allowed_is_sent_as_credentials_and_an_address_may_begin_with_a_variable(tmp_path: Path) -> None:
    with HttpServer({"/a": ROWS}) as server:
        async with workbench(tmp_path, variables={"TOKEN": VALUE, "BASE": server.url}, settings=ALLOWED) as bench:
            config = {"url": "{{ env:BASE }}/a", **BEARER}
            found = await bench("elliot_discover_source", source_type="rest", config=config)
            assert found["row_count"] == 2
            assert {seen.headers["authorization"] for seen in server.requests} == {f"Bearer {VALUE}"}


async def test_a_variable_may_go_where_a_served_connector_sends_it_and_to_no_other_port(tmp_path: Path) -> None:
    with HttpServer({"/a": ROWS, "/b": ROWS}) as server, HttpServer({"/a": ROWS}) as other:
        source = {"id": "animals", "type": "rest", "url": "{{ env:BASE }}/b", **BEARER}
        (tmp_path / "zoo.connector.json").write_text(connector(sources=[source]))
        async with workbench(tmp_path, variables={"TOKEN": VALUE, "BASE": server.url, "OTHER": VALUE}) as bench:
            found = await bench(
                "elliot_discover_source", source_type="rest", config={"url": f"{server.url}/a", **BEARER}
            )
            assert found["row_count"] == 2
            await refused(bench, "rest", url=f"{other.url}/a", **BEARER)
            await refused(bench, "rest", url=f"{server.url}/a", auth={"type": "bearer", "secret_key": "OTHER"})
            assert other.requests == []


async def test_a_redirect_to_another_port_is_not_followed(tmp_path: Path) -> None:
    with HttpServer({"/steal": ROWS}) as other:
        moved = Reply(b"", 302, {"location": f"{other.url}/steal"})
        with HttpServer({"/a": moved}) as server:
            async with workbench(tmp_path, variables={"TOKEN": VALUE}, settings=ALLOWED) as bench:
                for more in ({}, BEARER):
                    config = {"url": f"{server.url}/a", **more}
                    error = await bench.failed("elliot_discover_source", source_type="rest", config=config)
                    assert error.code is Code.SOURCE_BAD_REPLY
            assert other.requests == []


def test_origins_are_scheme_host_and_port() -> None:
    assert origin_of("https://a.example/x") == origin_of("https://A.example:443/y")
    assert origin_of("http://a.example") != origin_of("https://a.example")
    assert origin_of("http://a.example:99999") is None
    assert origin_of("a.example/x") is None


def test_clients_are_told_that_discovery_sends_what_is_named() -> None:
    assert DISCOVER.annotations["readOnlyHint"] is False
    assert DISCOVER.annotations["openWorldHint"] is True
    assert "are sent to it" in DISCOVER.description
