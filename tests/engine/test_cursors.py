"""Cursors kept for queries over the same rows answer as the first one did, however often they are asked."""

from datetime import UTC, datetime
from decimal import Decimal

import anyio
import pyarrow as pa
import pytest

from jackfield.engine.cursors import ASKED_AGAIN, Cursors
from jackfield.engine.tables import Database
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio

ROWS = {
    "plain": pa.table(
        {
            "id": pa.array([3, 1, 2]),
            "price": pa.array([Decimal("1.10"), None, Decimal("3.30")], pa.decimal128(12, 2)),
            "at": pa.array(
                [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)], pa.timestamp("us", "Europe/Oslo")
            ),
            "kind": pa.array(["a", "b", "a"]).dictionary_encode(),
            "blob": pa.array([b"x", b"", None]),
        }
    ),
    "a column of untyped nulls": pa.table({"id": [1, 2], "none": pa.nulls(2)}),
    "names that differ by case": pa.table([pa.array([1]), pa.array([2])], names=["a", "A"]),
    "lists and objects": pa.table({"id": [1], "tags": [["x", "y"]], "place": [{"lat": 1.5}]}),
    "no rows": pa.table({"id": pa.array([], pa.int64())}),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
async def test_rows_asked_again_and_again_stay_as_they_were(rows: pa.Table) -> None:
    with Database() as database:
        answers = []
        for _ in range(ASKED_AGAIN + 2):
            session = database.session()
            answers.append((await session.query("SELECT * FROM t", {}, {"t": Table.whole(rows)})).arrow())
            session.close()
    for answer in answers[1:]:
        assert answer.equals(answers[0])
        assert answer.schema.equals(answers[0].schema)


async def test_other_rows_under_the_same_name_are_never_answered_from_a_kept_cursor() -> None:
    with Database() as database:
        session = database.session()
        for number in range(ASKED_AGAIN + 2):
            for rows in (pa.table({"n": [number]}), pa.table({"n": [-number]})):
                for _ in range(ASKED_AGAIN + 1):
                    answer = await session.query("SELECT n FROM t", {}, {"t": Table.whole(rows)})
                    assert answer.to_pylist() == rows.to_pylist()
        session.close()


def test_fresh_small_rows_take_the_place_of_rows_that_nobody_asked_again() -> None:
    cursors = Cursors({"threads": 1})
    try:
        first = cursors.lend({"t": pa.table({"a": [1]})})
        cursors.take_back(first)
        second = cursors.lend({"t": pa.table({"a": [2, 3]})})
        assert second is first
        assert second.cursor.sql("SELECT a FROM t").fetchall() == [(2,), (3,)]
        cursors.take_back(second)
        for other in ({"t": pa.table({"a": ["2"]})}, {"t": pa.table({"b": [2]})}, {"u": pa.table({"a": [2]})}):
            assert cursors.lend(other) is not first
    finally:
        cursors.close()


async def test_results_that_change_their_columns_types_or_size_are_right_each_time() -> None:
    sql = "SELECT id, id AS id, sum(id) OVER () AS total, repeat('x', :width) AS wide, :kind AS kind FROM t"
    with Database() as database:
        session = database.session()
        for number, (width, kind) in enumerate([(1, 5), (1, "text"), (90_000, None), (1, 5), (1, 2.5)]):
            ids = [number + 2**58, *range(12)]
            rows = pa.table({"id": ids})
            answer = (await session.query(sql, {"width": width, "kind": kind}, {"t": Table.whole(rows)})).arrow()
            assert answer.column_names == ["id", "id_2", "total", "wide", "kind"]
            assert answer.schema.field("total").type == pa.int64()
            assert answer.select(["id", "id_2", "kind"]).to_pylist() == [
                {"id": each, "id_2": each, "kind": kind} for each in ids
            ]
            assert answer.column("wide").to_pylist() == ["x" * width] * 13
        session.close()


async def test_text_stands_for_what_arrow_has_no_word_for_also_when_it_is_asked_again() -> None:
    with Database() as database:
        session = database.session()
        for number in range(3):
            rows = {"t": Table.whole(pa.table({"a": [number]}))}
            assert (
                await session.query(
                    "SELECT CASE WHEN :bits THEN '101'::BIT END AS bits, a FROM t", {"bits": True}, rows
                )
            ).to_pylist() == [{"bits": "101", "a": number}]
        session.close()


async def test_many_queries_of_one_text_at_a_time_each_see_their_own_rows() -> None:
    with Database() as database:
        session = database.session()

        async def ask(number: int) -> None:
            for turn in range(20):
                rows = {"t": Table.whole(pa.table({"a": [number * 100 + turn]}))}
                answer = await session.query("SELECT a FROM t WHERE a >= :low", {"low": number * 100}, rows)
                assert answer.to_pylist() == [{"a": number * 100 + turn}]

        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(ask, number)
        session.close()
