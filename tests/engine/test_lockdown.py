"""A tool's SQL reads its own tables, and nothing else: each attempt has a cause of its own, and a clear refusal."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from jackfield.engine.cursors import Cursors
from jackfield.engine.tables import Database, TableSettings
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.table import Table

INVALID = Code.QUERY_INVALID
UNKNOWN = Code.SCHEMA_NOT_FOUND

# (case of security-cases.md or issue, what it tries, SQL, code, what the refusal names)
ATTEMPTS: tuple[tuple[str, str, str, Code, str], ...] = (
    ("SQL-03", "second statement", "SELECT 1; DROP TABLE orders", INVALID, "more than one statement"),
    ("SQL-03", "commit and go on", "COMMIT; DROP SCHEMA main CASCADE", INVALID, "COMMIT"),
    ("SQL-04", "insert in a CTE", "WITH z AS (INSERT INTO orders VALUES (9) RETURNING *) FROM z", INVALID, "INSERT"),
    ("SQL-04", "delete in a CTE", "WITH z AS (DELETE FROM orders RETURNING *) SELECT * FROM z", INVALID, "DELETE"),
    ("SQL-04", "update in a CTE", "WITH z AS (UPDATE orders SET id = 9 RETURNING *) FROM z", INVALID, "UPDATE"),
    (
        "SQL-04",
        "merge in a CTE",
        "WITH z AS (MERGE INTO orders USING orders s ON true WHEN MATCHED THEN DELETE RETURNING *) FROM z",
        INVALID,
        "MERGE",
    ),
    ("SQL-04", "copy in a CTE", "WITH z AS (COPY orders TO '/tmp/x') SELECT * FROM z", INVALID, "COPY"),
    ("SQL-04", "create in a CTE", "WITH z AS (CREATE TABLE t AS SELECT 1) SELECT * FROM z", INVALID, "CREATE"),
    ("SQL-04", "select into", "SELECT * INTO copied FROM orders", INVALID, "SELECT INTO"),
    ("SQL-04", "lock rows", "SELECT * FROM orders FOR UPDATE", INVALID, "FOR UPDATE"),
    ("SQL-04", "explain analyze", "EXPLAIN ANALYZE DELETE FROM orders", INVALID, "EXPLAIN"),
    ("SQL-04", "call", "CALL pragma_version()", INVALID, "CALL"),
    ("SQL-04", "update", "UPDATE orders SET id = 1", INVALID, "UPDATE"),
    ("SQL-06", "read a CSV", "SELECT * FROM read_csv('/etc/passwd')", INVALID, "read_csv"),
    ("SQL-06", "read text", "SELECT * FROM read_text('/etc/hostname')", INVALID, "read_text"),
    ("SQL-06", "read bytes", "SELECT * FROM read_blob('/proc/self/environ')", INVALID, "read_blob"),
    ("SQL-06", "guess a CSV", "SELECT * FROM sniff_csv('/etc/passwd')", INVALID, "sniff_csv"),
    ("SQL-06", "parquet's metadata", "SELECT * FROM parquet_metadata('/tmp/x.parquet')", INVALID, "parquet_metadata"),
    ("SQL-06", "a file as a table", "FROM '/etc/passwd'", INVALID, "'/etc/passwd' is no table"),
    ("SQL-06", "a file as a quoted name", 'FROM "/etc/passwd"', UNKNOWN, "/etc/passwd"),
    ("SQL-06", "an address as a table", "SELECT * FROM 'https://example.com/x.parquet'", INVALID, "no table"),
    ("SQL-06", "a file in a join", "SELECT * FROM orders JOIN 'x.csv' ON true", INVALID, "'x.csv' is no table"),
    ("SQL-06", "list files", "SELECT * FROM glob('/**')", INVALID, "glob"),
    ("SQL-06", "the environment", "SELECT getenv('HOME')", INVALID, "getenv"),
    ("SQL-06", "as a method", "SELECT 'HOME'.getenv()", INVALID, "getenv"),
    ("SQL-06", "under a quoted name", "SELECT * FROM \"read_csv\"('/etc/passwd')", INVALID, "read_csv"),
    ("SQL-06", "under its schema", "SELECT * FROM main.read_json('/etc/x')", INVALID, "read_json"),
    ("SQL-06", "in capitals", "SELECT * FROM READ_NDJSON('/etc/x')", INVALID, "read_ndjson"),
    ("SQL-06", "copy to a file", "COPY orders TO '/tmp/x.csv'", INVALID, "COPY"),
    ("SQL-06", "attach a file", "ATTACH '/tmp/x.db' AS other", INVALID, "ATTACH"),
    ("SQL-06", "attach memory", "ATTACH ':memory:' AS other", INVALID, "ATTACH"),
    ("SQL-06", "install", "INSTALL httpfs", INVALID, "INSTALL"),
    ("SQL-06", "load", "LOAD httpfs", INVALID, "LOAD"),
    ("SQL-06", "export", "EXPORT DATABASE '/tmp/x'", INVALID, "EXPORT"),
    ("SQL-06", "import", "IMPORT DATABASE '/tmp/x'", INVALID, "IMPORT"),
    ("SQL-06", "pragma", "PRAGMA database_list", INVALID, "PRAGMA"),
    ("issue-9", "set", "SET memory_limit = '100GB'", INVALID, "SET"),
    ("issue-9", "reset", "RESET memory_limit", INVALID, "RESET"),
    ("issue-9", "set a variable", "SET VARIABLE a = 1", INVALID, "SET"),
    ("issue-9", "use", "USE memory.main", INVALID, "USE"),
    ("issue-9", "SQL as text", "SELECT * FROM query('SELECT 1')", INVALID, "query"),
    ("issue-9", "a table's name as text", "SELECT * FROM query_table('orders')", INVALID, "query_table"),
    ("issue-9", "histogram of a named table", "FROM histogram('other', 'x')", INVALID, "histogram"),
    ("issue-9", "SQL as JSON", "SELECT json_execute_serialized_sql('{}')", INVALID, "json_execute_serialized_sql"),
    ("issue-9", "checkpoint", "FROM checkpoint()", INVALID, "checkpoint"),
    ("issue-9", "settings", "SELECT * FROM duckdb_settings()", INVALID, "duckdb_settings"),
    ("issue-9", "one setting", "SELECT current_setting('temp_directory')", INVALID, "current_setting"),
    ("issue-9", "views of all", "SELECT * FROM duckdb_views()", INVALID, "duckdb_views"),
    ("issue-9", "secrets", "FROM duckdb_secrets()", INVALID, "duckdb_secrets"),
    ("issue-9", "which secret", "FROM which_secret('s3://x', 's3')", INVALID, "which_secret"),
    ("issue-9", "variables", "SELECT getvariable('a')", INVALID, "getvariable"),
    ("issue-9", "write the log", "SELECT write_log('x')", INVALID, "write_log"),
    ("issue-9", "read the log", "SELECT * FROM duckdb_logs()", INVALID, "duckdb_logs"),
    ("issue-9", "empty the log", "SELECT * FROM truncate_duckdb_logs()", INVALID, "truncate_duckdb_logs"),
    ("issue-9", "sleep", "SELECT sleep_ms(100000)", INVALID, "sleep_ms"),
    ("issue-9", "draw a number", "SELECT nextval('s')", INVALID, "nextval"),
    ("issue-9", "seed chance for others", "SELECT setseed(0.5)", INVALID, "setseed"),
    ("issue-9", "the query of another", "SELECT current_query()", INVALID, "current_query"),
    ("issue-9", "catalog view", "SELECT * FROM sqlite_master", UNKNOWN, "sqlite_master"),
    ("issue-9", "information schema", "SELECT * FROM information_schema.tables", INVALID, "information_schema"),
    ("issue-9", "system's table under our name", "SELECT * FROM pg_catalog.orders", INVALID, "pg_catalog"),
    ("issue-9", "describe", "DESCRIBE orders", INVALID, "DESCRIBE"),
    ("issue-9", "show", "SHOW ALL TABLES", INVALID, "SHOW"),
    ("issue-9", "show as a source", "SELECT * FROM (SHOW ALL TABLES)", INVALID, ""),
    ("issue-9", "summarize as a source", "SELECT * FROM (SUMMARIZE orders)", INVALID, ""),
    ("issue-9", "summarize", "SUMMARIZE orders", INVALID, "SUMMARIZE"),
    ("issue-9", "prepare", "PREPARE p AS SELECT 1", INVALID, "PREPARE"),
    ("issue-9", "macro", "CREATE MACRO f(x) AS x + 1", INVALID, "CREATE"),
    ("issue-9", "pivot, which creates a type", "PIVOT orders ON id USING count(*)", INVALID, "PIVOT"),
    ("issue-9", "another run's table", "SELECT * FROM secret", UNKNOWN, "secret"),
    ("issue-9", "a Python variable", "SELECT * FROM in_python", UNKNOWN, "in_python"),
    ("issue-9", "a function nobody knows", "SELECT totally_new(1)", INVALID, "totally_new"),
    (
        "issue-9",
        "a name with columns, called",
        "WITH query(a) AS (SELECT 1) FROM query('SELECT 1')",
        INVALID,
        "query",
    ),
    ("SQL-09", "a value that fills the memory", "SELECT repeat('a', 1000000000)", INVALID, "too large"),
    ("issue-9", "a NUL character", "SELECT 1 /* \0 */", INVALID, "NUL"),
    ("issue-9", "a comment in a comment", "SELECT 1 /* a /* b */ FROM x */", INVALID, "comment"),
    ("issue-9", "what does not parse", "SELECT FROM WHERE", INVALID, "parsed"),
)

in_python = pa.table({"password": ["hunter2"]})


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    with Database(TableSettings(memory_limit="200MB")) as database:
        yield database


def test_no_two_attempts_have_the_same_cause() -> None:
    assert len({sql for _, _, sql, _, _ in ATTEMPTS}) == len({what for _, what, _, _, _ in ATTEMPTS}) == len(ATTEMPTS)
    assert len(ATTEMPTS) >= 40


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("sql", "code", "named"),
    [pytest.param(sql, code, named, id=f"{case}: {what}") for case, what, sql, code, named in ATTEMPTS],
)
async def test_an_attempt_is_refused_and_told_why(database: Database, sql: str, code: Code, named: str) -> None:
    orders = Table.from_rows([{"id": 1}, {"id": 2}])
    other = database.session()
    await other.query("SELECT * FROM secret", {}, {"secret": Table.from_rows([{"pw": "hunter2"}])})
    with pytest.raises(JackfieldError) as refusal:
        await database.session().query(sql, {}, {"orders": orders})
    assert refusal.value.code is code
    assert named.lower() in refusal.value.message.lower()
    assert "hunter2" not in str(refusal.value.as_json())


@pytest.mark.anyio
@pytest.mark.parametrize("call", ["repeat('ab', :n)", "'ab'.repeat(:n)", "lpad('a', :n, 'b')", "rpad('a', :n, 'b')"])
async def test_a_number_makes_no_value_larger_than_memory(database: Database, call: str) -> None:
    session = database.session()
    few = await session.query(f"SELECT length({call}) AS n", {"n": 10}, {})
    assert few.arrow().to_pylist()[0]["n"] in (10, 20)
    for n in (1_000_000, 2_000_000_000):
        with pytest.raises(JackfieldError) as refusal:
            await session.query(f"SELECT length({call}) AS n", {"n": n}, {})
        assert refusal.value.code in (Code.QUERY_INVALID, Code.TYPE_MISMATCH)


SERIES = (
    "range(:n)",
    "range(0, :n)",
    "range(:n, 0, -1)",
    "range(-4000000000000000000, 4000000000000000000, (4000000000000000000 // :n))",
    "generate_series(1, :n)",
    "generate_series(1, :n, 1)",
    "generate_series(DATE '2020-01-01', DATE '2020-01-01' + to_seconds(:n), INTERVAL 1 SECOND)",
    "generate_series(TIMESTAMP '2020-01-01', TIMESTAMP '2020-01-01' - to_seconds(:n), INTERVAL (-1) SECOND)",
    "list_resize([7], :n)",
    "array_resize([7], :n, 8)",
)


@pytest.mark.anyio
@pytest.mark.parametrize("call", SERIES)
async def test_a_number_makes_no_list_larger_than_memory(database: Database, call: str) -> None:
    session = database.session()
    few = await session.query(f"SELECT len({call}) AS n", {"n": 10}, {})
    assert few.arrow().to_pylist()[0]["n"] in (9, 10, 11, 20)
    for n in (300_000, 2_000_000_000):
        with pytest.raises(JackfieldError, match="too large to hold: stay below 100000") as refusal:
            await session.query(f"SELECT len({call}) AS n", {"n": n}, {})
        assert refusal.value.code is Code.QUERY_INVALID


SAME = (
    "range(5)", "range(-5)", "range(2, 5)", "range(5, 2)", "range(0, 10, 3)", "range(10, 0, -3)", "range(10, 0, 3)",
    "range(0, 10, 0)", "range(NULL)", "range(1, NULL)", "range(1::UTINYINT, 4::UTINYINT)", "range(length('ab'), 5)",
    "range(9223372036854775800, 9223372036854775807)", "range(0, 9223372036854775807, 4611686018427387904)",
    "generate_series(5)", "generate_series(1, 10, 4)", "generate_series(1, 3, 1::TINYINT)",
    "generate_series(DATE '2020-01-31', DATE '2020-05-05', INTERVAL 1 MONTH)",
    "generate_series(DATE '0001-01-01', DATE '2020-01-05', INTERVAL 1 CENTURY)",
    "range(TIMESTAMP '2020-01-03', TIMESTAMP '2020-01-01', INTERVAL (-12) HOUR)",
    "range(TIMESTAMPTZ '2020-01-01', TIMESTAMPTZ '2020-01-03', INTERVAL 12 HOUR)",
    "list_resize([1, 2], 4)", "list_resize([1, 2], 4, 9)", "list_resize(['a'], 1)", "list_resize(NULL, 3)",
    "list_resize([1], NULL)", "array_resize([[1]], 2)",
    "(SELECT sum(u) FROM (VALUES (1), (5)) t(a), range(a) r(u))", "(SELECT max(r) FROM range(200000) t(r))",
    "(SELECT list(u ORDER BY u) FROM (SELECT unnest(range(a)) u FROM (VALUES (2), (3)) t(a)))",
)  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("call", SAME)
async def test_within_its_bound_a_series_is_duckdbs_own(database: Database, call: str) -> None:
    with duckdb.connect() as own:
        own.execute("SET TimeZone = 'UTC'")
        expected = own.sql(f"SELECT {call} AS v").to_arrow_table()
    found = await database.session().query(f"SELECT {call} AS v", {}, {})
    assert found.arrow().to_pylist() == expected.to_pylist()


# No function that may be called does this, so the check is passed by; the limit is as a container's would be.
BREAKS = """
import resource
import anyio
from jackfield.engine import tables
from jackfield.graphs.errors import JackfieldError
from jackfield.nodes.table import Table

