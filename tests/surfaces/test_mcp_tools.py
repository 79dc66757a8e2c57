"""tools/list and tools/call, by the official client in both eras: it checks every answer against its outputSchema."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult
from servers.http import HttpServer

from .serving import ANIMALS, ERAS, LIST_ANIMALS, SOURCE, SPECIES, connector, served, zoo

pytestmark = pytest.mark.anyio
MANY = [{"id": number, "name": f"animal {number}", "species": "cat"} for number in range(120)]
NOTE = {"name": "note", "type": "string", "description": "Text of the note", "required": True}
ECHO = {
    "id": "note_animal",
    "name": "Note animal",
    "category": "ACTION",
    "description": "Create a note about one animal and return what the clinic answers.",
    "parameters": [NOTE],
}


def said(result: CallToolResult) -> Any:
    """The answer, which must be the same as text and as structured content."""
    block = result.content[0]
    assert block.type == "text"
    assert json.loads(block.text) == result.structured_content
    return result.structured_content


def links(result: CallToolResult) -> list[str]:
    return [str(block.uri) for block in result.content if block.type == "resource_link"]


@pytest.mark.parametrize("era", ERAS)
async def test_entries_have_plain_schemas_annotations_and_the_cursor_of_what_may_have_pages(
    tmp_path: Path, era: str
) -> None:
    async with served(zoo(tmp_path)) as server, server.client(era) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    entry = tools["list_animals"]
    assert entry.title == "List animals"
    assert entry.input_schema["type"] == "object"
    assert entry.input_schema["additionalProperties"] is False
    assert set(entry.input_schema["properties"]) == {"species", "cursor"}
    assert entry.annotations is not None
    assert (entry.annotations.read_only_hint, entry.annotations.destructive_hint) == (True, False)
    for tool in tools.values():
        text = json.dumps([tool.input_schema, tool.output_schema])
        assert "$schema" not in text
        assert "$ref" not in text
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", tool.name)
        assert tool.description


@pytest.mark.parametrize("era", ERAS)
async def test_a_cut_answer_says_how_to_narrow_it_goes_on_at_its_cursor_and_links_to_the_whole(
    tmp_path: Path, era: str
) -> None:
    path = connector(
        tmp_path, sources=[{**SOURCE, "rows": MANY}], tools=[{**LIST_ANIMALS, "result": {"max_rows": 110}}]
    )
    async with served(path) as server, server.client(era) as client:
        first = await client.call_tool("list_animals", {})
        body = said(first)
        assert (body["row_count"], body["truncated"], body["truncation_reason"]) == (50, True, "page_size")
        assert body["hint"] == (
            "These are 50 of 100 rows. Narrow it with species, or pass next_cursor as cursor,"
            " or read the linked resource for all rows."
        )
        assert len(links(first)) == 1
        second = await client.call_tool("list_animals", {"cursor": body["next_cursor"]})
        last = said(second)
        assert [row["id"] for row in body["rows"] + last["rows"]] == list(range(100))
        assert not last["truncated"]
        assert "hint" not in last
        short = await client.call_tool("list_animals", {"species": "dog"})
        assert said(short)["rows"] == []
        assert links(short) == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("most", [20, 110])  # a part of the first page, and a part of the last
async def test_the_linked_whole_has_the_rows_that_no_page_shows(tmp_path: Path, era: str, most: int) -> None:
    rows = [{"id": 1}]
    tool = {**LIST_ANIMALS, "sql": "SELECT unnest(range(3000)) AS n FROM animals", "parameters": []}
    path = connector(tmp_path, sources=[{**SOURCE, "rows": rows}], tools=[{**tool, "result": {"max_rows": most}}])
    async with served(path) as server, server.client(era) as client:
        answer = await client.call_tool("list_animals", {})
        while (cursor := said(answer)["next_cursor"]) is not None:
            answer = await client.call_tool("list_animals", {"cursor": cursor})
        assert said(answer)["truncation_reason"] == "result_cap"
        assert said(answer)["hint"] == (
            f"In pages this tool gives no more than {most} of 3000 rows. Read the linked resource for all rows."
        )
        (link,) = [block for block in answer.content if block.type == "resource_link"]
        assert link.description is not None
        assert link.description.startswith("All of it, 3000 rows.")
        (as_json,) = (await client.read_resource(link.uri)).contents
        (as_csv,) = (await client.read_resource(f"{link.uri}?format=csv")).contents
        (part,) = (await client.read_resource(f"{link.uri}?format=csv&limit=7")).contents
    told = json.loads(as_json.model_dump()["text"])
    assert [row["n"] for row in told["rows"]] == list(range(3000))
    assert (told["truncated"], told["total_rows"]) == (False, 3000)
    assert as_csv.model_dump()["text"].split() == ["n", *map(str, range(3000))]
    assert as_csv.meta is None
    assert part.meta == {
        "jackfield/row_count": 7, "jackfield/total_rows": 3000, "jackfield/truncation_reason": "part",
    }  # fmt: skip


@pytest.mark.parametrize("era", ERAS)
async def test_a_link_to_less_than_all_says_how_much_it_has(tmp_path: Path, era: str) -> None:
    tool = {**LIST_ANIMALS, "sql": "SELECT unnest(range(3000)) AS n FROM animals", "parameters": []}
    path = connector(tmp_path, sources=[{**SOURCE, "rows": [{"id": 1}]}], tools=[tool])
    async with served(path) as server, server.client(era) as client:
        server.service.app.results.max_bytes = 80_000
        answer = await client.call_tool("list_animals", {})
        (link,) = [block for block in answer.content if block.type == "resource_link"]
        (content,) = (await client.read_resource(f"{link.uri}?format=csv")).contents
    kept = len(content.model_dump()["text"].split()) - 1
    assert 1_000 < kept < 3_000
    words = f"the first {kept} of 3000 rows"
    assert link.description is not None
    assert words in link.description.lower()
    assert words in said(answer)["hint"]
    assert content.meta == {
        "jackfield/row_count": kept, "jackfield/total_rows": 3000, "jackfield/truncation_reason": "result_cap",
    }  # fmt: skip


@pytest.mark.parametrize("era", ERAS)
async def test_a_wide_row_is_cut_and_the_whole_of_it_linked(tmp_path: Path, era: str) -> None:
    rows = [{"id": 1, "name": "x" * 100_000, "species": "cat"}]
    path = connector(tmp_path, sources=[{**SOURCE, "rows": rows}], tools=[LIST_ANIMALS])
    async with served(path) as server, server.client(era) as client:
        answer = await client.call_tool("list_animals", {})
        body = said(answer)
        assert len(json.dumps(body)) < 22_000
        assert body["rows"][0]["name"].endswith("… (100000 characters)")
        assert "name" in body["hint"]
        (uri,) = links(answer)
        (content,) = (await client.read_resource(uri)).contents
    assert json.loads(content.model_dump()["text"])["rows"] == rows


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("declared", [None, {"type": "object", "properties": {"status": {"type": "integer"}}}])
async def test_a_long_reply_is_previewed_and_linked_whatever_its_schema(
    tmp_path: Path, era: str, declared: Any
) -> None:
    with HttpServer({"POST /notes": {"notes": ["n" * 1_000] * 100}}) as upstream:
        tool = {**ECHO, "request": {"method": "POST", "url": f"{upstream.url}/notes", "body": {"note": ":note"}}}
        if declared:
            tool["output_schema"] = declared
        async with served(connector(tmp_path, tools=[tool])) as server, server.client(era) as client:
            answer = await client.call_tool("note_animal", {"note": "well"})
            body = said(answer)
            assert (body["truncated"], body["truncation_reason"]) == (True, "token_budget")
            assert len(json.dumps(body)) < 25_000
            assert body["total_bytes"] > 100_000
            (uri,) = links(answer)
            (content,) = (await client.read_resource(uri)).contents
    assert content.model_dump()["text"].startswith(body["preview"])
    assert "n" * 1_000 in content.model_dump()["text"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({"spices": "cat"}, "VALIDATION_INVALID_PARAMS", "species"),
        ({"species": "cat", "weight": "heavy"}, "VALIDATION_INVALID_PARAMS", "weight"),
        ({"species": "cat", "weight": [1]}, "VALIDATION_INVALID_PARAMS", "weight"),
        ({"species": {"$ne": ""}}, "VALIDATION_INVALID_PARAMS", "species"),
        ({"__proto__": {"admin": True}}, "VALIDATION_INVALID_PARAMS", "__proto__"),
        ({"species": None}, "VALIDATION_MISSING_FIELD", "species"),
        ({}, "VALIDATION_MISSING_FIELD", "species"),
        (None, "VALIDATION_MISSING_FIELD", "species"),
        ({"species": "cat", "cursor": "no cursor"}, "VALIDATION_INVALID_PARAMS", "cursor"),
        ({"species": "c" * 3_000_000, "extra": "e" * 500_000}, "VALIDATION_INVALID_PARAMS", "extra"),
        ({"species": "cat", "weight": "9" * 1_000_000}, "VALIDATION_INVALID_PARAMS", "weight"),
    ],
)
async def test_mcp_15_arguments_that_do_not_fit_are_a_result_that_says_what_would_and_go_nowhere(
    tmp_path: Path, era: str, arguments: Any, code: str, says: str
) -> None:
    """MCP-15"""
    weight = {"name": "weight", "type": "float", "description": "Least weight", "required": False}
    species = {**SPECIES, "required": True}
    sql = "SELECT id FROM animals WHERE species = :species AND (:weight IS NULL OR weight >= :weight) LIMIT 9"
    tool = {**LIST_ANIMALS, "sql": sql, "parameters": [species, weight]}
    with HttpServer({"/animals": ANIMALS}) as upstream:
        source = {"id": "animals", "type": "rest", "url": f"{upstream.url}/animals"}
        async with served(connector(tmp_path, sources=[source], tools=[tool])) as server, server.client(era) as client:
            answer = await client.call_tool("list_animals", arguments)
            assert answer.is_error
            error = said(answer)["error"]
            assert error["code"] == code
            assert says in error["message"] + error["hint"]
            assert len(json.dumps(error)) < 10_000
            assert [(call.name, call.error and call.error.code.value) for call in server.calls] == [
                ("list_animals", code)
            ]
        assert not upstream.requests


@pytest.mark.parametrize("era", ERAS)
async def test_mcp_15_an_unknown_tool_is_an_error_of_the_protocol_with_the_near_name(tmp_path: Path, era: str) -> None:
    """MCP-15"""
    async with served(zoo(tmp_path)) as server, server.client(era) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("list_animal", {})
        assert [call.error and call.error.code.value for call in server.calls] == ["TOOL_NOT_FOUND"]
    assert refused.value.error.code == -32602
    assert "list_animals" in refused.value.error.message


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("asked", "near"), [("lint_connector", "lint-connector"), ("zzzz", "list_animals")])
async def test_mcp_15_near_names_of_an_unknown_tool_are_of_all_that_are_listed(
    tmp_path: Path, era: str, asked: str, near: str
) -> None:
    """MCP-15"""
    async with served(zoo(tmp_path)) as server, server.client(era) as client:
        assert near in [tool.name for tool in (await client.list_tools()).tools]
        with pytest.raises(MCPError) as refused:
            await client.call_tool(asked, {})
    assert near in refused.value.error.message


@pytest.mark.parametrize("era", ERAS)
async def test_a_cursor_is_refused_beside_other_arguments_than_those_that_found_its_rows(
    tmp_path: Path, era: str
) -> None:
    limit = {"name": "limit", "type": "int", "description": "Most rows", "default": 90, "required": False}
    sql = LIST_ANIMALS["sql"].replace("LIMIT 100", "LIMIT :limit")  # type: ignore[attr-defined]
    tool = {**LIST_ANIMALS, "sql": sql, "parameters": [SPECIES, limit]}
    path = connector(tmp_path, sources=[{**SOURCE, "rows": MANY}], tools=[tool])
    async with served(path) as server, server.client(era) as client:
        cursor = said(await client.call_tool("list_animals", {"species": "cat"}))["next_cursor"]
        for same in ({}, {"species": "cat"}, {"limit": 90}, {"species": None}):
            assert said(await client.call_tool("list_animals", {**same, "cursor": cursor}))["row_count"] == 40
        for other, name in (({"species": "dog"}, "species"), ({"limit": 3}, "limit"), ({"spices": "cat"}, "spices")):
            refused = await client.call_tool("list_animals", {**other, "cursor": cursor})
            assert refused.is_error
            error = said(refused)["error"]
            assert (error["code"], error["details"]["parameter"]) == ("VALIDATION_INVALID_PARAMS", name)
            assert "leave the cursor out" in error["hint"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_bug_is_told_by_its_id_and_never_by_its_text(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "postgres://ada:s3cret@db/x"

    async def broken(*given: Any, **named: Any) -> None:
        raise RuntimeError(secret)

    async with served(zoo(tmp_path)) as server, server.client(era) as client:
        monkeypatch.setattr(server.service.app, "perform", broken)
        error = said(await client.call_tool("list_animals", {}))["error"]
        monkeypatch.setattr("jackfield.surfaces.mcp_server.known_values.KnownValues.of", broken)
        with pytest.raises(MCPError) as refused:
            await _complete(client)
        (call,) = server.calls
    assert error["code"] == refused.value.error.data["code"] == "INTERNAL_ERROR"
    assert refused.value.error.code == -32603
    assert call.error is not None
    assert call.error.code.value == "INTERNAL_ERROR"
    assert "s3cret" not in json.dumps(error) + refused.value.error.message + str(call.error)
    assert error["details"]["id"] in caplog.text
    assert secret in caplog.text


async def _complete(client: Client) -> None:
    from mcp_types import PromptReference

    await client.complete(PromptReference(type="ref/prompt", name="animal_report"), {"name": "species", "value": ""})


@pytest.mark.parametrize("era", ERAS)
async def test_what_an_author_says_of_a_row_holds_for_null_and_for_numbers_that_json_cannot_hold(
    tmp_path: Path, era: str
) -> None:
    rows = [{"id": 2**60, "name": None}]
    row = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
           "additionalProperties": False}  # fmt: skip
    tool = {**LIST_ANIMALS, "sql": "SELECT id, name FROM animals LIMIT 5", "parameters": [], "output_schema": row}
    path = connector(tmp_path, sources=[{**SOURCE, "rows": rows}], tools=[tool])
    async with served(path) as server, server.client(era) as client:
        assert said(await client.call_tool("list_animals", {}))["rows"] == [{"id": str(2**60), "name": None}]


async def test_a_list_of_hundreds_of_tools_comes_in_pages_and_a_stale_cursor_is_refused(tmp_path: Path) -> None:
    tools = [{**LIST_ANIMALS, "id": f"list_animals_{number}"} for number in range(230)]
    path = connector(tmp_path, sources=[SOURCE], tools=tools)
    async with served(path) as server, server.client(ERAS[1]) as client:
        names: list[str] = []
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                break
            kept = cursor
        assert len(set(names)) == len(names) > 230
        connector(tmp_path, sources=[SOURCE], tools=tools[1:])
        await server.service.refresh()
        with pytest.raises(MCPError) as refused:
            await client.list_tools(cursor=kept)
    assert refused.value.error.code == -32602


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "declared",
    [
        {"type": "array", "items": {"type": "string"}},
        {"items": {"type": "integer"}},
        {"properties": {"id": {"type": "integer"}}, "required": ["id"]},
        {"type": "object", "properties": {"response": {"type": "string"}}},
    ],
)
async def test_what_an_action_did_reaches_the_agent_whatever_its_author_said_of_the_reply(
    tmp_path: Path, era: str, declared: Any
) -> None:
    with HttpServer({"POST /notes": ["seen", "kept"]}) as upstream:
        request = {"method": "POST", "url": f"{upstream.url}/notes", "body": {"note": ":note"}}
        tool = {**ECHO, "request": request, "output_schema": declared}
        async with served(connector(tmp_path, tools=[tool])) as server, server.client(era) as client:
            (entry,) = [each for each in (await client.list_tools()).tools if each.name == "note_animal"]
            assert (entry.output_schema or {})["type"] == "object"
            answer = said(await client.call_tool("note_animal", {"note": "well"}))
    assert answer["response"]["body"] == ["seen", "kept"]
