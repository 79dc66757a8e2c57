"""What a query needs of its sources, case by case; that it never changes an answer is held by the fuzz."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.scan import Predicate, Scan
from jackfield.nodes.sqltext.pushdown import prepare

DAY = dt.date(2024, 1, 31)
LEAST, MOST = Predicate("day", ">=", DAY), Predicate("day", "<=", DAY)


def scan(sql: str, table: str = "orders", **arguments: Any) -> Scan:
    return prepare(sql, ("orders", "customers")).scans(arguments)[table]


@pytest.mark.parametrize(
    ("condition", "arguments", "predicates"),
    [
        ("id = 3", {}, [Predicate("id", "=", 3)]),
        ("3 < id AND (id <= :n)", {"n": 9}, [Predicate("id", ">", 3), Predicate("id", "<=", 9)]),
        ("(:c IS NULL OR country = :c)", {"c": None}, []),
        ("(:c IS NULL OR country = :c)", {"c": "NO"}, [Predicate("country", "=", "NO")]),
        ("(country = :c OR :c = 'all')", {"c": "all"}, []),
        ("(NOT :some OR id = 1)", {"some": True}, [Predicate("id", "=", 1)]),
        ("country IN ('NO', :c, NULL)", {"c": "SE"}, [Predicate("country", "in", ("NO", "SE"))]),
        ("country IN (:cs)", {"cs": ["NO", "SE"]}, [Predicate("country", "in", ("NO", "SE"))]),
        ("id = 1 OR id IN (2, 3)", {}, [Predicate("id", "in", (1, 2, 3))]),
        (
            "day BETWEEN DATE '2024-01-31' AND :d",
            {"d": DAY},
            [Predicate("day", ">=", DAY), Predicate("day", "<=", DAY)],
        ),
        ("id = -1 AND gift = true", {}, [Predicate("id", "=", -1), Predicate("gift", "=", True)]),
    ],
)
def test_a_condition_is_pushed(condition: str, arguments: dict[str, Any], predicates: list[Predicate]) -> None:
    found = scan(f"SELECT id FROM orders WHERE {condition} LIMIT 5", **arguments)
    assert list(found.predicates) == predicates
    assert found.limit == 5
    assert found.kept == ()


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("country IS NULL", "only comparisons"),
        ("country > 'm'", "order text differently"),
        ("lower(country) = 'no'", "plain column"),
        ("id = other", "constant or a parameter"),
        ("id = 1 OR country = 'NO'", "different columns"),
        ("id IN (SELECT 1)", "IN over a query"),
        ("country LIKE 'N%'", "only comparisons"),
        ("NOT id = 1", "only comparisons"),
        ("id = NULL", "never true"),
        ("country IN (:none)", "never true"),
        ("score = 'NaN'::double", "constant or a parameter"),
    ],
)
def test_a_condition_is_kept_with_its_reason_and_keeps_the_limit(condition: str, reason: str) -> None:
    found = scan(f"SELECT id FROM orders WHERE {condition} LIMIT 5", none=[])
    assert found.predicates == ()
    assert found.limit is None
    assert reason in found.kept[0]
    assert found.kept[1] == "LIMIT: not every condition was pushed"


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT a, o.b AS x FROM orders o WHERE c = 1 ORDER BY d", ("a", "b", "c", "d")),
        ("SELECT count(*) FROM orders WHERE c = 1", ("c",)),
        ("SELECT o.a FROM orders o JOIN customers c ON c.id = o.buyer", ("a", "buyer")),
        ("SELECT o.a, c.* FROM orders o JOIN customers c USING (id)", ("a", "id")),
        ("SELECT o.a FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = o.buyer)", ("a", "buyer")),
        ("SELECT place.city FROM orders", ("place",)),
        ("SELECT * FROM orders", None),
        ("SELECT o.* FROM orders o JOIN customers c USING (id)", None),
        ("SELECT o FROM orders o", None),
        ("SELECT COLUMNS('a') FROM orders", None),
        ("SELECT a FROM orders NATURAL JOIN customers", None),
        ("SELECT a FROM orders JOIN customers USING (id)", None),
    ],
)
def test_columns_are_those_that_the_query_may_read(sql: str, columns: tuple[str, ...] | None) -> None:
    assert scan(sql).columns == columns


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON c.id = o.buyer WHERE c.region = 'eu' AND o.id = 1",
        "SELECT 1 FROM orders o, customers c WHERE o.buyer = c.id AND c.region = 'eu' AND o.id = 1",
        "SELECT 1 FROM customers c WHERE c.region = 'eu' AND c.id NOT IN (SELECT buyer FROM orders WHERE id = 1)",
        "WITH o AS (SELECT * FROM orders WHERE id = 1) SELECT * FROM o, customers c WHERE c.region = 'eu'",
    ],
)
def test_each_table_of_a_join_gets_its_own_conditions(sql: str) -> None:
    assert scan(sql).predicates == (Predicate("id", "=", 1),)
    assert scan(sql, "customers").predicates == (Predicate("region", "=", "eu"),)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT * FROM orders a, orders b WHERE a.id = 1", "read more than once"),
        ("SELECT * FROM customers", "not read"),
        ("SELECT * FROM orders TABLESAMPLE 10% WHERE id = 1", "sample"),
        ("SELECT * FROM orders PIVOT (sum(a) FOR b IN (1, 2)) WHERE id = 1", "pivoted"),
    ],
)
def test_some_tables_are_read_whole(sql: str, reason: str) -> None:
    found = scan(sql)
    assert (found.columns, found.predicates, found.limit) == (None, (), None)
    assert reason in found.kept[0]


@pytest.mark.parametrize(
    "rest",
    [
        "ORDER BY id LIMIT 5",
        "GROUP BY id LIMIT 5",
        "LIMIT 5 OFFSET 2",
        "QUALIFY row_number() OVER () > 1 LIMIT 5",
        "LIMIT 5%",
    ],
)
def test_a_limit_stays_where_something_else_decides_the_rows(rest: str) -> None:
    assert scan(f"SELECT id FROM orders WHERE id = 1 {rest}").limit is None


@pytest.mark.parametrize(
    "chosen", ["count(*)", "DISTINCT id", "unnest(list)", "sum(id) OVER ()", "(SELECT max(id) FROM customers)"]
)
def test_a_limit_stays_where_rows_are_not_rows(chosen: str) -> None:
    assert scan(f"SELECT {chosen} FROM orders LIMIT 5").limit is None


def test_a_limit_by_parameter_may_be_absent() -> None:
    assert scan("SELECT id FROM orders LIMIT :n", n=7).limit == 7
    assert scan("SELECT id FROM orders LIMIT :n", n=None).limit is None


def test_a_parameter_that_nobody_declared_is_an_error() -> None:
    with pytest.raises(JackfieldError) as error:
        scan("SELECT id FROM orders WHERE id = :id")
    assert error.value.code is Code.QUERY_INVALID


def test_a_scan_is_json_for_the_plan() -> None:
    found = scan("SELECT id FROM orders WHERE day > :d AND id IN (1, 2) AND x IS NULL", d=DAY).as_json()
    assert found == {
        "columns": ["day", "id", "x"],
        "predicates": [
            {"column": "day", "operator": ">", "value": "2024-01-31"},
            {"column": "id", "operator": "in", "value": [1, 2]},
        ],
        "limit": None,
        "kept": ["x IS NULL: only comparisons of a column with a value are pushed"],
    }
