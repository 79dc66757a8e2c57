"""Streamed answers: rows are read while the run goes on, and whatever ends it ends the reading, and the other way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import anyio
import anyio.to_thread
import pyarrow as pa
import pytest
from servers.flow import flow
from servers.postgres import PostgresServer

from jackfield.engine.engine import Engine
from jackfield.engine.events import Event
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Graph
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.base import ROWS, TABLE, Context, Inputs, NoConfiguration, Outputs, Port, node
from jackfield.nodes.blocking import in_thread
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio

BATCH = pa.record_batch({"n": pa.array(range(50_000), pa.int64())})
DOUBLED = ("sql", {"sql": "SELECT n * 2 AS n FROM numbers"})
THROUGH_SQL = flow(
    {"numbers": "numbers", "sql": DOUBLED, "out": "output"}, "numbers.rows -> sql.numbers", "sql.rows -> out.rows"
)
ALONE = flow({"numbers": "numbers", "out": "output"}, "numbers.rows -> out.rows")


class Numbers:
    """A kind of source of 20 batches. Before each `before(number)` is called, in the thread that reads."""

    def __init__(self, before: Callable[[int], None] = lambda number: None) -> None:
        self.before = before
        self.given = 0
        self.cancelled = threading.Event()
        self.closed = threading.Event()

        @node("numbers", description="Numbers", configuration=NoConfiguration, outputs=[Port(ROWS, TABLE)])
        async def numbers(config: NoConfiguration, inputs: Inputs, context: Context) -> Outputs:
            reader = pa.RecordBatchReader.from_batches(BATCH.schema, self._batches())
            table = Table.stream(reader, close=self.closed.set, cancel=self.cancelled.set)
            return {ROWS: table if context.streams else Table.whole(table.arrow())}

        self.kind = numbers

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for number in range(20):
            self.before(number)
            if self.cancelled.is_set():
                raise RuntimeError("the driver's own word for cancelled")
            self.given += 1
            yield BATCH


def engine_with(numbers: Numbers) -> Engine:
    return Engine((*NODE_TYPES, numbers.kind))


async def first_batch(table: Table) -> tuple[pa.RecordBatchReader, pa.RecordBatch]:
    reader = table.reader()
    return reader, await in_thread(reader.read_next_batch, cancel=table.cancel)


@pytest.mark.parametrize("graph", [ALONE, THROUGH_SQL], ids=["source", "sql"])
async def test_rows_are_read_before_the_source_has_ended(graph: Graph) -> None:
    seen = threading.Event()
    numbers = Numbers(lambda number: None if number < 10 else _wait(seen))
    kinds: list[str] = []
    async with engine_with(numbers) as engine:
        with anyio.fail_after(20):
            run = await engine.run(graph, {}, stream=True, listener=lambda event: kinds.append(event.kind))
            table = run.values[ROWS]
            assert table.is_stream
            reader, batch = await first_batch(table)
            assert numbers.given <= 10
            assert "run_finished" not in kinds
            seen.set()
            rest = await in_thread(lambda: sum(each.num_rows for each in reader))
            assert batch.num_rows + rest == 1_000_000
            while "run_finished" not in kinds:  # noqa: ASYNC110 – told by the loop, from the thread that read
                await anyio.sleep(0.001)
    assert numbers.closed.is_set()
    assert [event.kind for event in run.events][-1] == "run_finished"


def _wait(event: threading.Event) -> None:
    assert event.wait(10)


async def test_without_being_asked_for_it_an_answer_is_whole() -> None:
    async with engine_with(Numbers()) as engine:
        table = (await engine.run(THROUGH_SQL, {})).values[ROWS]
    assert table.num_rows == 1_000_000


async def test_a_streamed_answer_has_the_rows_of_a_whole_one() -> None:
    async with engine_with(Numbers()) as engine:
        whole = (await engine.run(THROUGH_SQL, {})).values[ROWS].arrow()
    async with engine_with(Numbers()) as engine:
        table = (await engine.run(THROUGH_SQL, {}, stream=True)).values[ROWS]
        streamed = await in_thread(table.arrow, cancel=table.cancel)
    assert streamed.equals(whole)


async def test_an_answer_that_is_closed_early_ends_its_run() -> None:
    numbers = Numbers()
    events: list[Event] = []
    async with engine_with(numbers) as engine:
        before = asyncio.all_tasks()
        with anyio.fail_after(5):
            run = await engine.run(THROUGH_SQL, {}, stream=True, listener=events.append)
            table = run.values[ROWS]
            reader, _ = await first_batch(table)
            table.close()
            while asyncio.all_tasks() != before:  # noqa: ASYNC110 – no event tells
                await anyio.sleep(0.001)
        assert numbers.cancelled.is_set()
        assert numbers.closed.is_set()
        with pytest.raises(JackfieldError, match="closed before its last row"):
            await in_thread(reader.read_next_batch)
    assert (events[-1].kind, events[-1].facts["code"]) == ("run_failed", "CANCELLED")


@pytest.mark.parametrize("at", [2, 7, 12, 17])
async def test_an_answer_may_be_closed_while_a_thread_reads_it(at: int) -> None:
    """Each query of the chain is then in use by the one that reads it."""
    reached = threading.Event()
    numbers = Numbers(lambda number: reached.set() if number == at else None)
    again = ("sql", {"sql": "SELECT n + 1 AS n FROM doubled WHERE n % 3 <> 1"})
    nodes = {"numbers": "numbers", "sql": DOUBLED, "again": again, "out": "output"}
    chain = flow(nodes, "numbers.rows -> sql.numbers", "sql.rows -> again.doubled", "again.rows -> out.rows")
    ended: list[int | Code] = []

    async def read(table: Table) -> None:
        try:
            ended.append((await in_thread(table.arrow)).num_rows)
        except JackfieldError as error:
            ended.append(error.code)

    async with engine_with(numbers) as engine:
        table = (await engine.run(chain, {}, stream=True)).values[ROWS]
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(read, table)
                await anyio.to_thread.run_sync(reached.wait)
                table.close()
            await anyio.to_thread.run_sync(numbers.closed.wait)
    assert ended[0] in (Code.CANCELLED, 666_680)  # the last batch may have been on its way already


async def test_an_answer_nobody_reads_is_closed_with_its_engine() -> None:
    numbers = Numbers()
    async with engine_with(numbers) as engine:
        run = await engine.run(THROUGH_SQL, {}, stream=True)
    assert numbers.closed.is_set()
    with pytest.raises(JackfieldError, match="engine was closed"):
        run.values[ROWS].arrow()


@pytest.mark.parametrize("graph", [ALONE, THROUGH_SQL], ids=["source", "sql"])
async def test_an_error_of_the_source_reaches_the_reader_as_it_was(graph: Graph) -> None:
    failure = JackfieldError(Code.SOURCE_BAD_REPLY, "Line 7 is no number.", "Correct it.", {"line": 7})

    def fail(number: int) -> None:
        if number == 19:
            raise failure

    numbers = Numbers(fail)
    async with engine_with(numbers) as engine:
        table = (await engine.run(graph, {}, stream=True)).values[ROWS]
        with pytest.raises(JackfieldError) as caught:
            await in_thread(table.arrow)
    assert caught.value is failure
    assert numbers.closed.is_set()


async def test_a_bug_of_the_source_is_told_as_one() -> None:
    def fail(number: int) -> None:
        raise ValueError("with a secret in its text")

    async with engine_with(Numbers(fail)) as engine:
        table = (await engine.run(ALONE, {}, stream=True)).values[ROWS]
        with pytest.raises(JackfieldError, match="by a bug: ValueError") as caught:
            await in_thread(table.arrow)
    assert caught.value.code is Code.INTERNAL_ERROR


@pytest.mark.parametrize("graph", [ALONE, THROUGH_SQL], ids=["source", "sql"])
async def test_the_deadline_cuts_off_the_reading(graph: Graph) -> None:
    numbers = Numbers()
    numbers.before = lambda number: None if number < 19 else _wait(numbers.cancelled)
    async with engine_with(numbers) as engine:
        table = (await engine.run(graph, {}, stream=True, timeout_s=0.5)).values[ROWS]
        with anyio.fail_after(5), pytest.raises(JackfieldError) as caught:
            await in_thread(table.arrow)
        assert caught.value.code is Code.QUERY_TIMEOUT
        assert "0.5 s" in caught.value.message
        assert numbers.closed.is_set()


async def test_the_deadline_is_told_to_a_reader_who_pauses() -> None:
    async with engine_with(numbers := Numbers()) as engine:
        table = (await engine.run(ALONE, {}, stream=True, timeout_s=0.2)).values[ROWS]
        reader, _ = await first_batch(table)
        with anyio.fail_after(5):
            await anyio.to_thread.run_sync(numbers.closed.wait)
        with pytest.raises(JackfieldError, match=r"did not end within 0\.2 s"):
            await in_thread(reader.read_next_batch)


async def test_the_budget_counts_on() -> None:
    async with engine_with(Numbers()) as engine:
        table = (await engine.run(THROUGH_SQL, {}, stream=True, max_rows=700_000)).values[ROWS]
        with pytest.raises(JackfieldError, match="its budget is 700,000") as caught:
            await in_thread(table.arrow)
    assert caught.value.code is Code.BUDGET_EXCEEDED


async def test_what_a_nested_graph_gives_is_whole() -> None:
    """It is a value within the run, which others may read as often as they like."""
    graph = flow({"in": ("invoke", {"$board": "#inner"}), "out": "output"}, "in.rows -> out.rows")
    nested = Graph(graph.nodes, graph.edges, graphs={"inner": ALONE})
    async with engine_with(Numbers()) as engine:
        table = (await engine.run(nested, {}, stream=True)).values[ROWS]
    assert table.num_rows == 1_000_000


@pytest.fixture
def stalling(postgres: PostgresServer) -> Iterator[tuple[Graph, Callable[[], int]]]:
    """SQL over a query that stalls after 400,000 rows; and how many connections its database has."""
    slow = (
        "CREATE VIEW numbers AS SELECT g AS n, repeat('x', 200) AS pad,"
        " (CASE WHEN g > 400000 THEN pg_sleep(60) END)::text AS s FROM generate_series(1, 400001) g"
    )
    with postgres.database(slow) as dsn:
        nodes = {
            "numbers": ("postgres", {"dsn": dsn, "table": "numbers"}),
            "sql": ("sql", {"sql": "SELECT n, pad, s FROM numbers"}),
            "out": "output",
        }
        count = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{dsn.rpartition('/')[2]}'"
        yield (
            flow(nodes, "numbers.rows -> sql.numbers", "sql.rows -> out.rows"),
            lambda: int(postgres.run(count)[0][0]),
        )


async def until_none(connections: Callable[[], int]) -> None:
    while connections():  # noqa: ASYNC110 – no event tells
        await anyio.sleep(0.02)


async def test_closing_early_ends_the_query_of_a_database(stalling: tuple[Graph, Callable[[], int]]) -> None:
    graph, connections = stalling
    async with Engine(NODE_TYPES) as engine:
        with anyio.fail_after(20):
            table = (await engine.run(graph, {}, stream=True)).values[ROWS]
            _, batch = await first_batch(table)
            assert batch.num_rows
            assert connections() == 1
            await in_thread(table.close)
            await until_none(connections)


async def test_a_cancelled_reader_ends_the_query_it_waits_for(stalling: tuple[Graph, Callable[[], int]]) -> None:
    graph, connections = stalling
    async with Engine(NODE_TYPES) as engine:
        with anyio.fail_after(20):
            table = (await engine.run(graph, {}, stream=True)).values[ROWS]
            with anyio.move_on_after(2) as scope:
                await in_thread(table.arrow, cancel=table.cancel)
            assert scope.cancelled_caught
            await until_none(connections)
