"""resources/list, templates/list and read, by the official client in both eras."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from servers.http import HttpServer

from jackfield.connectors.lint import lint
from jackfield.graphs.errors import Code

from .serving import ERAS, LIST_ANIMALS, SOURCE, connector, served, zoo

pytestmark = pytest.mark.anyio
SPEC = [
    *(f"elliot://docs/{name}" for name in ("principles", "error-codes", "authentication", "install")),
    *(f"elliot://templates/{name}" for name in ("rest-api-key", "postgres-readonly")),
    *(f"elliot://templates/{name}" for name in ("paginated-rest", "openapi-petstore")),
]


async def text(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert content.uri == uri
    found: str = content.model_dump()["text"]
    return found


async def refusal(client: Client, uri: str) -> Any:
    with pytest.raises(MCPError) as refused:
        await client.read_resource(uri)
    return refused.value.error


@pytest.mark.parametrize("era", ERAS)
async def test_every_resource_that_is_listed_can_be_read(tmp_path: Path, era: str) -> None:
    async with served(zoo(tmp_path)) as server, server.client(era) as client:
        listed = [resource.uri for resource in (await client.list_resources()).resources]
        for uri in listed:
            assert await text(client, uri)
        templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
    assert set(SPEC) <= set(listed)
    assert len(set(listed)) == len(listed)
    assert "jackfield://connectors/zoo/sources/animals/sample" in listed
    assert "jackfield://connectors/{connector}/sources/{source}/sample" in templates


async def test_the_documents_of_the_spec_stand_under_our_own_scheme_too(tmp_path: Path) -> None:
    async with served(zoo(tmp_path)) as server, server.client(ERAS[1]) as client:
        for uri in SPEC:
            assert await text(client, uri) == await text(client, uri.replace("elliot://", "jackfield://"))
        codes = json.loads(await text(client, "elliot://docs/error-codes"))["error_codes"]
        template = await text(client, "elliot://templates/openapi-petstore")
    assert [each["code"] for each in codes] == [code.value for code in Code]
    assert all(each["meaning"] for each in codes)
    assert lint(template) == ()


@pytest.mark.parametrize("era", ERAS)
async def test_a_connector_gives_its_schema_and_sample_rows_without_what_is_named_as_a_secret(
    tmp_path: Path, era: str
) -> None:
    rows = [{"id": number, "name": "x" * 600, "password_hash": "a1b2"} for number in range(30)]
    path = connector(tmp_path, sources=[{"id": "users", "type": "rows", "rows": rows}])
    async with served(path) as server, server.client(era) as client:
        schema = json.loads(await text(client, "jackfield://connectors/zoo/schema"))
        sample = json.loads(await text(client, "jackfield://connectors/zoo/sources/users/sample"))
        assert [(call.name, call.rows) for call in server.calls] == [("preview", 1), ("preview", 20)]
    assert schema["sources"][0]["columns"] == sample["columns"]
    assert [column["name"] for column in sample["columns"]] == ["id", "name", "password_hash"]
    assert sample["row_count"] == len(sample["rows"]) == 20
    assert sample["rows"][0]["password_hash"] == "(hidden)"
    assert sample["rows"][0]["name"].endswith("… (600 characters)")


async def test_a_list_asks_no_source_and_a_sample_asks_for_no_more_than_it_shows(tmp_path: Path) -> None:
    with HttpServer({"/animals": [{"id": number} for number in range(50)]}) as upstream:
        source = {"id": "animals", "type": "rest", "url": f"{upstream.url}/animals"}
        async with served(connector(tmp_path, sources=[source])) as server, server.client(ERAS[1]) as client:
            await client.list_resources()
            assert not upstream.requests
            sample = json.loads(await text(client, "jackfield://connectors/zoo/sources/animals/sample"))
            assert (sample["row_count"], len(upstream.requests)) == (20, 1)


@pytest.mark.parametrize(("era", "code"), [("legacy", -32002), ("auto", -32602)])
async def test_what_is_not_there_is_refused_in_the_code_of_the_era(tmp_path: Path, era: str, code: int) -> None:
    async with served(zoo(tmp_path)) as server, server.client(era) as client:
        for uri in (
            "jackfield://nothing",
            "elliot://docs/nothing",
            "elliot://templates/../../pyproject",
            "jackfield://connectors/zoo",
            "jackfield://connectors/nothing/schema",
            "jackfield://connectors/zoo/sources/nothing/sample",
            "jackfield://results/nothing",
            "file:///etc/passwd",
            "skill://nothing/SKILL.md",
        ):
            assert (await refusal(client, uri)).code == code, uri


async def test_a_source_that_cannot_be_read_says_why_in_our_error(tmp_path: Path) -> None:
    source = {"id": "gone", "type": "csv", "path": "./gone.csv"}
    async with served(connector(tmp_path, sources=[source])) as server, server.client(ERAS[1]) as client:
        refused = await refusal(client, "jackfield://connectors/zoo/sources/gone/sample")
        schema = json.loads(await text(client, "jackfield://connectors/zoo/schema"))
    assert refused.code == -32603
    assert refused.data["code"] == "SOURCE_UNREACHABLE"
    assert "gone.csv" in refused.message
    assert schema["sources"][0]["error"]["code"] == "SOURCE_UNREACHABLE"


@pytest.mark.parametrize("era", ERAS)
async def test_the_whole_of_a_paged_answer_is_read_in_each_format_by_its_own_caller_alone(
    tmp_path: Path, era: str
) -> None:
    rows = [{"id": number, "name": f"n{number}", "species": "cat"} for number in range(90)]
    path = connector(tmp_path, sources=[{"id": "animals", "type": "rows", "rows": rows}], tools=[LIST_ANIMALS])
    async with served(path) as server:
        async with server.client(era) as client:
            answer = await client.call_tool("list_animals", {})
            (link,) = (block for block in answer.content if block.type == "resource_link")
            whole = json.loads(await text(client, str(link.uri)))
            csv = await text(client, f"{link.uri}?format=csv")
            blobs = {}
            for form in ("arrow", "parquet"):
                (content,) = (await client.read_resource(f"{link.uri}?format={form}")).contents
                blobs[form] = base64.b64decode(content.model_dump()["blob"])
            wrong = await refusal(client, f"{link.uri}?format=xls")
        ids = list(range(90))
        assert [row["id"] for row in whole["rows"]] == ids
        assert [int(line.partition(",")[0]) for line in csv.splitlines()[1:]] == ids
        assert pa.ipc.open_stream(blobs["arrow"]).read_all()["id"].to_pylist() == ids
        assert pq.read_table(io.BytesIO(blobs["parquet"]))["id"].to_pylist() == ids
        assert "parquet" in wrong.message


async def test_a_place_of_a_template_that_does_not_fit_is_told_what_to_put_there(tmp_path: Path) -> None:
    number = {"name": "least", "type": "int", "description": "Least id", "required": True}
    tool = {**LIST_ANIMALS, "sql": "SELECT id FROM animals WHERE id >= :least LIMIT 9", "parameters": [number]}
    resource = {"uri_template": "zoo://from/{least}", "name": "Animals from one on", "tool": "list_animals"}
    path = connector(tmp_path, sources=[SOURCE], tools=[tool], resources=[resource])
    async with served(path) as server, server.client("auto") as client:
        error = await refusal(client, "zoo://from/two")
        assert '"id":3' in (await text(client, "zoo://from/3")).replace(" ", "")
    assert error.data["hint"] == "Put an integer for {least} in zoo://from/{least}, for example zoo://from/10."


@pytest.mark.parametrize("asked", ["offset=-1", "limit=ten"])
async def test_a_part_that_is_no_count_is_told_what_would_be(tmp_path: Path, asked: str) -> None:
    async with served(zoo(tmp_path)) as server, server.client("auto") as client:
        error = await refusal(client, f"jackfield://results/{'x' * 22}?{asked}")
    assert f"for example {asked.partition('=')[0]}=100" in error.message


@pytest.mark.parametrize("era", ERAS)
async def test_what_was_kept_for_one_caller_is_not_there_for_another(tmp_path: Path, era: str) -> None:
    rows = [{"id": number, "name": "x" * 3_000, "species": "cat"} for number in range(60)]
    path = connector(tmp_path, sources=[{"id": "animals", "type": "rows", "rows": rows}], tools=[LIST_ANIMALS])

    def by_token(scope: Any) -> str | None:
        return dict(scope["headers"]).get(b"x-token", b"").decode() or None

    @asynccontextmanager
    async def as_(token: str, url: str) -> AsyncIterator[Client]:
        async with (
            httpx2.AsyncClient(headers={"X-Token": token}) as http,
            Client(streamable_http_client(url, http_client=http), mode=era) as client,
        ):
            yield client

    async with (
        served(path, authenticate=by_token) as server,
        as_("ada", server.url) as ada,
        as_("bob", server.url) as bob,
    ):
        answer = await ada.call_tool("list_animals", {})
        (link,) = [str(block.uri) for block in answer.content if block.type == "resource_link"]
        assert (await refusal(bob, link)).code in (-32002, -32602)
        assert json.loads(await text(ada, link))["row_count"] == 60
        cursor = {"cursor": (answer.structured_content or {})["next_cursor"]}
        assert (await bob.call_tool("list_animals", cursor)).is_error
        assert not (await ada.call_tool("list_animals", cursor)).is_error
        assert "build-connector" not in {tool.name for tool in (await ada.list_tools()).tools}


async def test_what_is_too_large_for_one_message_is_read_in_parts(tmp_path: Path) -> None:
    rows = [{"id": number, "name": f"{number:05}" * 5_000, "species": "cat"} for number in range(100)]
    path = connector(tmp_path, sources=[{"id": "animals", "type": "rows", "rows": rows}], tools=[LIST_ANIMALS])
    async with served(path) as server, server.client("legacy") as client:
        answer = await client.call_tool("list_animals", {})
        (link,) = [str(block.uri) for block in answer.content if block.type == "resource_link"]
        refused = await refusal(client, link)
        assert refused.data["code"] == "BUDGET_EXCEEDED"
        limit = refused.data["details"]["limit"]
        assert f"offset=0&limit={limit}" in refused.message
        ids: list[int] = []
        while len(ids) < 100:
            part = json.loads(await text(client, f"{link}?offset={len(ids)}&limit={limit}"))
            assert part["truncated"] is (len(ids) + limit < 100)
            ids += [row["id"] for row in part["rows"]]
        assert ids == list(range(100))
        for wrong in ("offset=-1", "limit=many", "format=xls"):
            misfit = await refusal(client, f"{link}?{wrong}")
            assert (misfit.code, misfit.data["code"]) == (-32602, "VALIDATION_INVALID_PARAMS")
    async with served(path) as server, server.client("auto") as client:
        answer = await client.call_tool("list_animals", {})
        (link,) = [str(block.uri) for block in answer.content if block.type == "resource_link"]
        assert json.loads(await text(client, link))["row_count"] == 100
