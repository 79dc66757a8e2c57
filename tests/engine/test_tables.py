"""Queries over Arrow tables: parameters, types, streams, errors, cancellation and budgets."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from typing import Any

import anyio
import anyio.to_thread
import pyarrow as pa
import pytest

from jackfield.engine.budget import CountedBudget
from jackfield.engine.query_threads import QueryThreads
from jackfield.engine.tables import Database, Session, TableSettings
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.blocking import crowd
from jackfield.nodes.table import Table, nothing

pytestmark = pytest.mark.anyio

ENDLESS = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 3"
DEAF = "SELECT max(len(list_sort(range(i::bigint * 50)))) AS n FROM range(:many) t(i)"


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    with Database(TableSettings(memory_limit="300MB", max_stuck=1)) as database:
        yield database


@pytest.fixture
def session(database: Database) -> Session:
    return database.session()


def orders() -> Table:
    return Table.whole(
        pa.table(
            {
                "id": [1, 2, 3],
                "country": ["NO", "SE", None],
                "total": pa.array([Decimal("1.10"), Decimal("2.20"), None], pa.decimal128(12, 2)),
                "day": [dt.date(2024, 1, 1), dt.date(2024, 2, 1), None],
                "seen": pa.array([dt.datetime(2024, 1, 1, 10, tzinfo=dt.UTC), None, None], pa.timestamp("us", "UTC")),
            }
        )
    )


async def rows(session: Session, sql: str, arguments: dict[str, Any] | None = None, **tables: Table) -> list[Any]:
    return (await session.query(sql, arguments or {}, tables or {"orders": orders()})).to_pylist()


CET = dt.timezone(dt.timedelta(hours=1))


@pytest.mark.parametrize(
    ("condition", "arguments", "ids"),
    [
        ("country IN (:c)", {"c": ["NO", "DK"]}, [1]),
        ("country IN (:c)", {"c": []}, []),
        ("country NOT IN (:c)", {"c": []}, [1, 2, 3]),
        ("country NOT IN (:c)", {"c": ["NO"]}, [2]),
        ("id IN (:ids, 3)", {"ids": [1]}, [1, 3]),
        ("list_contains(:ids, id)", {"ids": [1, 2]}, [1, 2]),
        ("(:c IS NULL OR country = :c)", {"c": None}, [1, 2, 3]),
        ("(:c IS NULL OR country IN (:c))", {"c": None}, [1, 2, 3]),
        ("(:c IS NULL OR country IN (:c))", {"c": ["SE"]}, [2]),
        ("day >= :d", {"d": dt.date(2024, 1, 15)}, [2]),
        ("seen = :t", {"t": dt.datetime(2024, 1, 1, 11, tzinfo=CET)}, [1]),
        ("total = :x", {"x": Decimal("1.1")}, [1]),
        ("id = :x", {"x": 2**40}, []),
        ("country = :x", {"x": "x' OR 1=1 --"}, []),
    ],
    ids=str,
)
async def test_a_parameter_is_a_value(
    session: Session, condition: str, arguments: dict[str, Any], ids: list[int]
) -> None:
    """SQL-01, and every type that an argument may have."""
    found = await rows(session, f"SELECT id FROM orders WHERE {condition} ORDER BY id", arguments)
    assert [row["id"] for row in found] == ids


@pytest.mark.parametrize(("limit", "offset", "count"), [(2, None, 2), (None, None, 3), (None, 1, 2), (0, 0, 0)])
async def test_limit_and_offset_are_bound_and_absent_means_all(
    session: Session, limit: int | None, offset: int | None, count: int
) -> None:
    """SQL-02; an absent `LIMIT :limit` once was a type error elsewhere."""
    sql = "SELECT id FROM orders LIMIT :limit OFFSET :offset"
    assert len(await rows(session, sql, {"limit": limit, "offset": offset})) == count


async def test_a_parameter_that_nobody_declared_is_named(session: Session) -> None:
    with pytest.raises(JackfieldError) as error:
        await rows(session, "SELECT id FROM orders WHERE country = :contry", {"country": "NO"})
    assert error.value.code is Code.QUERY_INVALID
    assert "':contry'" in error.value.message
    assert "':country'" in error.value.hint


async def test_integers_stay_integers_and_decimals_stay_exact(session: Session) -> None:
    table = await session.query(
        "SELECT sum(id) AS n, sum(total) AS s, count(*) AS c, sum(id) * 10000000000000000000 AS wide FROM orders",
        {},
        {"orders": orders()},
    )
    assert table.schema.types == [pa.int64(), pa.decimal128(38, 2), pa.int64(), pa.decimal128(38, 0)]
    assert table.to_pylist() == [{"n": 6, "s": Decimal("3.30"), "c": 3, "wide": Decimal(6 * 10**19)}]


async def test_types_without_an_arrow_word_come_as_text(session: Session) -> None:
    wide = "12345678901234567890123456789012345678901"
    table = await session.query(f"SELECT '101'::bit AS b, {wide}::bignum AS n", {}, {})
    assert table.to_pylist() == [{"b": "101", "n": wide}]


async def test_two_columns_of_one_name_are_both_there(session: Session) -> None:
    assert await rows(session, "SELECT id, id, 7 AS id_2 FROM orders WHERE id = 1") == [{"id": 1, "id_3": 1, "id_2": 7}]


async def test_names_of_tables_know_no_case(session: Session) -> None:
    assert await rows(session, "SELECT count(*) AS n FROM Orders JOIN ORDERS o USING (id)", Orders=orders()) == [
        {"n": 3}
    ]


async def test_a_table_that_is_not_there_is_named_with_those_that_are(session: Session) -> None:
    with pytest.raises(JackfieldError) as error:
        await rows(session, "SELECT * FROM order_s")
    assert error.value.code is Code.SCHEMA_NOT_FOUND
    assert error.value.details == {"table": "order_s", "available": ["orders"]}
    assert "'orders'" in error.value.hint


async def test_a_column_that_is_not_there_is_named_with_those_that_are(session: Session) -> None:
    with pytest.raises(JackfieldError) as error:
        await rows(session, "SELECT contry FROM orders")
    assert error.value.code is Code.SCHEMA_NOT_FOUND
    assert "'contry'" in error.value.message
    assert "'country'" in error.value.hint
    assert "orders.country" in error.value.details["available"]


async def test_a_column_of_an_empty_source_points_to_its_schema(session: Session) -> None:
    empty = Table.whole(pa.table({}))
    with pytest.raises(JackfieldError) as error:
        await rows(session, "SELECT weight FROM parcels", parcels=empty)
    assert error.value.code is Code.SCHEMA_NOT_FOUND
    assert "`schema`" in error.value.hint


async def test_an_empty_source_without_columns_has_no_rows(session: Session) -> None:
    table = await session.query("SELECT * FROM parcels", {}, {"parcels": Table.whole(pa.table({}))})
    assert table.schema.names == []
    assert table.num_rows == 0


async def test_columns_of_an_empty_source_compare_with_anything(session: Session) -> None:
    """One empty source once emptied every join elsewhere."""
    empty = Table.whole(pa.table({"id": pa.nulls(0), "country": pa.nulls(0), "day": pa.nulls(0)}))
    found = await rows(
        session,
        "SELECT o.id, e.country FROM orders o LEFT JOIN empty e ON e.id = o.id AND e.day > o.day AND e.country = 'NO'"
        " WHERE e.id IS NULL OR upper(e.country) = 'NO' ORDER BY 1",
        orders=orders(),
        empty=empty,
    )
    assert found == [{"id": 1, "country": None}, {"id": 2, "country": None}, {"id": 3, "country": None}]


@pytest.mark.parametrize(
    ("sql", "code", "words", "column"),
    [
        ("SELECT country::int FROM orders", Code.TYPE_MISMATCH, "'NO'", 15),
        ("SELECT id\nFROM orders WHERE id = 'x'", Code.TYPE_MISMATCH, "'x'", 24),
        ("SELECT sum(country) FROM orders", Code.QUERY_INVALID, "sum(VARCHAR)", None),
        ("SELECT id FROM orders GROUP BY country", Code.QUERY_INVALID, "GROUP BY", None),
        ("SELECT id,\n  FROM orders WHERE ORDER", Code.QUERY_INVALID, "parsed", 21),
        ("SELECT 9223372036854775807 + id FROM orders", Code.TYPE_MISMATCH, "Overflow", None),
    ],
)
async def test_what_duckdb_says_comes_with_code_and_place(
    session: Session, sql: str, code: Code, words: str, column: int | None
) -> None:
    with pytest.raises(JackfieldError) as error:
        await rows(session, sql)
    assert error.value.code is code
    assert words in error.value.message
    if column is not None:
        assert error.value.details["column"] == column
        assert "^" in error.value.details["frame"]


def stream(batches: int = 4, failure: BaseException | None = None, close: Callable[[], None] = nothing) -> Table:
    def read() -> Iterator[pa.RecordBatch]:
        for number in range(batches):
            yield pa.record_batch({"a": list(range(number * 10, number * 10 + 10))})
        if failure is not None:
            raise failure

    return Table.stream(pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), read()), close=close)


ONCE = "SELECT count(*) AS n FROM s"
TWICE = "SELECT count(*) AS n FROM s JOIN s AS t USING (a)"


@pytest.mark.parametrize("sql", [ONCE, TWICE, "WITH w AS (FROM s) SELECT count(*) AS n FROM w JOIN w AS x USING (a)"])
async def test_a_stream_is_read_once_however_often_the_query_does(session: Session, sql: str) -> None:
    closed: list[bool] = []
    assert await rows(session, sql, s=stream(close=lambda: closed.append(True))) == [{"n": 40}]
    assert closed == [True]


@pytest.mark.parametrize("sql", [ONCE, TWICE])
async def test_a_stream_that_breaks_says_so_itself(session: Session, sql: str) -> None:
    failure = JackfieldError(Code.SOURCE_ERROR, "the source broke")
    with pytest.raises(JackfieldError) as error:
        await rows(session, sql, s=stream(failure=failure))
    assert error.value is failure


async def test_a_result_may_be_a_stream(session: Session) -> None:
    closed: list[bool] = []
    source = stream(close=lambda: closed.append(True))
    table = await session.query("SELECT a, sum(a) OVER () AS s FROM s", {}, {"s": source}, stream=True)
    assert table.is_stream
    found = await anyio.to_thread.run_sync(table.arrow)
    assert found.schema.types == [pa.int64(), pa.int64()]
    assert found.num_rows == 40
    assert closed == [True]


async def test_a_result_stream_that_breaks_says_what_its_source_said(session: Session) -> None:
    failure = JackfieldError(Code.SOURCE_TIMEOUT, "the source was silent")
    table = await session.query("SELECT a + 1 AS b FROM s", {}, {"s": stream(failure=failure)}, stream=True)
    with pytest.raises(JackfieldError) as error:
        await anyio.to_thread.run_sync(table.arrow)
    assert error.value is failure


async def test_a_result_stream_names_its_own_errors(session: Session) -> None:
    sql = "SELECT CASE WHEN a < 50000 THEN a::text ELSE 'x' END::int AS b FROM s"
    table = await session.query(sql, {}, {"s": stream(20_000)}, stream=True)
    with pytest.raises(JackfieldError) as error:
        await anyio.to_thread.run_sync(table.arrow)
    assert error.value.code is Code.TYPE_MISMATCH


async def test_the_end_of_a_session_ends_its_streams(session: Session) -> None:
    closed: list[bool] = []
    await session.query("FROM s", {}, {"s": stream(close=lambda: closed.append(True))}, stream=True)
    session.close()
    assert closed == [True]


async def test_a_result_is_counted_against_the_budget(database: Database) -> None:
    with pytest.raises(JackfieldError) as error:
        await database.session(CountedBudget(1000, None)).query("SELECT * FROM range(1000000000)", {}, {})
    assert error.value.code is Code.BUDGET_EXCEEDED
    with pytest.raises(JackfieldError) as error:
        await database.session(CountedBudget(None, 1000)).query("SELECT * FROM range(1000000000)", {}, {})
    assert error.value.code is Code.BUDGET_EXCEEDED


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT list(i) AS l FROM range(200000000) t(i)",
        "WITH RECURSIVE r AS (SELECT 'a' AS t UNION ALL SELECT t || t FROM r) SELECT max(len(t)) AS n FROM r",
    ],
    ids=["one long list", "text that doubles for ever"],
)
async def test_too_much_memory_ends_the_query_and_not_the_process(session: Session, sql: str) -> None:
    """SQL-09"""
    with pytest.raises(JackfieldError) as error:
        await session.query(sql, {}, {})
    assert error.value.code is Code.BUDGET_EXCEEDED
    assert await rows(session, "SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.parametrize(
    "sql", [ENDLESS, "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r"]
)
async def test_the_deadline_ends_a_query(database: Database, sql: str) -> None:
    """SQL-09"""
    began = time.monotonic()
    with pytest.raises(JackfieldError) as error:
        await database.session(deadline=anyio.current_time() + 0.2).query(sql, {}, {})
    assert error.value.code is Code.QUERY_TIMEOUT
    assert time.monotonic() - began < 1.2
    assert database.threads.stuck == 0


async def test_a_cancelled_query_ends_at_once_and_cancels_its_source_first(session: Session) -> None:
    waiting, let_go = threading.Event(), threading.Event()

    def read() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"a": [1]})
        waiting.set()
        let_go.wait(10)  # as a driver waits for its server, until the source is told to cancel

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), read())
    began = 0.0
    async with anyio.create_task_group() as group:
        group.start_soon(session.query, ONCE, {}, {"s": Table.stream(reader, cancel=let_go.set)})
        with anyio.fail_after(5):
            await anyio.to_thread.run_sync(waiting.wait)
        began = time.monotonic()
        group.cancel_scope.cancel()
    assert time.monotonic() - began < 1
    assert let_go.is_set()


async def test_a_query_that_does_not_hear_is_left_behind_counted_and_keeps_others_out(database: Database) -> None:
    session = database.session()
    began = time.monotonic()
    with anyio.move_on_after(0.2) as scope:
        await session.query(DEAF, {"many": 2_000}, {})
    assert scope.cancelled_caught
    assert time.monotonic() - began < 1.2
    assert database.threads.stuck == 1
    with pytest.raises(JackfieldError) as error:
        await session.query("SELECT 1", {}, {})
    assert error.value.code is Code.OVERLOADED
    assert error.value.transient
    with anyio.fail_after(60):
        while database.threads.stuck:  # noqa: ASYNC110 – a thread ends it, which has no event to wait for
            await anyio.sleep(0.05)
    assert await rows(session, "SELECT 1 AS one") == [{"one": 1}]


async def test_queries_beyond_the_threads_wait_their_turn_and_then_are_refused() -> None:
    threads = QueryThreads(1, 1, 1)
    begun, go_on = threading.Event(), threading.Event()

    def hold() -> str:
        begun.set()
        go_on.wait(10)
        return "held"

    results: list[str] = []

    async def ask(call: Callable[[], str]) -> None:
        results.append(await threads.run(call, go_on.set))

    async with anyio.create_task_group() as group:
        group.start_soon(ask, hold)
        with anyio.fail_after(5):
            await anyio.to_thread.run_sync(begun.wait)
        group.start_soon(ask, lambda: "waited")
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        with pytest.raises(JackfieldError) as error:
            await threads.run(lambda: "refused", nothing)
        assert error.value.code is Code.OVERLOADED
        go_on.set()
    assert results == ["held", "waited"]
    threads.close()


async def test_one_crowd_of_slow_queries_leaves_threads_for_another() -> None:
    threads = QueryThreads(4, 10, 1)
    running, go_on = threading.Semaphore(0), threading.Event()

    def hold() -> None:
        running.release()
        go_on.wait(10)

    async def slow() -> None:
        with crowd("slow"):
            await threads.run(hold, go_on.set)

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(slow)
        with anyio.fail_after(5):
            await anyio.to_thread.run_sync(lambda: [running.acquire(timeout=5) for _ in range(3)])
            with crowd("quick"):
                assert await threads.run(lambda: "quick", nothing) == "quick"
        assert not running.acquire(blocking=False), "a fourth thread went to the slow ones"
        go_on.set()
    threads.close()


async def test_queries_of_one_session_run_side_by_side(session: Session) -> None:
    found: dict[int, Any] = {}

    async def ask(number: int) -> None:
        table = Table.from_rows([{"a": number}])
        found[number] = await rows(session, "SELECT a + :plus AS b FROM t", {"plus": number}, t=table)

    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(ask, number)
    assert found == {number: [{"b": 2 * number}] for number in range(30)}


async def test_a_kept_cursor_tells_the_time_anew(session: Session) -> None:
    table = orders()
    first = await rows(session, "SELECT now() AS t FROM orders LIMIT 1", orders=table)
    second = await rows(session, "SELECT now() AS t FROM orders LIMIT 1", orders=table)
    assert first[0]["t"] < second[0]["t"]


async def test_the_zone_is_utc(session: Session) -> None:
    table = await session.query("SELECT timestamptz '2024-01-01 00:00:00+02' AS t", {}, {})
    assert table.schema.types == [pa.timestamp("us", "UTC")]
    assert table.to_pylist()[0]["t"] == dt.datetime(2023, 12, 31, 22, tzinfo=dt.UTC)
