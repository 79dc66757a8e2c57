"""Two tools in place of a long list: what they find, what they call, and what the audit says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jackfield.surfaces.mcp_server.ranking import Index, words_of

from .serving import ERAS, LIST_ANIMALS, SOURCE, connector, served, zoo

ON = {"JACKFIELD_SERVE_TOOL_SEARCH": "on"}
AUTO = {"JACKFIELD_SERVE_TOOL_SEARCH": "auto"}


def tool(name: str, description: str) -> dict[str, Any]:
    return {**LIST_ANIMALS, "id": name, "name": name.replace("_", " ").capitalize(), "description": description}


def many(folder: Path) -> Path:
    tools = [tool(f"list_things_{number}", f"Return things of the kind {number}, by id.") for number in range(40)]
    tools.append(tool("list_overdue_invoices", "Return invoices that a customer has not paid in time, oldest first."))
    tools.append(tool("count_visits", "Return how many visits each animal had."))
    return connector(folder, sources=[SOURCE], tools=tools)


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_the_long_list_becomes_two_tools_that_find_and_call(tmp_path: Path, era: str) -> None:
    async with served(many(tmp_path), environment=AUTO) as server, server.client(era) as client:
        assert [entry.name for entry in (await client.list_tools()).tools] == ["search_tools", "call_tool"]
        found = (await client.call_tool("search_tools", {"query": "unpaid invoice of customers"})).structured_content
        assert found is not None
        assert found["tools"][0]["name"] == "list_overdue_invoices"
        assert set(found["tools"][0]["inputSchema"]["properties"]) == {"species", "cursor"}
        assert found["tools"][0]["annotations"]["readOnlyHint"] is True
        given: dict[str, Any] = {"name": "list_overdue_invoices", "arguments": {"species": "dog"}}
        through = await client.call_tool("call_tool", given)
        assert (
            through.structured_content
            == (await client.call_tool("list_overdue_invoices", given["arguments"])).structured_content
        )
        assert [row["name"] for row in (through.structured_content or {})["rows"]] == ["Rex"]
        assert [(call.name, call.tool) for call in server.calls] == [
            ("search_tools", ""),
            ("list_overdue_invoices", "list_overdue_invoices"),
            ("list_overdue_invoices", "list_overdue_invoices"),
        ]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "arguments", "code", "says"),
    [
        ("call_tool", {"name": "count_visit"}, "TOOL_NOT_FOUND", "count_visits"),
        ("call_tool", {"arguments": {}}, "VALIDATION_MISSING_FIELD", "name"),
        ("call_tool", {"name": "count_visits", "arguments": {"kind": 1}}, "VALIDATION_INVALID_PARAMS", "species"),
        ("call_tool", {"name": "call_tool", "arguments": {}}, "TOOL_NOT_FOUND", "call_tool"),
        ("search_tools", {}, "VALIDATION_MISSING_FIELD", "query"),
        ("search_tools", {"query": "x", "limit": 1_000}, "VALIDATION_INVALID_PARAMS", "limit"),
    ],
)
async def test_what_does_not_fit_is_a_result_that_says_what_would(
    tmp_path: Path, name: str, arguments: dict[str, Any], code: str, says: str
) -> None:
    async with served(many(tmp_path), environment=ON) as server, server.client(ERAS[1]) as client:
        answer = await client.call_tool(name, arguments)
        assert answer.is_error
        error = (answer.structured_content or {})["error"]
        assert error["code"] == code
        assert says in error["message"] + error["hint"]
        assert len(server.calls) == 1


@pytest.mark.anyio
async def test_a_short_list_stays_a_list_unless_it_is_asked_for(tmp_path: Path) -> None:
    for environment, two in (({}, False), (AUTO, False), (ON, True)):
        async with served(zoo(tmp_path), environment=environment) as server, server.client(ERAS[1]) as client:
            names = [entry.name for entry in (await client.list_tools()).tools]
            assert (names == ["search_tools", "call_tool"]) is two
            if not two:
                assert "list_animals" in names


@pytest.mark.anyio
async def test_a_connectors_own_tool_of_that_name_keeps_it(tmp_path: Path) -> None:
    path = connector(tmp_path, sources=[SOURCE], tools=[tool("search_tools", "Return tools that are for sale, by id.")])
    async with served(path, environment=ON) as server, server.client(ERAS[1]) as client:
        assert [entry.name for entry in (await client.list_tools()).tools] == ["jackfield_search_tools", "call_tool"]
        own = await client.call_tool("search_tools", {"species": "cat"})
        assert (own.structured_content or {})["row_count"] == 2


def test_words_are_found_in_names_however_they_are_written_and_in_plurals() -> None:
    assert words_of("listOpenOrders, HTTPServer2_Straße") == ["list", "open", "order", "http", "server2", "strasse"]
    assert words_of("categories of addresses, glass") == ["category", "of", "addresse", "glass"]


def test_a_rare_word_and_a_word_of_the_name_count_for_more() -> None:
    index = Index(
        {
            "list_orders": [(3.0, "list_orders"), (1.0, "Return all orders of a day.")],
            "get_order": [(3.0, "get_order"), (1.0, "Return one order.")],
            "list_refunds": [(3.0, "list_refunds"), (1.0, "Return money that went back, with the order it was for.")],
        }
    )
    assert index.nearest("refund of an order")[0] == "list_refunds"
    assert index.nearest("order")[0] in ("get_order", "list_orders")
    assert index.nearest("refu") == ["list_refunds"]
    assert index.nearest("invoice") == []
    assert index.nearest("") == []
