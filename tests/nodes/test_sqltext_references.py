"""Which tables and columns a text reads, as far as the text alone tells."""

from __future__ import annotations

import pytest

from jackfield.graphs.errors import JackfieldError
from jackfield.nodes.sqltext.pushdown import read_once
from jackfield.nodes.sqltext.references import References, references


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT 1", ()),
        ("FROM orders", ("orders",)),
        ("SELECT * FROM Orders o JOIN customers c USING (id) JOIN ORDERS x USING (id)", ("Orders", "customers")),
        ("WITH t AS (FROM orders) SELECT * FROM t, customers", ("orders", "customers")),
        ("WITH orders AS (FROM orders) FROM orders", ("orders",)),
        ("WITH a AS (FROM b), b AS (FROM orders) FROM a", ("b", "orders")),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) FROM r, orders", ("orders",)),
        ("SELECT (SELECT max(a) FROM b WHERE EXISTS (FROM c)) FROM d UNION SELECT 1 FROM e", ("b", "c", "d", "e")),
        ("SELECT * FROM range(3), unnest([1]) u(x)", ()),
        ("SELECT orders FROM customers AS orders", ("customers",)),
    ],
)
def test_tables_are_those_that_no_with_defines(sql: str, tables: tuple[str, ...]) -> None:
    assert sorted(references(sql).tables) == sorted(tables)


def test_columns_belong_to_the_table_that_the_text_names() -> None:
    found = references(
        "SELECT o.id AS n, c.name, total FROM orders o JOIN customers c ON c.id = o.buyer WHERE o.day > :d"
    )
    assert found == References(
        ("orders", "customers"),
        {"orders": ("id", "buyer", "day"), "customers": ("name", "id")},
        ("total",),
        False,
        ("n", "name", "total"),
    )


def test_columns_of_a_single_table_need_no_name_before_them() -> None:
    found = references("SELECT id, sum(total) AS s FROM orders WHERE day > :d GROUP BY id")
    assert found.columns == {"orders": ("id", "total", "day")}
    assert found.output == ("id", "s")


@pytest.mark.parametrize(
    ("sql", "star", "output"),
    [
        ("SELECT * FROM orders", True, None),
        ("SELECT o.* FROM orders o", True, None),
        ("SELECT count(*) AS n FROM orders", False, ("n",)),
        ("SELECT COLUMNS('a.*') FROM orders", True, None),
        ("SELECT a + 1 FROM orders", False, None),
        ("SELECT a FROM x UNION ALL SELECT b FROM y", False, ("a",)),
    ],
)
def test_output_is_known_where_every_column_is_named(sql: str, star: bool, output: tuple[str, ...] | None) -> None:
    found = references(sql)
    assert (found.star, found.output) == (star, output)


def test_a_row_as_a_whole_is_no_column() -> None:
    assert references("SELECT orders FROM orders").columns == {}


def test_other_dialects_are_read_as_such() -> None:
    assert references("SELECT `a b` FROM `t` WHERE x = :x LIMIT 3, 4", "mysql").columns == {"t": ("a b", "x")}
    assert references("SELECT x->>'k' FROM s.t WHERE y @> :y::jsonb", "postgres").tables == ("t",)


@pytest.mark.parametrize("sql", ["SELECT FROM", "DROP TABLE x", "SELECT 1; SELECT 2", ""])
def test_what_is_no_query_is_an_error_with_a_place(sql: str) -> None:
    with pytest.raises(JackfieldError) as error:
        references(sql)
    assert {"line", "column", "frame"} <= error.value.details.keys()


@pytest.mark.parametrize(
    ("sql", "once"),
    [
        ("SELECT * FROM a JOIN b USING (id)", {"a", "b"}),
        ("SELECT * FROM a JOIN A AS x USING (id)", set()),
        ("WITH t AS (FROM a) SELECT * FROM t", {"a"}),
        ("WITH t AS (FROM a) SELECT * FROM t JOIN t AS u USING (id)", set()),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r JOIN a ON a.id = n) FROM r, b", {"b"}),
    ],
)
def test_a_table_is_read_once_only_where_duckdb_passes_over_it_once(sql: str, once: set[str]) -> None:
    assert read_once(sql) == once
