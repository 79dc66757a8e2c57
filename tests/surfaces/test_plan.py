"""`jackfield plan` of everything that can be called: skills, actions, writes and graphs; nothing of it happens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers.http import HttpServer
from servers.postgres import PostgresServer

from .conftest import Cli
from .test_call import ROWS, TOOLS, connector
from .test_soundness import board
from .test_writes import CREATE, MOVE

SEND = {"id": "send_note", "name": "Send note", "category": "ACTION", "description": "Send one note to the service.",
        "parameters": [], "request": {"method": "POST", "url": "http://127.0.0.1:9/notes"}}  # fmt: skip
KEEP = {"id": "keep_sales", "name": "Keep sales", "category": "WRITE", "parameters": [],
        "description": "Write all sales into a file.", "sql": "SELECT id FROM sales",
        "save": {"to": "kept", "mode": "overwrite"}}  # fmt: skip
SAVES = [{"id": "kept", "type": "parquet", "path": "out/kept.parquet"}]
STEPS = [
    {"alias": "books", "tool_id": "list_sales", "params": {"kind": "{{skill.input.kind}}"}},
    {"alias": "kept", "tool_id": "keep_sales", "params": {}},
]
SKILLS = [
    {"id": "sell", "name": "Sell", "description": "List sales, then keep all.", "prompt_template": "Sell.",
     "tool_ids": ["list_sales", "keep_sales"], "steps": STEPS,
     "parameters": [{"name": "kind", "type": "string", "description": "Exact kind", "required": True}]},
    {"id": "tell", "name": "Tell", "description": "Tell of the sales.", "prompt_template": "Tell of them.",
     "tool_ids": ["list_sales"], "parameters": []},
]  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    sales = {"id": "sales", "type": "rows", "rows": ROWS}
    return connector(tmp_path, [sales], [*TOOLS, SEND, KEEP], saves=SAVES, skills=SKILLS)


def test_a_skill_says_which_tools_its_steps_call(cli: Cli, shop: Path) -> None:
    outcome = cli("plan", shop, "sell", "kind=book")
    assert outcome.code == 0, outcome.err
    assert "calls list_sales" in outcome.out
    assert "calls keep_sales" in outcome.out
    assert cli("plan", shop, "sell").code == 0, "without arguments, too"
    assert cli("plan", shop, "tell").code == 0, "a prompt reaches nothing"
    assert not (shop.parent / "out").exists()


def test_a_skill_that_writes_is_not_called_to_analyze_it(cli: Cli, shop: Path) -> None:
    outcome = cli("plan", shop, "sell", "kind=book", "--analyze", "--format", "json")
    assert outcome.error["message"] == "'keep_sales' is a WRITE, and --analyze would call it."
    assert not (shop.parent / "out").exists()


def test_an_action_says_its_request_and_a_write_its_save_and_neither_happens(cli: Cli, tmp_path: Path) -> None:
    with HttpServer({"POST /notes/{id}": {}}) as server:
        send = {**SEND, "request": {"method": "POST", "url": f"{server.url}/notes/{{id}}"},
                "parameters": [{"name": "id", "type": "int", "description": "Id", "required": True}]}  # fmt: skip
        sales = {"id": "sales", "type": "rows", "rows": ROWS}
        path = connector(tmp_path, [sales], [send, KEEP], saves=SAVES)
        sent = cli("plan", path, "send_note", "id=4")
        assert sent.code == 0, sent.err
        assert f"POST {server.url}/notes/{{id}}" in sent.out
        assert server.requests == []
    kept = cli("plan", path, "keep_sales", "--format", "json")
    assert kept.code == 0, kept.err
    assert [plan["sent"] for plan in kept.json["sources"] if plan["type"] == "save"] == [
        ["saves into parquet out/kept.parquet, mode overwrite"]
    ]
    assert not (tmp_path / "out").exists()


def test_a_statement_is_shown_and_arguments_are_still_checked(
    cli: Cli, tmp_path: Path, postgres: PostgresServer
) -> None:
    with postgres.database(CREATE) as dsn:
        path = connector(tmp_path, [{"id": "orders", "type": "postgres", "dsn": dsn, "table": "orders"}], [MOVE])
        outcome = cli("plan", path, "update_city", "order=2", "city=Bergen")
        assert outcome.code == 0, outcome.err
        assert "UPDATE orders SET city = :city WHERE id = :order" in outcome.out
        assert cli("plan", path, "update_city", "order=two", "city=Bergen").code == 2


def test_what_a_database_is_asked_is_shown_without_values(cli: Cli, tmp_path: Path, postgres: PostgresServer) -> None:
    with postgres.database(CREATE) as dsn:
        tool = {**TOOLS[0], "id": "in_city", "name": "In city", "sql": "SELECT id FROM orders WHERE city = :city",
                "parameters": [{"name": "city", "type": "string", "required": True}]}  # fmt: skip
        path = connector(tmp_path, [{"id": "orders", "type": "postgres", "dsn": dsn, "table": "orders"}], [tool])
        outcome = cli("plan", path, "in_city", "city=Trondheim")
        assert outcome.code == 0, outcome.err
        assert "WHERE" in outcome.out
        sent = json.loads(cli("plan", path, "in_city", "city=Trondheim", "--format", "json").out)["sources"][0]["sent"]
        assert "Trondheim" not in str(sent)


def test_a_graph_file_is_planned_by_its_own_nodes(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("plan", board(tmp_path, "rows"), "cities")
    assert outcome.code == 0, outcome.err
    assert "the rows stand in the connector" in outcome.out


def test_show_lists_the_tools_and_steps_of_a_skill(cli: Cli, shop: Path) -> None:
    shown = cli("show", shop, "sell").out
    assert "tools: list_sales, keep_sales" in shown
    assert "step books: list_sales(kind={{skill.input.kind}})" in shown
    assert "step kept: keep_sales()" in shown


def test_text_beside_a_date_says_how_the_column_becomes_a_date(cli: Cli, tmp_path: Path) -> None:
    rows = [{"id": 1, "day": "1 March"}]
    tool = {**TOOLS[0], "id": "since", "name": "Since", "sql": "SELECT id FROM sales WHERE day >= :since",
            "parameters": [{"name": "since", "type": "date", "required": True}]}  # fmt: skip
    path = connector(tmp_path, [{"id": "sales", "type": "rows", "rows": rows}], [tool])
    outcome = cli("call", path, "since", "since=2026-03-01", "--format", "json")
    assert outcome.error["code"] == "QUERY_INVALID"
    assert "Declare the column as date in the source's `schema`, or cast it" in outcome.error["hint"]
