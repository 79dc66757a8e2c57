"""WRITE and ACTION through the command line, against real servers: what is answered, and what happened there."""

from __future__ import annotations

from pathlib import Path

import pytest
from servers.http import HttpServer
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer

from .conftest import Cli
from .test_call import connector

ID = {"name": "order", "type": "int", "description": "Id of the order", "required": True}
NAME = {"name": "city", "type": "string", "description": "The new city of delivery", "required": True}
FIND = {"id": "get_order", "name": "Get order", "category": "READ", "description": "Return one order by its id.",
        "at": "orders", "sql": "SELECT id, city FROM orders WHERE id = :order", "parameters": [ID]}  # fmt: skip
MOVE = {"id": "update_city", "name": "Update city", "category": "WRITE", "parameters": [ID, NAME],
        "description": "Update the city of one order.",
        "at": "orders", "sql": "UPDATE orders SET city = :city WHERE id = :order"}  # fmt: skip
COPY = {"id": "export_orders", "name": "Export orders", "category": "WRITE", "parameters": [],
        "description": "Write all orders into the warehouse.", "sql": "SELECT id, city FROM orders",
        "save": {"to": "warehouse", "mode": "upsert", "key": ["id"]}}  # fmt: skip
CREATE = (
    "CREATE TABLE orders (id int PRIMARY KEY, city varchar(40)); INSERT INTO orders VALUES (1, 'Oslo'), (2, 'Turku')"
)


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_at_a_database_a_read_is_asked_a_write_is_done_and_a_save_is_kept(
    cli: Cli, tmp_path: Path, postgres: PostgresServer, mariadb: MariaDBServer, kind: str
) -> None:
    server = postgres if kind == "postgres" else mariadb
    with server.database(CREATE) as dsn:
        saves = [{"id": "warehouse", "type": kind, "dsn": dsn, "table": "orders_copy"}]
        orders = {"id": "orders", "type": kind, "dsn": dsn, "table": "orders"}
        path = connector(tmp_path, [orders], [FIND, MOVE, COPY], saves=saves)
        found = cli("call", path, "get_order", "order=2", "--format", "json")
        assert found.json["rows"] == [{"id": 2, "city": "Turku"}]
        evil = "x'; DROP TABLE orders; --"
        moved = cli("call", path, "update_city", "order=2", f"city={evil}", "--format", "json")
        assert moved.code == 0, moved.err
        assert moved.json["affected"] == 1
        assert cli("call", path, "get_order", "order=2", "--format", "json").json["rows"] == [{"id": 2, "city": evil}]
        for repeated in (False, True):
            saved = cli("call", path, "export_orders", "--idempotency-key", "once", "--format", "json").json["report"]
            assert (saved["rows"], saved["repeated"]) == (2, repeated)
        copies = server.run("SELECT count(*) FROM orders_copy", dsn.rpartition("/")[2].partition("?")[0])
        assert "2" in str(copies)


def test_an_action_sends_one_request_and_gives_its_response(cli: Cli, tmp_path: Path) -> None:
    with HttpServer({"POST /orders/{id}/cancel": {"cancelled": True}}) as server:
        tool = {"id": "cancel_order", "name": "Cancel order", "category": "ACTION", "destructive": True,
                "description": "Cancel one order and send the reason.", "parameters": [ID, {**NAME, "name": "reason"}],
                "request": {"method": "POST", "url": f"{server.url}/orders/{{order}}/cancel",
                            "body": {"why": ":reason"}, "idempotency_header": "Idempotency-Key"}}  # fmt: skip
        path = connector(tmp_path, [], [tool])
        call = ("call", path, "cancel_order", "order=7", "reason=late", "--idempotency-key", "k7", "--format", "json")
        outcome = cli(*call)
        assert outcome.code == 0, outcome.err
        assert outcome.json["response"]["body"] == {"cancelled": True}
        assert (server.last.path, server.last.json()) == ("/orders/7/cancel", {"why": "late"})
        assert len(server.requests) == 1
        assert cli(*call).code == 0
        first, again = (seen.headers["idempotency-key"] for seen in server.requests)
        assert first == again, "who repeats the call with its key repeats the request with its key"


SINCE = {"name": "since", "type": "int", "description": "Least id", "required": False, "default": 0}
EXPORT = {"id": "export_ids", "name": "Export ids", "category": "WRITE", "parameters": [SINCE],
          "description": "Write ids into the file.", "sql": "SELECT id FROM ids WHERE id >= :since",
          "save": {"to": "kept", "mode": "append"}}  # fmt: skip
IDS = {"id": "ids", "type": "rows", "rows": [{"id": 1}, {"id": 2}, {"id": 3}]}


def test_a_key_that_is_used_again_with_other_arguments_is_another_write(cli: Cli, tmp_path: Path) -> None:
    saves = [{"id": "kept", "type": "jsonl", "path": "kept.jsonl"}]
    path = connector(tmp_path, [IDS], [EXPORT], saves=saves)

    def export(*arguments: str) -> tuple[int, bool]:
        outcome = cli("call", path, "export_ids", *arguments, "--idempotency-key", "k", "--format", "json")
        assert outcome.code == 0, outcome.err
        return outcome.json["report"]["rows"], outcome.json["report"]["repeated"]

    assert export("since=2") == (2, False)
    assert export("since=2") == (2, True)
    assert export("since=3") == (1, False), "its rows are written, not taken for those of the other call"
    assert export("--args", '{"since": 3}') == (1, True), "however the arguments are written"
    assert (tmp_path / "kept.jsonl").read_text() == '{"id":2}\n{"id":3}\n{"id":3}\n'


def test_a_skill_that_calls_a_write_twice_under_one_key_writes_twice_and_once(cli: Cli, tmp_path: Path) -> None:
    steps = [
        {"alias": "some", "tool_id": "export_ids", "params": {"since": 2}},
        {"alias": "last", "tool_id": "export_ids", "params": {"since": 3}},
    ]
    skill = {"id": "keep", "name": "Keep", "description": "Keep ids.", "parameters": [], "steps": steps,
             "tool_ids": ["export_ids"]}  # fmt: skip
    saves = [{"id": "kept", "type": "jsonl", "path": "kept.jsonl"}]
    path = connector(tmp_path, [IDS], [EXPORT], saves=saves, skills=[skill])
    for _ in range(2):
        outcome = cli("call", path, "keep", "--idempotency-key", "k", "--format", "json")
        assert outcome.code == 0, outcome.err
    assert (tmp_path / "kept.jsonl").read_text() == '{"id":2}\n{"id":3}\n{"id":3}\n'
