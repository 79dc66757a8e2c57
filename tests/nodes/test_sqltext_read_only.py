"""What may run, what is refused, and how the refusal reads; DuckDB's attacks are in tests/engine/test_lockdown.py."""

from __future__ import annotations

import time

import pytest

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.sqltext.read_only import problems, require_read_only, statement_kind
from jackfield.nodes.sqltext.tokens import Dialect

FINE: tuple[tuple[Dialect, str], ...] = (
    ("duckdb", "SELECT 1;"),
    ("duckdb", "FROM orders"),
    (
        "duckdb",
        "WITH a(x, y) AS (SELECT 1, 2), b AS MATERIALIZED (FROM a) FROM b UNION ALL SELECT 2, 3 ORDER BY 1",
    ),
    ("duckdb", "SELECT 'insert; drop table x -- delete' AS text, \"update\" FROM orders WHERE a = ';'"),
    ("duckdb", "SELECT sum(a) FILTER (WHERE b > 1) OVER (PARTITION BY c ORDER BY d ROWS 2 PRECEDING) FROM orders"),
    ("duckdb", "SELECT list_transform([1], lambda x: x + 1), [y FOR y IN [1] IF y > 1], {'a': 1}.a FROM orders"),
    (
        "duckdb",
        "SELECT * EXCLUDE (a) REPLACE (b + 1 AS b), COLUMNS('x.*') FROM t QUALIFY row_number() OVER () = 1",
    ),
    ("duckdb", "SELECT * FROM orders PIVOT (sum(a) FOR b IN ('x', 'y') GROUP BY c)"),
    ("duckdb", "SELECT * FROM range(5) r(i), unnest([1, 2]) u(x), generate_series(1, 2)"),
    ("duckdb", "SELECT concat(:a,'x',:b), :a+:b, [:a,:b], a||:a||:b FROM orders WHERE a=:a OR b IN (:a,:b)"),
    ("duckdb", "SELECT a::decimal(10, 2), cast(b AS varchar), date '2024-01-01', interval 1 day FROM orders"),
    (
        "duckdb",
        "SELECT count(DISTINCT a), any_value(b), arg_max(c, d), approx_quantile(a, 0.5) FROM t GROUP BY ALL",
    ),
    ("duckdb", "SELECT * FROM orders ASOF JOIN prices USING (a, t) WHERE EXISTS (SELECT 1 FROM other o WHERE o.a = 1)"),
    (
        "postgres",
        "SELECT a[1:n], x->>'k', tags @> ARRAY['a'] FROM t WHERE id = :id::uuid AND s > now() - interval '1 h'",
    ),
    (
        "postgres",
        "SELECT jsonb_agg(x ORDER BY y), date_trunc('day', s) FROM t, generate_series(1, 3) g LIMIT :n",
    ),
    ("postgres", "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r"),
    ("mysql", "SELECT group_concat(x SEPARATOR ','), date_format(d, '%Y') FROM `t` WHERE a <=> :b LIMIT :n, 10 # end"),
    ("duckdb", "SELECT {'a': 1, 'b': {'c': [1]}}, $$it's$$, $x$a$$b$x$, E'a\\'b', 0.5, .5, 1e-5, 1_000, a[1:2]"),
    (
        "duckdb",
        "SELECT printf('%5.2f %s', a, b), format('{:>20} {0} 100', a), orders.a.upper(), a.repeat(3) FROM orders",
    ),
    ("duckdb", "SELECT größe, 名前, \"a$b\", 'a\u200bb' -- it's — “fine”\n FROM t /* it's fine */"),
    ("postgres", "SELECT e'it\\'s', $$a$$, x'1f', b'01', 'a' 'b', a #>> '{a,b}', b ?| ARRAY['x'], 1-1--1\n FROM t"),
    (
        "mysql",
        "SELECT 5--1, _utf8mb4'ä', x'41', 0x41, 'it\\'s', \"say \\\"hi\\\"\", `a``b`, 1a FROM t -- it's\n# don't",
    ),
    ("mysql", "SELECT ifnull(a, 0), if(b, 1, 2), convert(c, unsigned) FROM t WHERE MATCH (d) AGAINST ('x')"),
)


@pytest.mark.parametrize(("dialect", "sql"), FINE)
def test_a_query_may_run(dialect: Dialect, sql: str) -> None:
    assert problems(sql, dialect) == ()


