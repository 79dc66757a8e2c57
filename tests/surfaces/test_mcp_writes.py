"""What WRITE and ACTION tools answer over MCP is what their schema says, cut answers too: the client checks each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp.client import Client
from servers.http import HttpServer, Reply
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer

from .serving import ERAS, SOURCE, Served, connector, served
from .test_mcp_tools import ECHO, said

pytestmark = pytest.mark.anyio
ID = {"name": "order", "type": "int", "description": "Least id of the orders", "required": True}
MOVE = {"id": "update_city", "name": "Update city", "category": "WRITE", "parameters": [ID],
        "description": "Update the city of the orders from one on.", "at": "orders"}  # fmt: skip
SET = "UPDATE orders SET city = 'Oslo' WHERE id >= :order"
COPY = {"id": "export_animals", "name": "Export animals", "category": "WRITE", "parameters": [],
        "description": "Write all animals into a file.", "sql": "SELECT id, name FROM animals",
        "save": {"to": "kept"}}  # fmt: skip


async def called(server: Served, client: Client, name: str, arguments: dict[str, Any]) -> tuple[Any, list[str]]:
    """What the client took, which checks it against what is listed; and what the tool's own schema has against it."""
    (listed,) = [tool for tool in (await client.list_tools()).tools if tool.name == name]
    assert listed.output_schema is not None
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error, answer
    schema = server.service.offer.tools[name].tool.output_schema
    return said(answer), [each.message for each in Draft202012Validator(schema).iter_errors(said(answer))]


@pytest.mark.parametrize("era", ERAS)
async def test_a_save_answers_its_report(tmp_path: Path, era: str) -> None:
    saves = [{"id": "kept", "type": "jsonl", "path": "kept.jsonl", "mode": "append"}]
    path = connector(tmp_path, sources=[SOURCE], tools=[COPY], saves=saves)
    async with served(path) as server, server.client(era) as client:
        answer, problems = await called(server, client, "export_animals", {})
        assert answer["report"]["rows"] == 3
        assert problems == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("kind", ["postgres", "mysql"])
async def test_a_statement_answers_how_many_rows_changed(
    tmp_path: Path, era: str, kind: str, postgres: PostgresServer, mariadb: MariaDBServer
) -> None:
    server = postgres if kind == "postgres" else mariadb
    with server.database(
        "CREATE TABLE orders (id int, city text); INSERT INTO orders VALUES (1, 'a'), (2, 'b')"
    ) as dsn:
        source = {"id": "orders", "type": kind, "dsn": dsn, "table": "orders"}
        path = connector(tmp_path, sources=[source], tools=[{**MOVE, "sql": SET}])
        async with served(path) as on, on.client(era) as client:
            answer, problems = await called(on, client, "update_city", {"order": 2})
    assert (answer["affected"], answer["rows"], problems) == (1, [], [])


@pytest.mark.parametrize("era", ERAS)
async def test_a_statement_that_returns_more_than_fits_is_cut_and_still_taken(
    tmp_path: Path, era: str, postgres: PostgresServer
) -> None:
    create = "CREATE TABLE orders (id int, city text); INSERT INTO orders SELECT n, 'a' FROM generate_series(1, 5000) n"
    with postgres.database(create) as dsn:
        source = {"id": "orders", "type": "postgres", "dsn": dsn, "table": "orders"}
        path = connector(tmp_path, sources=[source], tools=[{**MOVE, "sql": f"{SET} RETURNING id, city"}])
        async with served(path) as on, on.client(era) as client:
            few, problems = await called(on, client, "update_city", {"order": 4999})
            many, _ = await called(on, client, "update_city", {"order": 1})
    assert (few["affected"], [row["id"] for row in few["rows"]], problems) == (2, [4999, 5000], [])
    assert many["truncation_reason"] == "token_budget"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("body", [{"made": 7}, [1, None], "plain", None, 2**70])
async def test_an_action_answers_what_the_service_replied(tmp_path: Path, era: str, body: Any) -> None:
    reply = Reply(b"", 204) if body is None else Reply(body)
    with HttpServer({"POST /notes": lambda seen: reply}) as upstream:
        tool = {**ECHO, "request": {"method": "POST", "url": f"{upstream.url}/notes"}}
        async with served(connector(tmp_path, tools=[tool])) as server, server.client(era) as client:
            answer, problems = await called(server, client, "note_animal", {"note": "well"})
    assert problems == []
    assert answer["response"]["status"] == (204 if body is None else 200)
    assert answer["response"]["body"] == (str(body) if body == 2**70 else body)
