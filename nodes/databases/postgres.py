"""A Postgres connection by ADBC: results come as Arrow, in batches."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote, urlencode

from .arrow import Reading, bound, fitted, whole
from .columns import Column, ambiguous, arrived, missing_table
from .dsn import Dsn
from .postgres_failures import failure
from .postgres_types import PostgresDialect, columns_of, parts_of, quoted
from .pushdown import Dialect, Query, Relation, listed
from .session import DESCRIBED_FOR_S, GRACE_S, Rows, Tables, Written
from .short import UNLOCK

if TYPE_CHECKING:
    import pyarrow as pa
    from adbc_driver_manager import AdbcStatement, ArrowArrayStreamHandle, dbapi

NO_FILE: Final = "/dev/null/none"  # cannot be: of /dev/null itself libpq would say on stderr that it is no plain file
REMEMBERED: Final = 64
KEEPALIVE: Final = {"keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3"}


def uri(dsn: Dsn, *, read_only: bool, timeout_s: float | None) -> str:
    """The address for libpq. `timeout_s` None: no limit on the server's side."""
    # A role may have it off, and then the server reads a backslash in a string otherwise than our check did.
    settings = ["-c standard_conforming_strings=on"]
    if read_only:
        settings.append("-c default_transaction_read_only=on")
    if timeout_s is not None:
        settings.append(f"-c statement_timeout={int((timeout_s + GRACE_S) * 1000)}")
    # Whatever our own account has set for Postgres is not the connector's: passwords, services, certificates.
    query = {"sslmode": dsn.tls, "connect_timeout": "10", "application_name": "jackfield", "passfile": NO_FILE}
    query |= {"gssencmode": "disable", "client_encoding": "UTF8", **KEEPALIVE}
    if dsn.ca is not None:
        query["sslrootcert"] = str(dsn.ca)
    query["options"] = " ".join(settings)
    host = f"[{dsn.host}]" if ":" in dsn.host else quote(dsn.host, safe="")
    who = quote(dsn.user, safe="")
    if dsn.password:
        who += f":{quote(dsn.password, safe='')}"
    database = quote(dsn.database, safe="")
    return f"postgresql://{who}{'@' if who else ''}{host}:{dsn.port}/{database}?{urlencode(query, quote_via=quote)}"


