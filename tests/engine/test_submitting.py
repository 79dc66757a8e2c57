"""A small query's rows as Arrow, by the short way and by the one that DuckDB documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from jackfield.engine.submitting import Executed, Submitted, submitted

SQL = (
    "SELECT $n AS n, 'x' AS word, 1.50::DECIMAL(12,2) AS amount, TIMESTAMPTZ '2024-05-01 12:00:00+02' AS at, NULL AS no"
)


class Documented:
    """A cursor with the methods that `Executed` uses alone, as one of another version may be."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self.execute = cursor.execute


@pytest.fixture
def cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def both(cursor: Any, sql: str, values: dict[str, Any]) -> list[Submitted]:
    return [submitted(cursor, sql, values), submitted(Documented(cursor), sql, values)]  # type: ignore[arg-type]


def test_both_ways_give_the_same_rows_and_describe_them_alike(cursor: duckdb.DuckDBPyConnection) -> None:
    short, documented = both(cursor, SQL, {"n": 7})
    assert isinstance(documented, Executed)
    assert not isinstance(short, Executed)
    kinds = [[column[1].id for column in found.description or ()] for found in (short, documented)]
    assert kinds == [["integer", "varchar", "decimal", "timestamp with time zone", "null"]] * 2
    rows = documented.arrow_table()
    assert short.arrow_table().equals(rows)
    assert rows.to_pylist()[0]["n"] == 7


def test_rows_that_are_dropped_leave_the_cursor_free(cursor: duckdb.DuckDBPyConnection) -> None:
    for found in both(cursor, "SELECT 1", {}):
        found.close()
    assert submitted(cursor, "SELECT 2 AS two", {}).arrow_table().to_pylist() == [{"two": 2}]


def test_an_error_of_the_query_is_duckdbs_own(cursor: duckdb.DuckDBPyConnection) -> None:
    for way in (cursor, Documented(cursor)):
        with pytest.raises(duckdb.ConversionException):
            submitted(way, "SELECT CAST($word AS INTEGER)", {"word": "x"}).arrow_table()  # type: ignore[arg-type]