# Cases of security-cases.md
REFUSED: tuple[tuple[str, Dialect, str, str], ...] = (
    ("SQL-03", "postgres", "SELECT 1; DROP TABLE t", "more than one statement"),
    ("SQL-03", "postgres", "COMMIT; DROP SCHEMA public CASCADE", "COMMIT"),
    ("SQL-04", "postgres", "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", "DELETE"),
    ("SQL-04", "postgres", "SELECT * INTO copied FROM t", "SELECT INTO"),
    ("SQL-04", "postgres", "EXPLAIN ANALYZE DELETE FROM t", "EXPLAIN"),
    ("SQL-04", "postgres", "DO $$ BEGIN DELETE FROM t; END $$", "DO"),
    ("SQL-04", "postgres", "COPY t TO PROGRAM 'sh'", "COPY"),
    ("SQL-04", "postgres", "CALL f()", "CALL"),
    ("SQL-04", "postgres", "SELECT * FROM t FOR SHARE", "FOR UPDATE or FOR SHARE"),
    ("SQL-04", "postgres", "LISTEN channel", "LISTEN"),
    ("SQL-04", "postgres", "TRUNCATE t", "TRUNCATE"),
    ("SQL-05", "postgres", "SELECT pg_read_file('/etc/passwd')", "pg_read_file"),
    ("SQL-05", "postgres", "SELECT pg_catalog.pg_read_binary_file('x')", "pg_read_binary_file"),
    ("SQL-05", "postgres", "SELECT lo_import('/etc/passwd')", "lo_import"),
    ("SQL-05", "postgres", "SELECT * FROM dblink('host=169.254.169.254', 'select 1') AS t(a int)", "dblink"),
    ("SQL-05", "postgres", "SELECT query_to_xml('delete from t', true, true, '')", "query_to_xml"),
    ("SQL-05", "postgres", "SELECT set_config('role', 'admin', false)", "set_config"),
    ("SQL-05", "postgres", "SELECT pg_terminate_backend(1)", "pg_terminate_backend"),
    ("SQL-05", "postgres", "SELECT nextval('s')", "nextval"),
    ("SQL-05", "postgres", "SELECT pg_sleep(10)", "pg_sleep"),
    ("SQL-05", "postgres", 'SELECT "pg_sleep"(10)', "pg_sleep"),
    ("SQL-05", "postgres", "SELECT pg_advisory_lock(1)", "pg_advisory_lock"),
    ("SQL-05", "postgres", "SELECT pg_ls_dir('/') /* a /* b */ c */", "pg_ls_dir"),
    ("SQL-05", "mysql", "SELECT 1 INTO OUTFILE '/tmp/x'", "parsed"),
    ("SQL-05", "mysql", "SELECT load_file('/etc/passwd')", "load_file"),
    ("SQL-05", "mysql", "SELECT `load_file`('/etc/passwd')", "load_file"),
    ("SQL-05", "mysql", "SELECT sleep(10)", "sleep"),
    ("SQL-05", "mysql", "SELECT benchmark(1000000000, md5('x'))", "benchmark"),
    ("SQL-05", "mysql", "SELECT get_lock('x', 10)", "get_lock"),
    ("SQL-05", "mysql", "SELECT @@secure_file_priv", "variables"),
    ("SQL-05", "mysql", "SELECT @x := 1", "variables"),
    ("SQL-05", "mysql", "SELECT 1 /*! INTO OUTFILE '/tmp/x' */", "MySQL runs"),
    ("SQL-05", "mysql", "SELECT /*+ SET_VAR(max_execution_time=0) */ 1", "hint"),
    ("SQL-05", "mysql", "SELECT 5--1 INTO OUTFILE '/tmp/x'", ""),
    ("SQL-05", "mysql", "SELECT 1 /* /* */", "comment"),
    ("SQL-05", "mysql", "SELECT {# \n x LOAD_FILE('/etc/hostname')} AS v #} 1", "character {"),
    ("SQL-05", "duckdb", "SELECT {# \n x getenv('HOME')} AS v #} 1", "more than one way"),
    ("SQL-05", "postgres", "SELECT {# \n x pg_sleep(9)} AS v #} 1", "character {"),
    ("SQL-05", "mysql", "SELECT {d '2024-01-01'}", "character {"),
    ("SQL-05", "duckdb", "SELECT {% x %} 1", ""),
    ("SQL-05", "mysql", "SELECT 1 --\u00a0\n+ load_file('x')", "U+00A0"),
    ("SQL-05", "mysql", "SELECT -- \r '\n SLEEP(5) -- \r'\n", "line break"),
    ("SQL-05", "duckdb", "SELECT -- \r '\n sleep_ms(5) -- \r'\n", "line break"),
    ("SQL-05", "mysql", "SELECT 1 /*M!100100 + sleep(5) */", "MySQL runs"),
    ("SQL-05", "postgres", "SELECT 1 AS a /*+ Set(x y) */", "hint"),
    ("SQL-05", "mysql", "SELECT _gbk'\u00bf\\', sleep(5), '", "character set"),
    ("SQL-05", "mysql", "SELECT \\N", "no place"),
    ("SQL-05", "postgres", "SELECT E'a'\n'b\\'', pg_sleep(9) -- '", "goes on another"),
    ("SQL-05", "postgres", 'SELECT U&"\\0070g_sleep"(9)', "escapes"),
    ("SQL-05", "postgres", "SELECT a$b(1)", "$"),
    ("SQL-05", "postgres", "SELECT date$$, pg_sleep(5), date$$ FROM (SELECT 1 AS date$$) t", "$"),
    ("SQL-05", "duckdb", "SELECT a$b(1)", "$"),
    ("SQL-05", "duckdb", "SELECT `\"`, getenv('HOME'), `\"`", "`"),
    ("SQL-05", "duckdb", "SELECT getenv\x0b('HOME')", "U+000B"),
    ("SQL-05", "duckdb", "SELECT 1 /* \u202e */", "U+202E"),
    ("SQL-05", "postgres", "\u017felect 1", ""),
    ("SQL-05", "duckdb", "SELECT \u212aurtosis(1)", "may call"),
    ("SQL-05", "duckdb", "SELECT 'getenv'('HOME')", ""),
    ("SQL-09", "duckdb", "SELECT a::JSON::VARIANT FROM t", "VARIANT"),
    ("SQL-09", "duckdb", "SELECT TRY_CAST(a AS variant) FROM t", "VARIANT"),
    ("SQL-09", "duckdb", 'SELECT a::STRUCT(b "Variant"[]) FROM t', "VARIANT"),
    ("SQL-09", "duckdb", "SELECT CAST(a AS main.variant) FROM t", "VARIANT"),
    ("SQL-09", "duckdb", "SELECT VARIANT '[]'", "VARIANT"),
    ("SQL-09", "duckdb", "SELECT json_contains(a, '[[1]]') FROM t", "json_contains"),
    ("SQL-09", "duckdb", "SELECT json_structure(a) FROM t", "json_structure"),
    ("SQL-09", "duckdb", "SELECT main.repeat('a', 5)", "schema"),
    ("SQL-09", "duckdb", 'SELECT "System".main.lpad(a, 5, b) FROM t', "schema"),
    ("SQL-09", "duckdb", "SELECT format('{:900000000d}', 5)", "width"),
    ("SQL-09", "duckdb", "SELECT format('{:{}d}', 5, :n)", "width"),
    ("SQL-09", "duckdb", "SELECT printf('%*d', :n, 5)", "width"),
    ("SQL-09", "duckdb", "SELECT printf('%' || :n || 'd', 5)", "width"),
    ("SQL-09", "duckdb", "SELECT format(:f, 5)", "width"),
    ("SQL-05", "mysql", "SET GLOBAL general_log = 1", "SET"),
    ("SQL-05", "mysql", "HANDLER t OPEN", "HANDLER"),
)