async def main():
    with tables.Database(tables.TableSettings(memory_limit="200MB", threads=1)) as database:
        checked, known = tables.checked, tables.checked("SELECT 1")
        tables.checked = lambda sql: known
        resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30))
        try:
            await database.session().query("SELECT reservoir_quantile(i, 0.5, 2000000000) FROM range(9) t(i)", {}, {})
        except JackfieldError as error:
            print(error.code.value, error.message, error.hint)
        tables.checked = checked
        after = await database.session().query("SELECT a + 1 AS a FROM t", {}, {"t": Table.from_rows([{"a": 1}])})
        print(after.arrow().to_pylist())

anyio.run(main)
"""


def test_a_database_that_broke_is_replaced() -> None:
    done = subprocess.run([sys.executable, "-c", BREAKS], capture_output=True, text=True, timeout=60, check=False)
    told, after = done.stdout.splitlines() or [done.stderr, ""]
    assert told.startswith("INTERNAL_ERROR The database failed: Memory allocation failure.")
    assert after == "[{'a': 2}]"


# What the database itself refuses, should a check before it ever be passed by.
LOCKED = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "FROM '/etc/passwd'",
    "SELECT * FROM glob('/etc/*')",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "ATTACH '{folder}/x.db'",
    "EXPORT DATABASE '{folder}/out'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "RESET memory_limit",
    "SET memory_limit = '10GB'",
    "SELECT * FROM in_python",
    "CREATE TABLE t AS SELECT 1",
    "CREATE VIEW v AS SELECT 1",
    "INSERT INTO t VALUES (1)",
    "CREATE SECRET s (TYPE s3, KEY_ID 'a')",
)


@pytest.mark.parametrize("sql", LOCKED)
def test_the_database_is_locked_beneath_the_checks(sql: str, tmp_path: Path) -> None:
    cursors = Cursors({"threads": 1})
    try:
        lent = cursors.lend({})
        lent.begin(now=False)
        with pytest.raises(duckdb.Error):
            lent.cursor.sql(sql.format(folder=tmp_path)).fetchall()
        assert not list(tmp_path.iterdir())
    finally:
        lent.cursor.close()
        cursors.close()


def test_a_cursor_sees_no_table_of_another() -> None:
    cursors = Cursors({"threads": 1})
    try:
        first, second = cursors.lend({"orders": in_python}), cursors.lend({})
        with pytest.raises(duckdb.CatalogException):
            second.cursor.sql("SELECT * FROM orders")
        first.cursor.close()
        second.cursor.close()
    finally:
        cursors.close()


def test_a_kept_cursor_whose_rows_were_asked_again_goes_only_to_the_same_rows() -> None:
    cursors = Cursors({"threads": 1})
    same, like = pa.table({"a": [1]}), pa.table({"a": [1]})
    try:
        for _ in range(2):
            lent = cursors.lend({"t": same})
            cursors.take_back(lent)
        assert cursors.lend({"t": like}) is not lent
        assert cursors.lend({"u": same}) is not lent
        assert cursors.lend({"t": same, "u": like}) is not lent
        assert cursors.lend({"t": same.rename_columns(["b"])}) is not lent
        assert cursors.lend({"t": same.slice(0, 0)}) is not lent
        assert cursors.lend({"t": same.cast(pa.schema([("a", pa.uint64())]))}) is not lent
        assert cursors.lend({"t": same.select(["a"])}) is lent
    finally:
        cursors.close()
