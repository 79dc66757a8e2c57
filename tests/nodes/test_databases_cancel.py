"""Calls that end early, many at once, and servers that go away: nothing is left running, nothing is made twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer
from servers.stand import Stand, stand

from jackfield.engine.pools import PoolSettings
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.databases import source, writing
from jackfield.nodes.databases.at import AtDatabase
from jackfield.nodes.databases.dsn import Engine, parse
from jackfield.nodes.databases.engines import database
from jackfield.nodes.databases.pull import pull
from jackfield.nodes.databases.pushdown import Query
from jackfield.nodes.query import query_node
from jackfield.nodes.scan import Predicate, Scan
from jackfield.nodes.statement import statement_node

Server = PostgresServer | MariaDBServer
ROWS = {
    "postgres": "CREATE TABLE t AS SELECT g::int8 AS id, md5(g::text) AS word FROM generate_series(1, 100000) g;"
    "CREATE VIEW slow AS SELECT pg_sleep(60)::text AS a;",
    "mysql": "CREATE TABLE t AS SELECT seq AS id, md5(seq) AS word FROM seq_1_to_100000;"
    "CREATE VIEW slow AS SELECT sleep(60) AS a;",
}
RUNNING = {
    "postgres": "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()"
    " AND backend_type = 'client backend' AND datname = '{name}'",
    "mysql": "SELECT count(*) FROM information_schema.processlist WHERE command NOT IN ('Sleep', 'Daemon')"
    " AND db = '{name}' AND id <> connection_id()",
}
CONNECTED = {
    "postgres": "SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'",
    "mysql": "SELECT count(*) FROM information_schema.processlist WHERE db = '{name}'",
}


class Place:
    def __init__(self, engine: Engine, server: Server, dsn: str) -> None:
        self.engine, self.server, self.dsn = engine, server, dsn
        self.name = dsn.rpartition("/")[2]

    def count(self, queries: dict[str, str]) -> int:
        return int(self.server.run(queries[self.engine].format(name=self.name))[0][0])

    async def until(self, queries: dict[str, str], wanted: Callable[[int], bool], seconds: float) -> float:
        """Seconds until the server's own list of what runs is as wanted."""
        begin = time.monotonic()
        with anyio.fail_after(seconds):
            while not wanted(await anyio.to_thread.run_sync(self.count, queries)):  # noqa: ASYNC110 – no event tells
                await anyio.sleep(0.02)
        return time.monotonic() - begin

    def source(self, table: str, **more: Any) -> dict[str, Any]:
        return {"dsn": self.dsn, "table": table, **more}

    async def read(self, on: Stand, table: str, scan: Scan | None = None, **more: Any) -> Any:
        config = source.DatabaseSource.model_validate(self.source(table, **more))
        outputs = await source.read(self.engine, config, {} if scan is None else {"scan": scan}, on)
        return outputs["rows"]


