"""Cursors kept for queries over the same rows answer as the first one did, however often they are asked."""

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from jackfield.engine.cursors import ASKED_AGAIN
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
