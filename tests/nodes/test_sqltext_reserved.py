"""The reserved words that lint knows are DuckDB's: each is refused unquoted, and nothing that runs is taken for one."""

import duckdb
import pytest

from jackfield.nodes.sqltext.reserved import RESERVED, reserved_names

NAMED_BY_USERS = ["at", "end", "pivot", "asof", "window", "offset", "natural", "desc", "show", "column", "to"]
LITERALS = {"true", "false", "null"}  # values, wherever they stand


def runs(sql: str) -> bool:
    try:
        duckdb.connect().execute(sql)
    except duckdb.Error:
        return False
    return True


def test_the_list_is_that_of_the_words_which_duckdb_refuses_as_a_column() -> None:
    words = {word for (word,) in duckdb.connect().execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()}
    refused = {word for word in words if not runs(f'SELECT {word} FROM (SELECT 1 AS "{word}", 2 AS x) t')}
    assert refused - LITERALS == RESERVED


@pytest.mark.parametrize("word", NAMED_BY_USERS)
@pytest.mark.parametrize(
    "sql", ["SELECT id, {} FROM t", "SELECT id FROM t ORDER BY id DESC, {}", "SELECT :x, sum({}) FROM t"]
)
def test_a_reserved_word_that_stands_for_a_column_is_found_at_its_place(word: str, sql: str) -> None:
    text = sql.format(word)
    ((found, start, end),) = reserved_names(text)
    assert (found, start, text[start:end]) == (word, sql.index("{}"), word)
    assert not list(reserved_names(sql.format(f'"{word}"')))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t ORDER BY ALL",
        "SELECT a, count(*) FROM t GROUP BY ALL",
        "SELECT array[1, 2] AS x, left('abc', 2), any_value(a) FROM t",
        "SELECT list_transform([1, 2], lambda x: x + 1) FROM t",
        "SELECT CASE WHEN a > 1 THEN 1 ELSE 2 END FROM t WHERE a = ANY([1, 2])",
        'SELECT t.end, 1 AS "end", 2 AS desc FROM t',
        "SELECT sum(a) OVER (ORDER BY a DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t",
        "SELECT a IS NOT DISTINCT FROM 1, trim(both ' ' from 'x'), substring('abc' from 1 for 2) FROM t",
        "SELECT t.a FROM t ASOF JOIN t AS u ON t.a >= u.a",
        "SELECT a FROM t QUALIFY row_number() OVER (ORDER BY a) = 1",
    ],
)
def test_the_words_of_the_grammar_are_no_names(sql: str) -> None:
    assert not list(reserved_names(sql))
    assert runs(f'WITH t AS (SELECT 1 AS a, 2 AS "end") {sql}')