@pytest.fixture(params=["postgres", "mysql"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    engine: Engine = request.param
    server: Server = request.getfixturevalue("postgres" if engine == "postgres" else "mariadb")
    with server.database(ROWS[engine]) as dsn:
        yield Place(engine, server, dsn)


@pytest.mark.anyio
async def test_a_cancelled_call_ends_its_query_within_a_second(place: Place) -> None:
    async with stand() as on:
        for _ in range(3):
            async with anyio.create_task_group() as group:
                group.start_soon(place.read, on, "slow")
                await place.until(RUNNING, lambda running: running == 1, 5)
                begin = time.monotonic()
                group.cancel_scope.cancel()
            assert time.monotonic() - begin < 1
            assert await place.until(RUNNING, lambda running: running == 0, 5) < 1


@pytest.mark.anyio
async def test_a_stream_that_is_cancelled_half_way_leaves_nothing_running(place: Place) -> None:
    async with stand(streams=True) as on:
        table = await place.read(on, "t")
        assert table.is_stream
        reader = table.reader()
        await anyio.to_thread.run_sync(reader.read_next_batch)
        begin = time.monotonic()
        table.cancel()
        await anyio.to_thread.run_sync(table.close)
        assert time.monotonic() - begin < 1
        await place.until(CONNECTED, lambda connected: connected == 0, 2)


@pytest.mark.anyio
async def test_a_stream_read_to_its_end_has_every_row_and_closes_its_connection(place: Place) -> None:
    async with stand(streams=True) as on:
        table = await place.read(on, "t")
        assert table.is_stream
        rows = await anyio.to_thread.run_sync(table.arrow)
        assert (rows.num_rows, rows.column_names) == (100_000, ["id", "word"])
        await place.until(CONNECTED, lambda connected: connected == 0, 2)
        await anyio.lowlevel.checkpoint()
        assert on.facts("pulled")["rows"] == 100_000


@pytest.mark.anyio
async def test_rows_that_were_asked_for_by_a_condition_stream_too(place: Place) -> None:
    async with stand(streams=True) as on:
        table = await place.read(on, "t", Scan(None, (Predicate("id", ">", 10),)))
        assert table.is_stream
        rows = await anyio.to_thread.run_sync(table.arrow)
        assert rows.num_rows == 99_990


@pytest.mark.anyio
async def test_a_small_answer_is_whole_though_it_might_stream_and_its_connection_is_kept(place: Place) -> None:
    async with stand(streams=True) as on:
        for number in range(3):
            table = await place.read(on, "t", Scan(("id",), (Predicate("id", "=", number + 1),)))
            assert (table.is_stream, table.num_rows) == (False, 1)
        kept = 2 if place.engine == "postgres" else 1  # the second way for short answers has its own
        assert place.count(CONNECTED) == kept


@pytest.mark.anyio
async def test_a_query_longer_than_its_timeout_is_ended_and_says_so(place: Place) -> None:
    async with stand() as on:
        with pytest.raises(JackfieldError) as caught:
            await place.read(on, "slow", timeout_s=0.3)
        assert caught.value.code is Code.SOURCE_TIMEOUT
        assert "0.3 s" in str(caught.value)
        await place.until(RUNNING, lambda running: running == 0, 2)


@pytest.mark.anyio
async def test_the_server_ends_a_query_when_nobody_is_left_to_cancel_it(place: Place) -> None:
    """What our own watch would do is left out: the session's limit does it."""
    many = "SELECT count(*) FROM t a, t b, t c"

    def read() -> None:
        session = database(parse(place.dsn, place.engine), timeout_s=0.2).open()
        with pytest.raises(JackfieldError) as caught:
            list(session.read(Query(many), guarded=False).batches)
        assert caught.value.code is Code.SOURCE_TIMEOUT
        session.close()

    with anyio.fail_after(5):
        await anyio.to_thread.run_sync(read)


@pytest.mark.anyio
async def test_twenty_calls_at_once_share_a_bounded_pool_and_mix_nothing_up(place: Place) -> None:
    async with stand(pool=PoolSettings(size=4)) as on:
        found: dict[int, list[dict[str, Any]]] = {}

        async def one(number: int) -> None:
            table = await place.read(on, "t", Scan(("id",), (Predicate("id", "=", number),)))
            found[number] = table.to_pylist()

        async with anyio.create_task_group() as group:
            for number in range(1, 21):
                group.start_soon(one, number)
        assert found == {number: [{"id": number}] for number in range(1, 21)}
        assert place.count(CONNECTED) <= 4


@pytest.mark.anyio
async def test_a_dead_connection_in_the_pool_does_not_fail_the_next_call(place: Place) -> None:
    """SQL-16: the server was restarted, and every idle connection is gone."""
    async with stand() as on:
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(place.read, on, "t", Scan(("id",), (Predicate("id", "=", number),)))
        await anyio.to_thread.run_sync(place.server.stop)
        await anyio.to_thread.run_sync(place.server.start)
        table = await place.read(on, "t", Scan(("id",), (Predicate("id", "=", 7),)))
        assert table.to_pylist() == [{"id": 7}]


@pytest.mark.anyio
async def test_a_read_whose_server_dies_is_an_error_that_may_be_tried_again(place: Place) -> None:
    """SQL-16: the engine tries a READ once more when the error is transient."""
    async with stand() as on:
        failures: list[JackfieldError] = []

        async def read() -> None:
            try:
                await place.read(on, "slow")
            except JackfieldError as error:
                failures.append(error)

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            await place.until(RUNNING, lambda running: running == 1, 5)
            await anyio.to_thread.run_sync(place.server.kill)
        await anyio.to_thread.run_sync(place.server.start)
        assert [(error.code, error.transient) for error in failures] == [(Code.SOURCE_UNREACHABLE, True)]


@pytest.mark.anyio
async def test_a_write_whose_server_dies_has_an_unknown_outcome_and_is_not_made_again(place: Place) -> None:
    """SQL-16."""
    async with stand() as on:
        sleep = "pg_sleep(60)::text" if place.engine == "postgres" else "sleep(60)"
        failures: list[JackfieldError] = []
        target = database(parse(place.dsn, place.engine), read_only=False, timeout_s=30)
        query = Query(f"INSERT INTO t SELECT 0, {sleep}")

        async def write() -> None:
            try:
                await writing.write_once(target, on, lambda session: session.write(query), timeout_s=30)
            except JackfieldError as error:
                failures.append(error)

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await place.until(RUNNING, lambda running: running == 1, 5)
            await anyio.to_thread.run_sync(place.server.kill)
        await anyio.to_thread.run_sync(place.server.start)
        assert [(error.code, error.transient) for error in failures] == [(Code.OUTCOME_UNKNOWN, False)]


@pytest.mark.anyio
async def test_a_write_over_a_dead_pooled_connection_happens_once(place: Place) -> None:
    async with stand() as on:
        insert = {"engine": place.engine, "dsn": place.dsn, "sql": "INSERT INTO t (id) VALUES (:id)"}
        assert (await on.fire(statement_node, insert, arguments={"id": 900_001}))["affected"] == 1
        await anyio.to_thread.run_sync(place.server.stop)
        await anyio.to_thread.run_sync(place.server.start)
        assert (await on.fire(statement_node, insert, arguments={"id": 900_002}))["affected"] == 1
        rows = await place.read(on, "t", Scan(("id",), (Predicate("id", ">", 900_000),)))
        assert sorted(row["id"] for row in rows.to_pylist()) == [900_001, 900_002]


@pytest.mark.anyio
async def test_a_table_that_changed_is_described_anew(place: Place) -> None:
    async with stand() as on:
        await place.read(on, "t", Scan(None, (), 1))
        place.server.run("ALTER TABLE t DROP COLUMN word", place.name)
        assert (await place.read(on, "t", Scan(None, (), 1))).schema.names == ["id"]
        for digits in ("12,1", "12,3"):
            column = "TYPE" if place.engine == "postgres" else "COLUMN id"
            named = "COLUMN id " if place.engine == "postgres" else ""
            verb = "ALTER" if place.engine == "postgres" else "MODIFY"
            place.server.run(f"ALTER TABLE t {verb} {named}{column} decimal({digits})", place.name)
            place.server.run("UPDATE t SET id = 1.125", place.name)
            found = await place.read(on, "t", Scan(None, (), 1))
            assert str(found.to_pylist()[0]["id"]) == ("1.1" if digits == "12,1" else "1.125")


@pytest.mark.anyio
async def test_a_call_over_its_row_budget_ends(place: Place) -> None:
    async with stand(max_rows=1000) as on:
        with pytest.raises(JackfieldError) as caught:
            await place.read(on, "t")
        assert caught.value.code is Code.BUDGET_EXCEEDED
        await place.until(RUNNING, lambda running: running == 0, 2)


@pytest.mark.anyio
async def test_rows_are_kept_only_when_a_time_is_given(place: Place) -> None:
    async with stand() as on:
        counts = []
        for ttl in (0, 60, 60):
            await place.read(on, "t", Scan(("id",), (), 1), cache_ttl_s=ttl)
            counts.append(len(on.events))
        assert counts == [2, 4, 4]


async def run(config: AtDatabase, on: Stand) -> None:
    await query_node.run(config, {"$arguments": {"x": 1}}, on)


@pytest.mark.anyio
async def test_a_cancelled_query_at_the_database_ends_too(place: Place) -> None:
    async with stand() as on:
        config = AtDatabase.model_validate(
            {"engine": place.engine, "dsn": place.dsn, "sql": "SELECT a FROM slow WHERE :x = 1"}
        )
        async with anyio.create_task_group() as group:
            group.start_soon(run, config, on)
            await place.until(RUNNING, lambda running: running == 1, 5)
            group.cancel_scope.cancel()
        assert await place.until(RUNNING, lambda running: running == 0, 5) < 1


@pytest.mark.anyio
async def test_a_query_that_was_quick_before_ends_too_when_it_is_slow_and_cancelled(place: Place) -> None:
    pairs = "SELECT count(*) AS n FROM t a JOIN t b ON a.word <> b.word WHERE a.id <= :x"  # minutes, for every id
    config = AtDatabase.model_validate({"engine": place.engine, "dsn": place.dsn, "sql": pairs, "timeout_s": 60})

    async def count(most: int) -> None:
        await query_node.run(config, {"$arguments": {"x": most}}, on)

    async with stand() as on:
        for _ in range(3):
            await count(1)
        async with anyio.create_task_group() as group:
            group.start_soon(count, 100_000)
            await place.until(RUNNING, lambda running: running == 1, 5)
            group.cancel_scope.cancel()
        assert await place.until(RUNNING, lambda running: running == 0, 5) < 1


@pytest.mark.anyio
async def test_a_server_that_is_not_there_is_unreachable(place: Place) -> None:
    async with stand() as on:
        with pytest.raises(JackfieldError) as caught:
            await pull(
                database(parse(place.dsn.replace(f":{place.server.port}/", ":1/"), place.engine)),
                lambda session: session.read(Query("SELECT 1"), guarded=False),
                on,
                timeout_s=5,
                stream=False,
            )
        assert (caught.value.code, caught.value.transient) == (Code.SOURCE_UNREACHABLE, True)
        assert "Connection refused" in str(caught.value)
