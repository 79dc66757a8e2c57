"""completion/complete, by the official client in both eras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference
from servers.http import HttpServer

from .serving import ANIMALS, ERAS, LIST_ANIMALS, REPORT, SOURCE, connector, served

pytestmark = pytest.mark.anyio
RESULT = "jackfield://results/{id}{?format,offset,limit}"
SAMPLE = "jackfield://connectors/{connector}/sources/{source}/sample"


async def of_prompt(client: Client, prompt: str, argument: str, begun: str = "") -> list[str]:
    ref = PromptReference(type="ref/prompt", name=prompt)
    return (await client.complete(ref, {"name": argument, "value": begun})).completion.values


async def of_template(client: Client, uri: str, argument: str, begun: str = "", **given: str) -> list[str]:
    ref = ResourceTemplateReference(type="ref/resource", uri=uri)
    return (await client.complete(ref, {"name": argument, "value": begun}, given or None)).completion.values


def two(folder: Path) -> Path:
    connector(folder, sources=[SOURCE], tools=[LIST_ANIMALS], skills=[REPORT])
    connector(folder, slug="zebra", sources=[{"id": "herds", "type": "rows", "rows": [{"id": 1}]}])
    return folder


@pytest.mark.parametrize("era", ERAS)
async def test_arguments_complete_to_enums_connectors_sources_and_values_of_a_column(tmp_path: Path, era: str) -> None:
    async with served(two(tmp_path)) as server, server.client(era) as client:
        assert await of_prompt(client, "animal_report", "detail", "S") == ["short"]
        assert await of_prompt(client, "animal_report", "species") == ["cat", "dog"]
        assert await of_prompt(client, "animal_report", "species", "d") == ["dog"]
        assert await of_prompt(client, "discover-source", "source_type", "p") == ["postgres"]
        assert await of_prompt(client, "lint-connector", "connector", "ze") == ["zebra"]
        assert await of_prompt(client, "build-connector", "goal") == []
        assert await of_template(client, "jackfield://docs/{document}", "document", "pr") == ["principles"]
        assert "openapi-petstore" in await of_template(client, "jackfield://templates/{template}", "template", "o")
        assert await of_template(client, SAMPLE, "connector") == ["zebra", "zoo"]
        assert await of_template(client, SAMPLE, "source", connector="zoo") == ["animals"]
        assert await of_template(client, RESULT, "format", "par") == ["parquet"]


async def test_what_is_not_there_is_invalid(tmp_path: Path) -> None:
    async with served(two(tmp_path)) as server, server.client(ERAS[1]) as client:
        for ask in (
            of_prompt(client, "nothing", "goal"),
            of_prompt(client, "build-connector", "nothing"),
            of_prompt(client, "animal_report", "nothing"),
            of_template(client, "jackfield://nothing/{id}", "id"),
            of_template(client, SAMPLE, "nothing"),
        ):
            with pytest.raises(MCPError) as refused:
                await ask
            assert refused.value.error.code == -32602


async def test_at_most_a_hundred_values_are_given_with_how_many_there_are(tmp_path: Path) -> None:
    rows = [{**ANIMALS[0], "species": f"kind {number:03}"} for number in range(250)]
    path = connector(tmp_path, sources=[{**SOURCE, "rows": rows}], tools=[LIST_ANIMALS], skills=[REPORT])
    async with served(path) as server, server.client(ERAS[1]) as client:
        ref = PromptReference(type="ref/prompt", name="animal_report")
        found = (await client.complete(ref, {"name": "species", "value": "KIND"})).completion
    assert (len(found.values), found.total, found.has_more) == (100, 250, True)


async def test_nobody_is_asked_over_the_network_and_secrets_are_not_offered(tmp_path: Path) -> None:
    with HttpServer({"/animals": ANIMALS}) as upstream:
        rest = {"id": "animals", "type": "rest", "url": f"{upstream.url}/animals"}
        path = connector(tmp_path, sources=[rest], tools=[LIST_ANIMALS], skills=[REPORT])
        async with served(path) as server, server.client(ERAS[1]) as client:
            assert await of_prompt(client, "animal_report", "species") == []
        assert not upstream.requests
    rows = [{"id": 1, "api_token": "t0p"}]
    find: dict[str, Any] = {**LIST_ANIMALS, "sql": "SELECT id FROM animals WHERE api_token = :species LIMIT 5"}
    path = connector(tmp_path, sources=[{**SOURCE, "rows": rows}], tools=[find], skills=[REPORT])
    async with served(path) as server, server.client(ERAS[1]) as client:
        assert await of_prompt(client, "animal_report", "species") == []