class PostgresSession:
    """Implements `session.Session`. Opening blocks, and raises what `failure` gives."""

    dialect: Dialect = PostgresDialect()

    def __init__(self, dsn: Dsn, *, read_only: bool = True, timeout_s: float | None = None) -> None:
        import adbc_driver_postgresql.dbapi as driver  # type: ignore[import-untyped]

        self.used = self.lent = False
        self._dsn = dsn
        self._described: dict[str, tuple[float, tuple[Column, ...]]] = {}
        self._plain: dict[Tables, tuple[float, bool]] = {}
        self._reader: pa.RecordBatchReader | None = None
        self._guarded = False
        self._read_only = read_only
        try:
            address = uri(dsn, read_only=read_only, timeout_s=timeout_s)
            self._connection: dbapi.Connection = driver.connect(address, autocommit=True)
        except Exception as error:
            raise failure(error, dsn, connecting=True) from None
        # Kept: to make a statement anew each time costs more than to run it.
        self._statements: dict[str, AdbcStatement] = {}
        self._readings: dict[str, tuple[tuple[Column, ...], pa.Schema, Reading]] = {}

    def columns(self, relation: Relation) -> tuple[Column, ...]:
        known = self._described.get(relation.sql)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        try:
            columns = self._describe(f"SELECT * FROM {relation.sql}", relation.values)
        except Exception as error:
            if getattr(error, "sqlstate", None) in ("42P01", "3F000") and relation.name:
                raise missing_table(relation.name, self._tables(), self._dsn.place) from None
            raise failure(error, self._dsn) from None
        self._described[relation.sql] = (time.monotonic() + DESCRIBED_FOR_S, columns)
        return columns

    def read(self, query: Query, *, guarded: bool) -> Rows:
        try:
            if guarded:
                self._kept("BEGIN READ ONLY").execute_update()
                self._guarded = True
            statement = self._kept(query.sql)
            if query.values:
                statement.bind(bound(query.values))
            handle, _ = statement.execute_query()
            reader = _reader(handle)
            if not query.values:
                self._reader = reader
                reading = self._reading(query, reader.schema)
                return Rows(reading.schema, self._batches(reader, reading), reading.open)
            rows = reader.read_all()  # which have all come with the answer: only what binds nothing is copied
        except Exception as error:
            raise failure(error, self._dsn) from None
        reading = self._reading(query, rows.schema)
        return Rows(reading.schema, map(reading.convert, rows.to_batches()), reading.open)

    def statement(self, query: Query) -> Query:
        """`query`, whose SQL is a user's, as a sub-select when a column of its result has to be asked for otherwise.

        A sub-select would do no harm, but most results need none, and then the text that runs is the author's.
        """
        key = f"({query.sql})"
        known = self._described.get(key)
        if known is None or known[0] <= time.monotonic():
            try:
                # Inside of parentheses nothing but a query can be, whatever our check of the SQL may have missed.
                columns = self._describe(f"SELECT * FROM ({query.sql}\n) AS jackfield", query.values)
            except Exception as error:
                raise failure(error, self._dsn) from None
            known = self._described[key] = (time.monotonic() + DESCRIBED_FOR_S, columns)
        if all(column.verbatim for column in known[1]):
            return Query(query.sql, query.values, known[1])
        if len({column.name for column in known[1]}) < len(known[1]):
            raise ambiguous(known[1])
        selects = listed(known[1], self.dialect)
        return Query(f"SELECT {selects} FROM ({query.sql}\n) AS jackfield", query.values, known[1])

    def is_plain(self, tables: Tables) -> bool:
        until, found = self._plain.get(tables, (0.0, False))
        if until < time.monotonic():
            names = [".".join(quoted(part) for part in table) for table in tables]
            found = bool(self.rows(PLAIN, (names,))[0][0]) if names else True
            self._plain[tables] = (time.monotonic() + DESCRIBED_FOR_S, found)
        return found

    def finish(self) -> None:
        reader, self._reader = self._reader, None
        guarded, self._guarded = self._guarded, False
        try:
            if reader is not None:
                reader.close()
            if guarded:
                self._kept("ROLLBACK").execute_update()
                self._kept(UNLOCK).execute_update()
        except Exception as error:
            raise failure(error, self._dsn) from None
        self.used = True

    def check(self) -> None:
        try:
            self._command("SELECT 1")
        except Exception as error:
            raise failure(error, self._dsn) from None

    def forget(self) -> None:
        self._described.clear()
        self._plain.clear()

    def cancel(self) -> None:
        # In a thread: cancelling connects to the server, and the caller is the event loop.
        threading.Thread(target=self._cancel, name="jackfield-cancel", daemon=True).start()

    def close(self) -> None:
        for each in (self._reader, *self._statements.values()):
            with suppress(Exception):
                if each is not None:
                    each.close()
        with suppress(Exception):
            self._connection.close()

    def write(self, query: Query) -> Written:
        try:
            columns = self._describe(query.sql, query.values)
            with self._connection.cursor() as cursor:
                if not columns:
                    return Written(self._update(cursor, query), None)
                cursor.execute(query.sql, bound(query.values))
                reader = _reader(cursor.fetch_arrow())
                reading = Reading(reader.schema, columns_of(reader.schema))
                returned = fitted(whole(reading.schema, self._batches(reader, reading)), reading.open)
                return Written(returned.num_rows, returned)
        except Exception as error:
            raise failure(error, self._dsn) from None
        finally:
            self.used = True

    def run(self, sql: str) -> None:
        """Run one statement of our own that gives no rows. Raises as `read` does."""
        try:
            self._command(sql)
        except Exception as error:
            raise failure(error, self._dsn) from None

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of one query of our own. Raises as `read` does."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql, bound(values))
                return cursor.fetchall()
        except Exception as error:
            raise failure(error, self._dsn) from None

    def ingest(self, table: str, rows: pa.RecordBatchReader, *, temporary: bool) -> None:
        """Copy rows into a table that is there, or into a temporary one that is made."""
        *schema, name = parts_of(table)
        mode: Literal["append", "create"] = "create" if temporary else "append"
        try:
            with self._connection.cursor() as cursor:
                into = schema[-1] if schema else None
                cursor.adbc_ingest(name, rows, mode=mode, db_schema_name=into, temporary=temporary)
        except Exception as error:
            raise failure(error, self._dsn) from None

    def commit(self) -> None:
        try:
            self._connection.adbc_connection.commit()
        except Exception as error:
            raise failure(error, self._dsn) from None

    def rollback(self) -> None:
        with suppress(Exception):
            self._connection.adbc_connection.rollback()

    @property
    def connection(self) -> dbapi.Connection:
        """The driver's own connection, for saves: they ingest Arrow."""
        return self._connection

    def _kept(self, sql: str) -> AdbcStatement:
        """The statement of this text, made when it is first asked for."""
        statement = self._statements.get(sql)
        if statement is None:
            if len(self._statements) >= REMEMBERED:
                self._forget_statements()
            statement = self._statements[sql] = self._statement(sql)
        return statement

    def _forget_statements(self) -> None:
        for statement in self._statements.values():
            statement.close()
        self._statements.clear()

    def _statement(self, sql: str) -> AdbcStatement:
        from adbc_driver_manager import AdbcStatement

        statement = AdbcStatement(self._connection.adbc_connection)
        try:
            statement.set_sql_query(sql)
            statement.prepare()
        except BaseException:
            statement.close()
            raise
        return statement

    def _command(self, sql: str) -> None:
        statement = self._statement(sql)
        try:
            statement.execute_update()
        finally:
            statement.close()

    def _reading(self, query: Query, raw: pa.Schema) -> Reading:
        """How the result is converted, remembered as long as the same SQL gives the same columns."""
        known = self._readings.get(query.sql)
        if known is not None and known[0] == query.columns and known[1].equals(raw, check_metadata=True):
            return known[2]
        reading = Reading(raw, arrived(query.columns, columns_of(raw), quoted))
        if len(self._readings) >= REMEMBERED:
            self._readings.clear()
        self._readings[query.sql] = (query.columns, raw, reading)
        return reading

    def _update(self, cursor: dbapi.Cursor, query: Query) -> int:
        """The rows that changed, which the cursor's own `execute` does not tell when it binds values."""
        statement = cursor.adbc_statement
        statement.set_sql_query(query.sql)
        if (values := bound(query.values)) is not None:
            statement.prepare()
            statement.bind(values)
        affected: int = statement.execute_update()
        return affected

    def _describe(self, sql: str, values: Sequence[Any] = ()) -> tuple[Column, ...]:
        with self._connection.cursor() as cursor:
            return columns_of(cursor.adbc_execute_schema(sql, bound(values)))

    def _tables(self) -> list[str]:
        """Names of the tables and views that the user may read, as they would be written in `table`."""
        with suppress(Exception), self._connection.cursor() as cursor:
            cursor.execute(TABLES)
            return [row[0] for row in cursor.fetchall()]
        return []

    def _batches(self, reader: pa.RecordBatchReader, reading: Reading) -> Iterator[pa.RecordBatch]:
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except Exception as error:
                raise failure(error, self._dsn) from None
            yield reading.convert(batch)

    def _cancel(self) -> None:
        with suppress(Exception):
            self._connection.adbc_cancel()


PLAIN: Final = """
SELECT bool_and(coalesce(c.relkind IN ('r', 'p', 'm') AND NOT c.relrowsecurity, false))
FROM unnest($1::text[]) AS t(name) LEFT JOIN pg_class c ON c.oid = to_regclass(t.name)"""
TABLES: Final = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN '' ELSE n.nspname || '.' END || c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname NOT LIKE 'pg_t%' AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1 LIMIT 500"""


def _reader(handle: ArrowArrayStreamHandle) -> pa.RecordBatchReader:
    """The result as batches, by the reader that keeps the SQLSTATE of an error in mid-stream.

    pyarrow's own reader reduces the error to its words. The handle releases the stream when it is collected, so its
    caller holds it until this is done.
    """
    from adbc_driver_manager._reader import AdbcRecordBatchReader

    return AdbcRecordBatchReader._import_from_c(handle.address)
