"""The skills extension (SEP-2640), as a host checks it: digests, sizes, frontmatter, folders."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import Request, RequestParams, Result
from pydantic import ConfigDict

from jackfield.connectors.offer import offer_of
from jackfield.connectors.reading import read_file
from jackfield.surfaces.mcp_server.skills_extension import skill_files

from .serving import ERAS, LIST_ANIMALS, REPORT, SOURCE, connector, served, zoo

pytestmark = pytest.mark.anyio
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class Uri(RequestParams):
    uri: str = ""
    cursor: str | None = None


class Anything(Result):
    model_config = ConfigDict(extra="allow")


async def ask(client: Client, method: str, uri: str = "") -> dict[str, Any]:
    result = await client.session.send_request(Request[Uri, str](method=method, params=Uri(uri=uri)), Anything)
    return result.model_dump(by_alias=True, mode="json")


@pytest.mark.parametrize("era", ERAS)
async def test_each_file_of_a_skill_has_the_digest_the_size_and_the_frontmatter_that_were_listed(
    tmp_path: Path, era: str
) -> None:
    async with served(zoo(tmp_path)) as server, server.client(era) as client:
        if era == "auto":  # no handshake version has a field for extensions
            assert client.server_capabilities.extensions == {"io.modelcontextprotocol/skills": {"directoryRead": True}}
        (entry,) = (await ask(client, "skills/list"))["skills"]
        assert (await ask(client, "skills/get", entry["uri"]))["skill"] == entry
        (file,) = entry["resources"]
        (content,) = (await client.read_resource(file["uri"])).contents
    assert entry["uri"] == file["uri"] == "skill://animal-report/SKILL.md"
    assert content.mime_type == "text/markdown"
    data = getattr(content, "text").encode()  # noqa: B009
    assert file == {"uri": entry["uri"], "digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data)}
    assert yaml.safe_load(data.decode().split("---\n")[1]) == entry["frontmatter"]
    assert entry["frontmatter"]["name"] == "animal-report"
    assert "`list_animals`: Return animals" in data.decode()


async def test_a_folder_gives_its_file_and_what_is_neither_skill_nor_folder_is_invalid(tmp_path: Path) -> None:
    async with served(zoo(tmp_path)) as server, server.client(ERAS[1]) as client:
        (child,) = (await ask(client, "resources/directory/read", "skill://animal-report"))["resources"]
        assert (child["uri"], child["name"]) == ("skill://animal-report/SKILL.md", "animal-report")
        assert child["uri"] in [resource.uri for resource in (await client.list_resources()).resources]
        for method, uri in (
            ("skills/get", "skill://animal-report"),
            ("skills/get", "skill://nothing/SKILL.md"),
            ("resources/directory/read", "skill://animal-report/SKILL.md"),
            ("resources/directory/read", "skill://animal-report/"),
        ):
            with pytest.raises(MCPError) as refused:
                await ask(client, method, uri)
            assert refused.value.error.code == -32602


async def test_names_that_would_fall_together_stay_two_valid_skills(tmp_path: Path) -> None:
    twins = [{**REPORT, "id": name} for name in ("a_b", "a__b", "x_" * 40 + "end")]
    reading = read_file(connector(tmp_path, sources=[SOURCE], tools=[LIST_ANIMALS], skills=twins))
    assert reading is not None
    assert reading.connector is not None
    names = [file.frontmatter["name"] for file in skill_files(offer_of([reading.connector])).values()]
    assert len(set(names)) == 3
    assert all(NAME.fullmatch(name) and len(name) <= 64 for name in names)