@pytest.mark.parametrize(
    ("dialect", "sql", "named"), [pytest.param(*rest, id=f"{case} {rest[1]}") for case, *rest in REFUSED]
)
def test_a_query_that_would_do_more_is_refused(dialect: Dialect, sql: str, named: str) -> None:
    with pytest.raises(JackfieldError) as error:
        require_read_only(sql, dialect)
    assert error.value.code is Code.QUERY_INVALID
    assert any(named.lower() in message.lower() for message in error.value.details["problems"])


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "mysql"])
@pytest.mark.parametrize("unseen", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00a0", "\u3000", "\u2028", "\x85", "\f"])
def test_a_character_nobody_sees_is_refused_outside_of_strings_and_quoted_names(dialect: Dialect, unseen: str) -> None:
    quoted = f"`a{unseen}`" if dialect == "mysql" else f'"a{unseen}"'
    assert problems(f"SELECT 'a{unseen}', {quoted} FROM t", dialect) == ()
    for sql in (f"SELECT sleep{unseen}(1)", f"SELECT {unseen}sleep(1)", f"SELECT a{unseen} FROM t"):
        assert any("has no place" in each.message for each in problems(sql, dialect)), sql


@pytest.mark.parametrize("sql", ["INSERT INTO t VALUES ({# \n x SLEEP(2)} #} 1)", "DELETE FROM t /*! , u */"])
def test_a_change_of_rows_hides_nothing(sql: str) -> None:
    with pytest.raises(JackfieldError) as error:
        statement_kind(sql, "mysql")
    assert error.value.code is Code.QUERY_INVALID


def test_a_text_too_long_to_be_read_in_time_is_refused() -> None:
    for sql in (f"SELECT {'1 + ' * 10_000}1", f"SELECT '{'a' * 100_000}'"):
        (found,) = problems(sql)
        assert found.message.startswith("The SQL is too long")


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "mysql"])
def test_a_text_that_is_read_again_and_again_is_refused_in_time(dialect: Dialect) -> None:
    for sql in (f"SELECT * FROM t {'JOIN t ' * 60}", f"SELECT {'DATE (' * 60}1{')' * 60}"):
        started = time.monotonic()
        assert "can not be read in time" in problems(sql, dialect)[0].message
        assert time.monotonic() - started < 5  # it would be years
    assert problems(f"SELECT * FROM t {'JOIN t USING (a) ' * 200}", dialect) == ()


