"""SQL is parsed beside the event loop, once: a text of the greatest size would keep every other call waiting."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer
from sqlglot import Parser, exp

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.sqltext.reading import KEPT, read
from jackfield.surfaces.app import App
from jackfield.surfaces.settings import load

from .test_call import connector

pytestmark = pytest.mark.anyio
CREATE = "CREATE TABLE animals (id int PRIMARY KEY, species varchar(20))"


@pytest.fixture
def parsers(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The thread of each text that is parsed while the test runs."""
    threads: list[threading.Thread] = []
    parse = Parser.parse

    def told(self: Parser, *given: Any, **named: Any) -> list[exp.Expr | None]:
        threads.append(threading.current_thread())
        return parse(self, *given, **named)

    monkeypatch.setattr(Parser, "parse", told)
    return threads


def tool(id: str, sql: str | None, **more: Any) -> dict[str, Any]:
    made = {"id": id, "name": id, "category": "READ", "description": "Return some animals.", "parameters": []}
    return {**made, **({} if sql is None else {"sql": sql}), **more}


async def parsed_elsewhere(path: Path, names: list[str], threads: list[threading.Thread]) -> None:
    """Each tool parses at its first call, never here; and at its second not at all."""
    async with App([path], settings=load(path.parent, {})) as app:
        for name in names:
            threads.clear()
            await app.call("shop", name, {})
            assert threads, name
            assert threading.current_thread() not in threads, name
            threads.clear()
            await app.call("shop", name, {})
            assert threads == [], name


async def test_a_tools_sql_is_parsed_in_a_thread_and_once(tmp_path: Path, parsers: list[threading.Thread]) -> None:
    animals = {"id": "animals", "type": "rows", "rows": [{"id": 1, "species": "cat"}]}
    calling = {
        "nodes": [
            {"id": "in", "type": "input"},
            {"id": "inner", "type": "tool", "configuration": {"tool": "in"}},
            {"id": "out", "type": "output"},
        ],
        "edges": [{"from": "in", "to": "inner"}, {"from": "inner", "to": "out", "out": "rows", "in": "rows"}],
    }
    tools = [
        tool("plain", "SELECT id AS parsed_1 FROM animals LIMIT 3"),
        tool("in", "SELECT id AS parsed_2 FROM animals LIMIT 3"),
        {**tool("outer", None), "graph": calling},
    ]
    await parsed_elsewhere(connector(tmp_path, [animals], tools), ["plain", "outer"], parsers)


async def test_sql_for_a_database_is_parsed_in_a_thread_and_once(
    tmp_path: Path, postgres: PostgresServer, mariadb: MariaDBServer, parsers: list[threading.Thread]
) -> None:
    with postgres.database(CREATE) as pg, mariadb.database(CREATE) as my:
        sources = [
            {"id": "pg", "type": "postgres", "dsn": pg, "table": "animals"},
            {"id": "my", "type": "mysql", "dsn": my, "query": "SELECT id AS parsed_3 FROM animals"},
        ]
        change = "INSERT INTO animals (id) SELECT max(id) + 1 FROM animals HAVING max(id) > 3"
        tools = [
            tool("at", "SELECT id AS parsed_4 FROM animals LIMIT 3", at="pg"),
            tool("queried", "SELECT parsed_3 FROM my LIMIT 3"),
            tool("added", change, at="pg", category="WRITE"),
        ]
        await parsed_elsewhere(connector(tmp_path, sources, tools), ["at", "queried", "added"], parsers)


async def test_a_refusal_is_not_kept_and_a_reading_is() -> None:
    asked: list[str] = []

    def reader(text: str) -> str:
        asked.append(text)
        if text == "bad":
            raise JackfieldError(Code.QUERY_INVALID, "No.")
        return text.upper()

    assert [await read(reader, "a"), await read(reader, "a")] == ["A", "A"]
    for _ in range(2):
        with pytest.raises(JackfieldError):
            await read(reader, "bad")
    assert asked == ["a", "bad", "bad"]


async def test_what_is_kept_is_bounded() -> None:
    asked: list[int] = []

    def reader(number: int) -> int:
        asked.append(number)
        return number

    for number in range(KEPT + 1):
        await read(reader, number)
    await read(reader, KEPT)
    assert len(asked) == KEPT + 1
    await read(reader, 0)
    assert len(asked) == KEPT + 2


async def test_who_is_cancelled_does_not_wait_for_the_reading() -> None:
    began, go_on = threading.Event(), threading.Event()

    def reader(text: str) -> str:
        began.set()
        go_on.wait(10)
        return text

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(read, reader, "long")
            await anyio.to_thread.run_sync(began.wait)
            group.cancel_scope.cancel()
    go_on.set()
    assert await read(reader, "long") == "long"
