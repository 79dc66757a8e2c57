"""The quicker way for short answers: it gives what the ordinary way gives, or leaves the answer to it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import anyio
import asyncpg  # type: ignore[import-untyped]
import pyarrow as pa
import pytest
from servers.postgres import PostgresServer
from servers.stand import Stand, stand

from jackfield.engine.json_text import column_texts, row_texts
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.databases import short
from jackfield.nodes.databases.at import AtDatabase
from jackfield.nodes.databases.dsn import parse
from jackfield.nodes.databases.engines import database
from jackfield.nodes.query import query_node
from jackfield.nodes.table import Table

MADE = """
CREATE TYPE mood AS ENUM ('calm', 'cross');
CREATE TABLE t (id int8 PRIMARY KEY, small int2, plain int4, yes bool, single float4, twice float8, word text,
    code varchar(9), padded char(6), price numeric(12,2), loose numeric, day date, moment timestamp,
    instant timestamptz, who uuid, mood mood, doc jsonb, tags text[], raw bytea);
INSERT INTO t VALUES
    (1, -7, 42, true, 1.1, 0.1, 'Ærø', 'a1', 'ab', 12.50, 1.230, '2026-02-28', '2026-02-28 23:59:59.999999',
     '2026-02-28 23:59:59.5+02', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'calm', '{"a": [1]}', '{x,y}', '\\x00ff'),
    (2, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
    (3, 1, 1, false, 'NaN', 'Infinity', '', '', '', 'NaN', 'NaN', '0001-01-01', '9999-12-31 23:59:59',
     '9999-12-31 00:00:00+00', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', 'cross', 'null', '{}', '');
CREATE TABLE odd (id int8 PRIMARY KEY, day date, instant timestamptz);
INSERT INTO odd VALUES (1, '2026-01-01', '2026-01-01'), (2, 'infinity', '-infinity'),
    (3, '4000-01-01 BC', '2026-01-01');
CREATE TABLE many AS SELECT g::int8 AS id FROM generate_series(1, 5000) g;
CREATE TABLE written (id int8);
CREATE FUNCTION writes(id int8) RETURNS int8 LANGUAGE sql AS 'INSERT INTO written VALUES (id) RETURNING id';
CREATE FUNCTION loosens() RETURNS text LANGUAGE sql AS $$ SELECT set_config('transaction_read_only', 'off', false) $$;
CREATE FUNCTION naps(seconds int8) RETURNS int8 LANGUAGE sql STABLE AS 'SELECT seconds FROM pg_sleep(seconds)';
CREATE TABLE pauses AS SELECT unnest(ARRAY[0, 60])::int8 AS seconds;
CREATE VIEW naps AS SELECT seconds, naps(seconds) AS n FROM pauses;
CREATE VIEW leak AS SELECT writes(1) AS n;
"""


class Place:
    """One tool's SQL, asked again and again."""

    def __init__(self, server: PostgresServer, dsn: str) -> None:
        self.server, self.dsn = server, dsn
        self.place = database(parse(dsn, "postgres"), timeout_s=30)
        assert self.place.short is not None
        self.short = self.place.short

    def run(self, sql: str) -> list[list[str]]:
        return self.server.run(sql, self.dsn.rpartition("/")[2])

    def count(self, sql: str) -> int:
        return int(self.run(sql)[0][0])

    async def ask(self, on: Stand, sql: str, **arguments: Any) -> pa.Table:
        """The rows; where they came the quicker way, their JSON is that of Arrow's rows too."""
        config = AtDatabase(engine="postgres", dsn=self.dsn, sql=sql)
        outputs = await query_node.run(config, {"$arguments": arguments}, on)
        table: Table = outputs["rows"]
        texts = None if table.columns is None else column_texts(table.schema.names, table.columns)
        rows: pa.Table = table.arrow()
        assert texts is None or list(map(json.loads, texts)) == list(map(json.loads, row_texts(rows)))
        return rows


@pytest.fixture
def place(postgres: PostgresServer) -> Iterator[Place]:
    with postgres.database(MADE) as dsn:
        yield Place(postgres, dsn)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each answer came the quicker way."""
    ways: list[bool] = []
    real = short.ShortAnswers.read

    async def told(self: Any, *arguments: Any, **more: Any) -> Any:
        table = await real(self, *arguments, **more)
        ways.append(table is not None)
        return table

    monkeypatch.setattr(short.ShortAnswers, "read", told)
    return ways


COLUMNS = (
    *("small", "plain", "yes", "single", "twice", "word", "code", "price", "day", "moment", "instant"),
    *("who", "mood", "doc", "padded"),
)


@pytest.mark.anyio
@pytest.mark.parametrize("column", COLUMNS)
async def test_values_of_each_plain_type_are_what_the_ordinary_way_gives(
    place: Place, read: list[bool], column: str
) -> None:
    sql = f"SELECT id, {column} FROM t WHERE id = :id"
    async with stand() as on:
        for number in (1, 2):
            place.short._known.clear()
            ordinary = await place.ask(on, sql, id=number)
            again = await place.ask(on, sql, id=number)
            assert again.equals(ordinary, check_metadata=True)
    assert read == [True, True]


@pytest.mark.anyio
@pytest.mark.parametrize("column", [*COLUMNS, "loose", "tags", "raw"])
async def test_values_at_the_ends_are_what_the_ordinary_way_gives(place: Place, column: str) -> None:
    sql = f"SELECT {column} FROM t WHERE id >= :id ORDER BY id"
    async with stand() as on:
        ordinary = await place.ask(on, sql, id=1)
        again = await place.ask(on, sql, id=1)
    assert again.schema == ordinary.schema
    assert str(again.to_pylist()) == str(ordinary.to_pylist())  # as text: NaN equals no NaN


@pytest.mark.anyio
@pytest.mark.parametrize("column", ["loose", "tags", "raw"])
async def test_what_only_the_ordinary_way_reads_is_never_asked_for_the_quicker(
    place: Place, read: list[bool], column: str
) -> None:
    async with stand() as on:
        for _ in range(2):
            await place.ask(on, f"SELECT {column} FROM t WHERE id = :id", id=1)
    assert read == []


@pytest.mark.anyio
async def test_times_outside_the_calendar_are_left_to_the_ordinary_way(place: Place, read: list[bool]) -> None:
    sql = "SELECT day, instant FROM odd WHERE id = :id"
    async with stand() as on:
        await place.ask(on, sql, id=1)
        assert (await place.ask(on, sql, id=2)).to_pylist() == [{"day": None, "instant": None}]
        await place.ask(on, sql, id=1)
        assert (await place.ask(on, sql, id=3)).column("day").to_pylist() == [None]
    assert read == [False, True, False]


@pytest.mark.anyio
async def test_an_answer_that_is_not_short_is_read_whole_by_the_ordinary_way(place: Place, read: list[bool]) -> None:
    sql = "SELECT id FROM many WHERE id <= :last ORDER BY id"
    async with stand() as on:
        for last in (10, short.SHORT, short.SHORT + 1, 5000, 10):
            assert (await place.ask(on, sql, last=last)).num_rows == last
    assert read == [True, False]  # once it was long it is not tried again for a while


@pytest.mark.anyio
async def test_a_function_that_writes_is_refused_by_the_session_itself(place: Place) -> None:
    async with stand() as on:
        for _ in range(2):
            with pytest.raises(JackfieldError):
                await place.ask(on, "SELECT n FROM leak")
    for sql, guarded in (
        ("SELECT n FROM leak", False),
        ("SELECT writes(3)", True),
        ("SELECT loosens(), writes(3)", True),
    ):
        connection = await place.short._open()
        with pytest.raises(asyncpg.PostgresError, match=r"read-only|read-write"):
            await connection.read(sql, (), guarded)
        await connection.close()
    assert place.count("SELECT count(*) FROM written") == 0


@pytest.mark.anyio
async def test_a_cancelled_look_up_ends_on_the_server_too(place: Place) -> None:
    sql = "SELECT n FROM naps WHERE seconds = :s"
    running = (
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%FROM naps%'"
        " AND pid <> pg_backend_pid()"
    )
    async with stand() as on:
        await place.ask(on, sql, s=0)
        assert place.short.knows("SELECT n FROM naps WHERE seconds = $1::bigint")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: place.ask(on, sql, s=60))
            with anyio.fail_after(5):
                while place.count(running) != 1:  # noqa: ASYNC110 – no event tells
                    await anyio.sleep(0.02)
            began = time.monotonic()
            group.cancel_scope.cancel()
        assert time.monotonic() - began < 1
        with anyio.fail_after(1):
            while place.count(running):  # noqa: ASYNC110 – no event tells
                await anyio.sleep(0.02)


@pytest.mark.anyio
async def test_a_look_up_that_takes_too_long_says_so_once(place: Place) -> None:
    config = AtDatabase(engine="postgres", dsn=place.dsn, sql="SELECT n FROM naps WHERE seconds = :s", timeout_s=1)
    async with stand() as on:
        for _ in range(2):
            await query_node.run(config, {"$arguments": {"s": 0}}, on)
        with pytest.raises(JackfieldError) as refused:
            await query_node.run(config, {"$arguments": {"s": 60}}, on)
    assert refused.value.code is Code.SOURCE_TIMEOUT


@pytest.mark.anyio
async def test_an_error_of_the_database_reads_as_it_does_the_ordinary_way(place: Place, read: list[bool]) -> None:
    sql = "SELECT 10 / :by AS n"
    async with stand() as on:
        with pytest.raises(JackfieldError) as ordinary:
            await place.ask(on, sql, by=0)
        for _ in range(2):
            assert (await place.ask(on, sql, by=5)).to_pylist() == [{"n": 2}]
        with pytest.raises(JackfieldError) as quick:
            await place.ask(on, sql, by=0)
    assert quick.value.as_json() == ordinary.value.as_json()
    assert read == [True, False]


@pytest.mark.anyio
async def test_a_table_that_changes_is_read_as_it_is_now(place: Place) -> None:
    sql = "SELECT * FROM t WHERE id = :id"
    async with stand() as on:
        for _ in range(2):
            await place.ask(on, sql, id=1)
        place.run("ALTER TABLE t ALTER COLUMN plain TYPE text; ALTER TABLE t DROP COLUMN raw")
        row = (await place.ask(on, sql, id=1)).to_pylist()[0]
        assert row["plain"] == "42"
        assert "raw" not in row


CHANGES = [
    ("bigint", "7", "float8"),
    ("int4", "42", "text"),
    ("text", "'2026-01-01'", "date"),
    ("bigint", "7", "int4"),
    ("text", "'[1]'", "jsonb"),
    ("timestamp", "'2026-01-01'", "date"),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("before", "value", "after"), CHANGES)
async def test_a_column_that_changes_its_type_is_never_read_by_the_old_one(
    place: Place, before: str, value: str, after: str
) -> None:
    place.run(f"CREATE TABLE w (k int8, x {before}); INSERT INTO w VALUES (1, {value})")
    sql = "SELECT x FROM w WHERE k >= :k"
    async with stand() as on:
        for _ in range(4):
            await place.ask(on, sql, k=1)
        place.run(f"ALTER TABLE w ALTER COLUMN x TYPE {after} USING x::{after}")
        answers = [(await place.ask(on, sql, k=1)).to_pylist() for _ in range(4)]
        place.short._known.clear()
        ordinary = (await place.ask(on, sql, k=1)).to_pylist()
    assert all(str(answer) == str(ordinary) for answer in answers)


@pytest.mark.anyio
async def test_what_a_view_changes_in_the_session_is_not_there_for_the_next(place: Place) -> None:
    place.run(
        "CREATE VIEW sneaky AS SELECT set_config('search_path', 'evil', false) AS a,"
        " set_config('default_transaction_read_only', 'off', false) AS b, pg_advisory_lock(42)::text AS c, 1 AS x"
    )
    place.run(
        "CREATE VIEW settings AS SELECT current_setting('search_path') AS a,"
        " current_setting('default_transaction_read_only') AS b"
    )
    now = "SELECT a, b FROM settings"
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    async with stand() as on:
        before = (await place.ask(on, now)).to_pylist()
        for _ in range(3):
            assert (await place.ask(on, "SELECT x FROM sneaky WHERE x >= :x", x=1)).num_rows == 1
            assert (await place.ask(on, now)).to_pylist() == before
            assert place.count(locks) == 0


@pytest.mark.anyio
async def test_connections_that_died_are_not_told_of(place: Place) -> None:
    sql = "SELECT word FROM t WHERE id = :id"
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'jackfield'"
    async with stand() as on:
        for _ in range(2):
            await place.ask(on, sql, id=1)
        place.server.run(kill)
        assert (await place.ask(on, sql, id=1)).to_pylist() == [{"word": "Ærø"}]