def test_a_refusal_points_to_the_place_and_to_a_near_name() -> None:
    with pytest.raises(JackfieldError) as error:
        require_read_only("SELECT a,\n  uper(b) FROM orders")
    assert error.value.message == "The function 'uper' is not one that a tool's SQL may call."
    assert error.value.hint == "Did you mean 'upper'?"
    assert error.value.details["line"] == 2
    assert error.value.details["column"] == 3
    assert error.value.details["frame"] == "2 |   uper(b) FROM orders\n      ^^^^"


def test_an_empty_text_is_refused() -> None:
    assert problems("  -- nothing\n")[0].message == "The SQL is empty."


def test_nesting_without_end_is_refused() -> None:
    assert "nested too deeply" in problems(f"SELECT {'(' * 3000}1{')' * 3000}")[0].message


@pytest.mark.parametrize(
    ("dialect", "sql", "kind"),
    [
        (
            "postgres",
            "INSERT INTO t (a, b) VALUES (:a, nextval('s')) ON CONFLICT (a) DO UPDATE SET b = 1 RETURNING a",
            "insert",
        ),
        ("postgres", "WITH x AS (SELECT 1 AS a) INSERT INTO t SELECT a FROM x", "insert"),
        ("postgres", "UPDATE t SET a = upper(:a) WHERE id = :id;", "update"),
        ("postgres", "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", "merge"),
        ("mysql", "INSERT INTO t (a) VALUES (:a) ON DUPLICATE KEY UPDATE a = values(a)", "insert"),
        ("mysql", "DELETE FROM t WHERE id = :id", "delete"),
    ],
)
def test_a_statement_that_changes_rows_is_known_by_its_kind(dialect: Dialect, sql: str, kind: str) -> None:
    assert statement_kind(sql, dialect) == kind


@pytest.mark.parametrize(
    ("dialect", "sql", "named"),
    [
        ("postgres", "SELECT 1", "SELECT"),
        ("postgres", "DROP TABLE t", "DROP"),
        ("postgres", "UPDATE t SET a = 1; DELETE FROM t", "more than one"),
        ("postgres", "WITH d AS (DELETE FROM q RETURNING *) INSERT INTO t SELECT a FROM d", "DELETE"),
        ("postgres", "INSERT INTO t SELECT pg_sleep(10)", "pg_sleep"),
        ("mysql", "INSERT INTO t VALUES (load_file('x'))", "load_file"),
        ("mysql", "LOAD DATA INFILE 'x' INTO TABLE t", "LOAD"),
    ],
)
def test_a_statement_that_does_more_than_change_rows_is_refused(dialect: Dialect, sql: str, named: str) -> None:
    with pytest.raises(JackfieldError) as error:
        statement_kind(sql, dialect)
    assert error.value.code is Code.QUERY_INVALID
    assert named in error.value.message
