"""Only what is a parameter is taken for one, and each database gets its values beside the text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.sqltext.bind import for_duckdb, for_mysql, for_postgres
from jackfield.nodes.sqltext.parameters import bound, names_in_strings
from jackfield.nodes.sqltext.tokens import Dialect


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT * FROM t WHERE a = :a AND b IN (:b, :c) LIMIT :n", ("a", "b", "c", "n")),
        ("SELECT ':a', 'it''s :a', $$ :a $$, $x$ :a $x$, e'\\':a', \"q:a\" FROM t", ()),
        ("SELECT 1 -- :a\n, 2 /* :b */", ()),
        ("SELECT x::int, :a::date, '12:30'::time", ("a",)),
        ("SELECT a[1:2], a[i:n], a[:n], a[-3:], a[i :n]", ()),
        ("SELECT [:a, :b]", ("a", "b")),
        ("SELECT {'k': :v, 'j':x, k:y, date:z}", ("v",)),
        ("SELECT x: 42, y:z FROM t", ()),
        ("SELECT CASE WHEN :f THEN :x ELSE :y END", ("f", "x", "y")),
        ("SELECT j->'$.a:b', j->>:path", ("path",)),
        ("SELECT :limit, :from, :select, :order", ("limit", "from", "select", "order")),
        ("SELECT :a + :a;", ("a",)),
    ],
)
def test_parameters_are_found_by_tokens(sql: str, names: tuple[str, ...]) -> None:
    found = bound(sql)
    assert found.names == names
    assert len(found.sql) == len(sql.rstrip(";"))


def test_a_name_in_a_string_is_told_apart() -> None:
    spans = names_in_strings("SELECT ':city', 'at 12:30', 'http://x', 'a:b' FROM t WHERE c = :c")
    assert [span.name for span in spans] == ["city"]


ARGUMENTS: dict[str, Any] = {
    "ids": [1, 2],
    "none": [],
    "one": 5,
    "absent": None,
    "word": "x",
    "day": dt.date(2024, 1, 31),
    "at": dt.datetime(2024, 1, 31, 12, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    "price": Decimal("1.10"),
}


def test_duckdb_gets_names_and_a_list_in_in_becomes_its_items() -> None:
    text, values = for_duckdb("SELECT a IN (:ids), b IN (:one, :ids), len(:ids) LIMIT :absent", ARGUMENTS)
    assert text == "SELECT a IN ($ids_0, $ids_1), b IN ($one, $ids_0, $ids_1), len($ids) LIMIT $absent"
    assert values == {"ids_0": 1, "ids_1": 2, "one": 5, "ids": [1, 2], "absent": None}


def test_names_of_items_give_way_to_other_names() -> None:
    text, values = for_duckdb("SELECT a IN (:x), :x_0", {"x": [7], "x_0": 1})
    assert text == "SELECT a IN ($x_0_), $x_0"
    assert values == {"x_0_": 7, "x_0": 1}


@pytest.mark.parametrize(
    ("sql", "text", "values"),
    [
        ("SELECT :one, :one", "SELECT $1::bigint, $2::bigint", [5, 5]),
        ("id IN (:ids)", "id IN ($1::bigint, $2::bigint)", [1, 2]),
        ("id IN (:none)", "id = ANY ('{}')", []),
        ("id NOT IN (:none)", "id <> ALL ('{}')", []),
        ("id = ANY(:ids)", "id = ANY(ARRAY[$1::bigint, $2::bigint])", [1, 2]),
        ("id = ANY(:none)", "id = ANY('{}')", []),
        ("LIMIT :absent", "LIMIT NULL", []),
        ("day = :day", "day = $1::text::date", ["2024-01-31"]),
        ("at = :at", "at = $1::text::timestamptz", ["2024-01-31T12:00:00+02:00"]),
        ("price = :price", "price = $1::text::numeric", ["1.10"]),
        ("a LIKE '%:word' AND b = :word;", "a LIKE '%:word' AND b = $1::text", ["x"]),
        ("x ->> :word, tags[1:2], y::int", "x ->> $1::text, tags[1:2], y::int", ["x"]),
    ],
)
def test_postgres_gets_numbers_with_types(sql: str, text: str, values: list[Any]) -> None:
    assert for_postgres(sql, ARGUMENTS) == (text, values)


@pytest.mark.parametrize(
    ("sql", "text", "values"),
    [
        ("SELECT :one, :one", "SELECT %s, %s", [5, 5]),
        ("id IN (:ids, 7)", "id IN (%s, %s, 7)", [1, 2]),
        ("id NOT IN (:none)", "id NOT IN (SELECT NULL FROM DUAL WHERE FALSE)", []),
        ("LIMIT :absent OFFSET :absent", "LIMIT 18446744073709551615 OFFSET 0", []),
        ("a LIKE '50%' AND b % 2 = :one", "a LIKE '50%%' AND b %% 2 = %s", [5]),
        ("at = :at", "at = %s", [dt.datetime.fromisoformat("2024-01-31T10:00:00")]),
        ('a = ":word" AND `:word` = :word # :one', 'a = ":word" AND `:word` = %s # :one', ["x"]),
    ],
)
def test_mysql_gets_percent_signs(sql: str, text: str, values: list[Any]) -> None:
    assert for_mysql(sql, ARGUMENTS) == (text, values)


def test_mysql_has_no_lists_outside_of_in() -> None:
    with pytest.raises(JackfieldError, match=r"IN \(:ids\)") as error:
        for_mysql("SELECT json_contains(x, :ids)", ARGUMENTS)
    assert error.value.code is Code.QUERY_INVALID


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "mysql"])
def test_a_string_without_end_is_refused(dialect: Dialect) -> None:
    with pytest.raises(JackfieldError, match="Close every string") as error:
        bound("SELECT 'abc", dialect)
    assert error.value.code is Code.QUERY_INVALID


@pytest.mark.parametrize("value", ["x' OR 1=1 --", "'; DROP TABLE t; --", "\\' OR 1=1", "$1", ":ids", "%s"])
def test_a_value_never_enters_the_text(value: str) -> None:
    """SQL-01"""
    for write in (for_duckdb, for_postgres, for_mysql):
        text, _ = write("SELECT * FROM t WHERE a = :word AND b IN (:words)", {"word": value, "words": [value]})
        assert value not in text.replace("$1::", "").replace("%s", "") or value in ("$1", "%s")
    text, values = for_duckdb("SELECT :word AS w", {"word": value})
    with duckdb.connect() as database:
        assert database.sql(text, params=values).fetchall() == [(value,)]


def test_postgres_gets_the_text_of_its_values_types_whatever_was_bound_before() -> None:
    sql = "SELECT :a, :b, :a"
    for _ in range(2):
        assert for_postgres(sql, {"a": 1, "b": "x"}) == ("SELECT $1::bigint, $2::text, $3::bigint", [1, "x", 1])
        assert for_postgres(sql, {"a": 2**70, "b": None}) == (
            "SELECT $1::text::numeric, NULL, $2::text::numeric",
            [str(2**70)] * 2,
        )
        assert for_postgres(sql, {"a": [1, 2], "b": True})[0] == (
            "SELECT ARRAY[$1::bigint, $2::bigint], $3::boolean, ARRAY[$4::bigint, $5::bigint]"
        )
        assert for_postgres(sql, {"a": True, "b": 1}) == (
            "SELECT $1::boolean, $2::bigint, $3::boolean",
            [True, 1, True],
        )
