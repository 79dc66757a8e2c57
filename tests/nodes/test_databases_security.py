"""A READ tool's SQL cannot write, read files, reach out or outlive its call: refused by our check, and by the session
where the check is left out. The ids are those of the project's list of security cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer
from servers.stand import stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.databases.columns import TableChangedError
from jackfield.nodes.databases.dsn import Engine, address, parse
from jackfield.nodes.databases.engines import database
from jackfield.nodes.databases.pushdown import Query
from jackfield.nodes.databases.session import ConnectionLostError, Session
from jackfield.nodes.mysql import mysql_node
from jackfield.nodes.postgres import postgres_node
from jackfield.nodes.query import query_node
from jackfield.nodes.scan import Predicate, Scan
from jackfield.nodes.secrets import EnvironmentSecrets
from jackfield.nodes.statement import statement_node

SETUP = "CREATE TABLE t (a int, b varchar(90)); INSERT INTO t VALUES (1, 'one'); CREATE TABLE u (a int);"
REFUSED = {
    "postgres": {
        "SQL-03 two statements": "SELECT 1; DROP TABLE t",
        "SQL-03 commit first": "COMMIT; DROP SCHEMA public CASCADE",
        "SQL-04 delete in a CTE": "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
        "SQL-04 select into": "SELECT * INTO v FROM t",
        "SQL-04 explain analyze": "EXPLAIN ANALYZE DELETE FROM t",
        "SQL-04 do": "DO $$ BEGIN DELETE FROM t; END $$",
        "SQL-04 copy to program": "COPY t TO PROGRAM 'touch /tmp/jackfield-was-here'",
        "SQL-04 call": "CALL gone()",
        "SQL-04 create": "CREATE TABLE v (a int)",
        "SQL-04 for update": "SELECT * FROM t FOR UPDATE",
        "SQL-05 query_to_xml": "SELECT query_to_xml('delete from t', true, false, '')",
        "SQL-05 nextval": "SELECT nextval('s')",
        "SQL-05 transaction set to write": "SELECT set_config('transaction_read_only', 'off', true), gone() FROM t",
        "SQL-05 a function that writes": "SELECT gone()",
    },
    "mysql": {
        "SQL-03 two statements": "SELECT 1; DROP TABLE t",
        "SQL-03 commit first": "COMMIT; DROP TABLE t",
        "SQL-04 delete": "DELETE FROM t",
        "SQL-04 call": "CALL gone()",
        "SQL-04 create": "CREATE TABLE v (a int)",
        "SQL-05 a function that writes": "SELECT gone_too()",
    },
}
# Reading functions that only the check, and the rights of the database's user, can refuse.
REFUSED_BY_CHECK = {
    "postgres": (
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT dblink('host=169.254.169.254', 'select 1')",
        "SELECT set_config('default_transaction_read_only', 'off', false)",
        "SELECT pg_terminate_backend(1)",
        "SELECT pg_sleep(100)",
        "SELECT current_setting('data_directory')",
        "SELECT pg_advisory_lock(1)",
    ),
    "mysql": (
        "SELECT * FROM t INTO OUTFILE '/tmp/jackfield-was-here'",
        "SELECT a FROM t INTO @x",
        "SELECT LOAD_FILE('/etc/passwd')",
        "SELECT SLEEP(100)",
        "SELECT BENCHMARK(1000000000, SHA1('a'))",
        "SELECT GET_LOCK('a', 10)",
        "SELECT @@datadir",
        "SELECT /*!50000 SLEEP(100) */ 1",
    ),
}
MORE = {
    "postgres": "CREATE SEQUENCE s; CREATE FUNCTION gone() RETURNS int LANGUAGE sql AS 'DELETE FROM t RETURNING a';",
    "mysql": "CREATE PROCEDURE gone() DELETE FROM t;",
}


class Place:
    def __init__(self, engine: Engine, server: PostgresServer | MariaDBServer, dsn: str) -> None:
        self.engine, self.server, self.dsn = engine, server, dsn

    def state(self) -> list[list[str]]:
        return self.server.run("SELECT * FROM t", self.dsn.rpartition("/")[2])

    def session(self) -> Session:
        return database(parse(self.dsn, self.engine), timeout_s=2).open()


@pytest.fixture(scope="module", params=["postgres", "mysql"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    engine: Engine = request.param
    server = request.getfixturevalue("postgres" if engine == "postgres" else "mariadb")
    with server.database(SETUP + MORE[engine]) as dsn:
        if engine == "mysql":
            server.run(
                "DELIMITER //\n"
                "CREATE FUNCTION gone_too() RETURNS int MODIFIES SQL DATA BEGIN DELETE FROM t; RETURN 1; END //\n",
                dsn.rpartition("/")[2],
            )
        yield Place(engine, server, dsn)


@pytest.mark.anyio
async def test_our_check_refuses_what_does_not_only_read(place: Place) -> None:
    before = place.state()
    async with stand() as on:
        for sql in (*REFUSED[place.engine].values(), *REFUSED_BY_CHECK[place.engine]):
            with pytest.raises(JackfieldError) as caught:
                await on.fire(query_node, {"engine": place.engine, "dsn": place.dsn, "sql": sql})
            assert caught.value.code is Code.QUERY_INVALID, sql
            kind = postgres_node if place.engine == "postgres" else mysql_node
            with pytest.raises(JackfieldError) as caught:
                await on.fire(kind, {"dsn": place.dsn, "query": sql})
            assert caught.value.code is Code.QUERY_INVALID, sql
    assert place.state() == before
    assert not await anyio.Path("/tmp/jackfield-was-here").exists()


def test_the_session_refuses_to_write_where_the_check_is_left_out(place: Place) -> None:
    before = place.state()
    for case, sql in REFUSED[place.engine].items():
        session = place.session()
        try:
            with pytest.raises((JackfieldError, ConnectionLostError, TableChangedError)):
                list(session.read(session.statement(Query(sql)), guarded=True).batches)
        finally:
            session.close()
        assert place.state() == before, case
    assert not Path("/tmp/jackfield-was-here").exists()


def test_a_setting_made_by_a_query_ends_with_it(postgres: PostgresServer) -> None:
    """SQL-05: `default_transaction_read_only` may be set by a function; the next query must not find it so."""
    with postgres.database(SETUP) as dsn:
        session = database(parse(dsn, "postgres")).open()
        for name, value in (("default_transaction_read_only", "off"), ("role", "pg_monitor"), ("search_path", "x")):
            list(session.read(Query(f"SELECT set_config('{name}', '{value}', false)"), guarded=True).batches)
            session.finish()
        sql = "SELECT current_setting('default_transaction_read_only') AS d, current_user::text AS u FROM t"
        rows = [row for batch in session.read(Query(sql), guarded=False).batches for row in batch.to_pylist()]
        session.finish()
        session.close()
        assert rows == [{"d": "on", "u": "jackfield"}]


@pytest.mark.anyio
async def test_what_a_view_changes_in_the_session_of_mariadb_is_not_there_for_the_next(mariadb: MariaDBServer) -> None:
    setup = (
        "CREATE FUNCTION sneaks() RETURNS int NO SQL BEGIN SET SESSION sql_mode = 'ANSI_QUOTES';"
        " DO GET_LOCK('held', 0); RETURN 1; END"
    )
    with mariadb.database(SETUP) as dsn:
        name = dsn.rpartition("/")[2]
        mode = "CREATE FUNCTION mode() RETURNS text NO SQL RETURN @@session.sql_mode"
        mariadb.run(f"DELIMITER $$\n{setup}$$\n{mode}$$\nDELIMITER ;\n", name)
        mariadb.run("CREATE VIEW sneaky AS SELECT sneaks() AS x", name)
        mariadb.run("CREATE VIEW held AS SELECT mode() AS mode, IS_USED_LOCK('held') AS lock_of", name)
        async with stand() as on:

            async def ask(table: str) -> list[dict[str, object]]:
                config = mysql_node.configuration.model_validate({"dsn": dsn, "table": table})
                outputs = await mysql_node.run(config, {}, on)
                rows: list[dict[str, object]] = outputs["rows"].to_pylist()
                return rows

            before = await ask("held")
            for _ in range(3):
                assert await ask("sneaky") == [{"x": 1}]
                assert await ask("held") == before


@pytest.mark.anyio
async def test_a_backslash_in_a_string_is_only_that_whatever_the_role_has_set(postgres: PostgresServer) -> None:
    with postgres.database(SETUP) as dsn:
        database_name = dsn.rpartition("/")[2]
        postgres.run(f'ALTER DATABASE "{database_name}" SET standard_conforming_strings = off')
        async with stand() as on:
            at = {"engine": "postgres", "dsn": dsn, "sql": "SELECT '\\' AS a, 'b' AS b FROM t LIMIT 1"}
            assert (await on.fire(query_node, at))["rows"].to_pylist() == [{"a": "\\", "b": "b"}]


@pytest.mark.anyio
@pytest.mark.parametrize("streams", [False, True])
async def test_what_an_argument_says_is_never_sql(place: Place, streams: bool) -> None:
    texts = [
        "'; DROP TABLE t; --",
        "\\'; DROP TABLE t; --",
        "\\",
        "%s",
        "%%",
        "$1",
        "?",
        "{{ env:HOME }}",
        "x' OR '1'='1",
        '"',
    ]
    before = place.state()
    async with stand(streams=streams) as on:
        kind = postgres_node if place.engine == "postgres" else mysql_node
        for text in texts:
            at = {"engine": place.engine, "dsn": place.dsn, "sql": "SELECT :x AS x, '%s $1 ? :x' AS y FROM t"}
            rows = (await on.fire(query_node, at, arguments={"x": text}))["rows"].to_pylist()
            assert rows == [{"x": text, "y": "%s $1 ? :x"}]
            scan = Scan(("b",), (Predicate("b", "=", text),))
            for config in ({"table": "t"}, {"query": "SELECT b FROM t WHERE b <> :x"}):
                found = await on.fire(kind, {"dsn": place.dsn, **config}, scan=scan, arguments={"x": text})
                assert found["rows"].num_rows == 0
    assert place.state() == before


@pytest.mark.anyio
async def test_an_argument_is_text_under_any_sql_mode_of_the_server(mariadb: MariaDBServer) -> None:
    with mariadb.database(SETUP) as dsn:
        (old,) = mariadb.run("SELECT @@global.sql_mode")[0]
        mariadb.run("SET GLOBAL sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'")
        try:
            async with stand() as on:
                insert = {"engine": "mysql", "dsn": dsn, "sql": "INSERT INTO t VALUES (2, :x)"}
                await on.fire(statement_node, insert, arguments={"x": "\\"})
                scan = Scan(None, (Predicate("b", "in", ("\\", "' OR 1=1 -- ")),))
                found = (await on.fire(mysql_node, {"dsn": dsn, "table": "t"}, scan=scan))["rows"]
                assert found.to_pylist() == [{"a": 2, "b": "\\"}]
        finally:
            mariadb.run(f"SET GLOBAL sql_mode = '{old}'")


@pytest.mark.anyio
async def test_names_are_quoted_whatever_is_in_them(place: Place) -> None:
    quote = '"' if place.engine == "postgres" else "`"
    odd = f"a{quote}; DROP TABLE t; --"
    written = quote + odd.replace(quote, quote * 2) + quote
    place.server.run(
        f"CREATE TABLE {written} ({written} int); INSERT INTO {written} VALUES (5)", place.dsn.rpartition("/")[2]
    )
    async with stand() as on:
        kind = postgres_node if place.engine == "postgres" else mysql_node
        config = {"dsn": place.dsn, "table": written}
        found = await on.fire(kind, config, scan=Scan((odd,), (Predicate(odd, "=", 5),), 1))
        assert found["rows"].to_pylist() == [{odd: 5}]


@pytest.mark.parametrize(
    "dsn",
    [
        "host=/var/run/postgresql dbname=x",
        "postgresql:///x?host=/var/run/postgresql",
        "postgresql://h/x?hostaddr=169.254.169.254",
        "postgresql://a,b/x",
        "postgresql://a:1,b:2/x",
        "host=a,b dbname=x",
        "service=prod",
        "postgresql://h/x?service=prod",
        "postgresql://h/x?sslrootcert=/etc/shadow",
        "postgresql://h/x?sslrootcert=../../../../etc/shadow",
        "postgresql://h/x?sslkey=/etc/ssl/private/k",
        "postgresql://h/x?passfile=/etc/passwd",
        "postgresql://h/x?options=-c%20default_transaction_read_only%3Doff",
        "mysql://h/x",
        "postgresql://h:99999/x",
        "postgresql://h:port/x",
        "postgresql://h/x?sslmode=never",
        "just words",
    ],
)
def test_ssrf_23_an_address_has_no_settings_that_reach_elsewhere(dsn: str, tmp_path: Path) -> None:
    with pytest.raises(JackfieldError) as caught:
        parse(dsn, "postgres", (tmp_path,))
    assert caught.value.code is Code.CONFIG_INVALID
    assert "/etc/shadow" not in str(caught.value)


@pytest.mark.parametrize(
    "dsn", ["mysql://h/x?unix_socket=/run/mysqld.sock", "mysql://h/x?read_default_file=/root/.my.cnf"]
)
def test_ssrf_23_holds_for_mysql(dsn: str) -> None:
    with pytest.raises(JackfieldError):
        parse(dsn, "mysql")


def test_a_variable_gives_one_field_and_cannot_add_settings() -> None:
    secrets = EnvironmentSecrets({"PW": "p@ss/w:rd?host=evil&hostaddr=1.2.3.4", "HOST": "db", "PORT": "5433"})
    found = address("postgresql://me:{{ env:PW }}@{{ env:HOST }}:{{ env:PORT }}/shop", "postgres", secrets)
    assert (found.host, found.port, found.database) == ("db", 5433, "shop")
    assert found.password == "p@ss/w:rd?host=evil&hostaddr=1.2.3.4"
    with pytest.raises(JackfieldError):
        address("postgresql://me@{{ env:PW }}/shop", "postgres", secrets)


@pytest.mark.anyio
@pytest.mark.parametrize("wrong", ["secret-word", "s3cr3t@/:"])
async def test_no_error_shows_a_password_or_an_address(place: Place, wrong: str) -> None:
    from urllib.parse import quote

    dsn = place.dsn.replace(place.server.quoted, quote(wrong, safe=""))
    async with stand(variables={"DB": dsn}) as on:
        kind = postgres_node if place.engine == "postgres" else mysql_node
        with pytest.raises(JackfieldError) as caught:
            await on.fire(kind, {"dsn": "{{ env:DB }}", "table": "t"})
    told = repr(caught.value.as_json()) + repr(on.events)
    assert caught.value.code is Code.AUTH_FAILED
    assert not any(word in told for word in (wrong, quote(wrong, safe=""), "127.0.0.1", str(place.server.port)))


@pytest.mark.anyio
async def test_a_missing_table_names_the_near_ones(place: Place) -> None:
    async with stand() as on:
        kind = postgres_node if place.engine == "postgres" else mysql_node
        with pytest.raises(JackfieldError) as caught:
            await on.fire(kind, {"dsn": place.dsn, "table": "tt"})
    assert caught.value.code is Code.SCHEMA_NOT_FOUND
    assert "Did you mean 't'?" in str(caught.value)
    assert {"t", "u"} <= set(caught.value.details["available"])


@pytest.mark.anyio
async def test_a_statement_that_reads_is_refused(place: Place) -> None:
    async with stand() as on:
        for sql in ("SELECT 1", "DROP TABLE t", "INSERT INTO u VALUES (1); DROP TABLE t", "TRUNCATE t"):
            with pytest.raises(JackfieldError) as caught:
                await on.fire(statement_node, {"engine": place.engine, "dsn": place.dsn, "sql": sql})
            assert caught.value.code is Code.QUERY_INVALID, sql
