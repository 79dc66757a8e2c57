"""A MySQL or MariaDB connection by asyncmy, which is asynchronous: each session has an event loop of its own.

So it blocks like any other driver: it is used in a worker thread, and the rows' decoding does not hold up the loop
that serves everyone.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import struct
import threading
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...graphs.errors import Code, JackfieldError
from .arrow import whole
from .columns import Column, ambiguous, arrived, missing_table
from .dsn import Dsn
from .mysql_failures import failure
from .mysql_types import DOUBLE, FLOAT, INTEGERS, MySQLDialect, batch_of, columns_of, quoted, schema_of
from .pushdown import Dialect, Query, Relation, listed
from .session import DESCRIBED_FOR_S, GRACE_S, Rows, Tables, Written

if TYPE_CHECKING:
    import pyarrow as pa

Connection = Any  # asyncmy declares types for a part of it
T = TypeVar("T")
BATCH_ROWS: Final = 10_000
CONNECT_S: Final = 10.0
STREAM_S: Final = 3600  # how long the server waits for a slow reader of a stream
MULTI_STATEMENTS_OFF: Final = struct.pack("<H", 1)
COM_SET_OPTION: Final = 0x1B
PLACEHOLDER: Final = re.compile(r"%([s%])")
# All else stays text: what a date or a decimal is, is for Arrow to say, column by column.
CONVERTED: Final[dict[Any, Any]] = {**dict.fromkeys(INTEGERS, int), FLOAT: float, DOUBLE: float}
# Our checks read SQL as MySQL does by default: no double-quoted names, backslash escapes, strict values.
SQL_MODE: Final = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"


class MySQLSession:
    """Implements `session.Session`. Opening blocks, and raises what `failure` gives."""

    dialect: Dialect = MySQLDialect()

    def __init__(self, dsn: Dsn, *, read_only: bool = True, timeout_s: float | None = None) -> None:
        self.used = self.lent = False
        self._dsn = dsn
        self._described: dict[str, tuple[float, tuple[Column, ...]]] = {}
        self._plain: dict[Tables, tuple[float, bool]] = {}
        self._read_only, self._timeout_s = read_only, timeout_s
        self._cursor: Any = None
        self._guarded = False
        self._task: asyncio.Task[Any] | None = None
        self._loop = asyncio.new_event_loop()
        try:
            self._connection: Connection = self._run(_connect(dsn, read_only, timeout_s), connecting=True)
        except BaseException:
            self._loop.close()
            raise

    def columns(self, relation: Relation) -> tuple[Column, ...]:
        known = self._described.get(relation.sql)
        if known is not None and known[0] > time.monotonic():
            return known[1]
        sql = f"SELECT * FROM {relation.sql} LIMIT 0"
        try:
            columns = self._run(self._describe(sql, relation.values))
        except Exception as error:
            number = getattr(getattr(error, "error", None), "details", {}).get("errno")
            if number in (1146, 1049) and relation.name:
                raise missing_table(relation.name, self._tables(), self._dsn.place) from None
            raise
        self._described[relation.sql] = (time.monotonic() + DESCRIBED_FOR_S, columns)
        return columns

    def read(self, query: Query, *, guarded: bool) -> Rows:
        if guarded:
            self._run(self._connection.query("START TRANSACTION READ ONLY"))
            self._guarded = True
        if query.values:
            found, rows = self._run(self._prepared(query.sql, query.values))
            columns = arrived(query.columns, found, quoted)
            return Rows(schema_of(columns), iter([batch_of(rows, schema_of(columns), columns)]))
        found = self._run(self._begin(query.sql))
        columns = arrived(query.columns, found, quoted)
        return Rows(schema_of(columns), self._batches(schema_of(columns), columns))

    def statement(self, query: Query) -> Query:
        """`query`, whose SQL is a user's, as a sub-select when a column of its result has to be asked for otherwise."""
        key = f"({query.sql})"
        known = self._described.get(key)
        if known is None or known[0] <= time.monotonic():
            columns = self._run(self._describe(f"SELECT * FROM ({query.sql}\n) AS jackfield LIMIT 0", query.values))
            known = self._described[key] = (time.monotonic() + DESCRIBED_FOR_S, columns)
        if all(column.verbatim for column in known[1]):
            return Query(query.sql, query.values, known[1])
        if len({column.name.lower() for column in known[1]}) < len(known[1]):
            raise ambiguous(known[1])
        selects = listed(known[1], self.dialect)
        return Query(f"SELECT {selects} FROM ({query.sql}\n) AS jackfield", query.values, known[1])

    def is_plain(self, tables: Tables) -> bool:
        until, found = self._plain.get(tables, (0.0, False))
        if until < time.monotonic():
            found = not tables or self._run(self._are_plain(tables))
            self._plain[tables] = (time.monotonic() + DESCRIBED_FOR_S, found)
        return found

    def finish(self) -> None:
        cursor, self._cursor = self._cursor, None
        guarded, self._guarded = self._guarded, False
        if cursor is not None:
            self._run(cursor.close())
        if guarded:
            self._run(self._restored())
        self.used = True

    def write(self, query: Query) -> Written:
        try:
            return self._run(self._write(query))
        finally:
            self.used = True

    def check(self) -> None:
        self._run(self._connection.query("DO 0"))

    def run(self, sql: str) -> int:
        """Run one statement of our own; the rows it changed. Raises as `read` does."""
        affected: int = self._run(self._connection.query(sql))
        return affected

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of one query of our own, as the text protocol gives them. Raises as `read` does."""

        async def fetched() -> list[tuple[Any, ...]]:
            cursor: Any = self._connection.cursor()
            try:
                await cursor.execute(sql)
                return list(await cursor.fetchall())
            finally:
                await cursor.close()

        return self._run(fetched())

    def rollback(self) -> None:
        self.tidy("ROLLBACK")

    def tidy(self, sql: str) -> None:
        """Run a statement that may fail, after which nothing depends on it."""
        with suppress(Exception):
            self.run(sql)

    def forget(self) -> None:
        self._described.clear()
        self._plain.clear()

    def cancel(self) -> None:
        thread_id = self._connection.thread_id()
        threading.Thread(target=self._cancel, args=(thread_id,), name="jackfield-cancel", daemon=True).start()

    def close(self) -> None:
        """Also from the thread of another event loop, in which ours cannot run."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._close()
            return
        thread = threading.Thread(target=self._close, name="jackfield-close")
        thread.start()
        thread.join()

    def _close(self) -> None:
        with suppress(Exception):
            if self._cursor is not None or self._guarded:
                self._connection.close()  # rows may still be on their way: no farewell is heard before them
            else:
                self._loop.run_until_complete(asyncio.wait_for(self._connection.ensure_closed(), 1))
        with suppress(Exception):
            self._loop.run_until_complete(asyncio.sleep(0))  # lets the transport end
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T], *, connecting: bool = False) -> T:
        task: asyncio.Task[T] = self._loop.create_task(work)
        self._task = task
        try:
            return self._loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise JackfieldError(Code.CANCELLED, "The query was cancelled.") from None
        except Exception as error:
            raise failure(error, self._dsn, connecting=connecting) from None
        finally:
            self._task = None

    async def _describe(self, sql: str, values: Sequence[Any]) -> tuple[Column, ...]:
        statement = await self._connection.prepare(_question_marks(sql) if values else sql)
        try:
            result = await statement.execute(tuple(values))
            return columns_of(result.fields or ())
        finally:
            await statement.close()

    async def _prepared(self, sql: str, values: Sequence[Any]) -> tuple[tuple[Column, ...], Sequence[Any]]:
        statement = await self._connection.prepare(_question_marks(sql))
        try:
            result = await statement.execute(tuple(values))
            return columns_of(result.fields or ()), result.rows or ()
        finally:
            await statement.close()

    async def _are_plain(self, tables: Tables) -> bool:
        one = "(TABLE_SCHEMA = coalesce(%s, DATABASE()) AND TABLE_NAME = %s)"
        sql = "SELECT count(*) FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND ({})"
        values = [part for table in tables for part in (table[-2] if len(table) > 1 else None, table[-1])]
        _, rows = await self._prepared(sql.format(" OR ".join([one] * len(tables))), values)
        return int(rows[0][0]) == len(tables)

    async def _restored(self) -> None:
        """As it was opened, whatever functions were called: a rollback undoes neither settings nor locks."""
        await self._connection.query("ROLLBACK")
        await self._connection.query("DO RELEASE_ALL_LOCKS()")
        await _set_up(self._connection, self._read_only, self._timeout_s)

    async def _begin(self, sql: str) -> tuple[Column, ...]:
        from asyncmy.cursors import SSCursor

        cursor: Any = self._connection.cursor(SSCursor)
        await cursor.execute(sql)
        self._cursor = cursor
        return columns_of(cursor._result.fields or ())

    async def _write(self, query: Query) -> Written:
        statement = await self._connection.prepare(_question_marks(query.sql) if query.values else query.sql)
        try:
            result = await statement.execute(tuple(query.values))
        finally:
            await statement.close()
        if not result.fields:
            return Written(result.affected_rows, None)
        columns = columns_of(result.fields)
        returned = whole(schema_of(columns), [batch_of(result.rows, schema_of(columns), columns)])
        return Written(returned.num_rows, returned)

    def _batches(self, schema: pa.Schema, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        while rows := self._run(self._cursor.fetchmany(BATCH_ROWS)):
            yield batch_of(rows, schema, columns)

    def _tables(self) -> list[str]:
        sql = (
            "SELECT CASE WHEN table_schema = DATABASE() THEN table_name ELSE CONCAT(table_schema, '.', table_name) END"
            " FROM information_schema.tables WHERE table_schema NOT IN"
            " ('mysql', 'information_schema', 'performance_schema', 'sys') ORDER BY 1 LIMIT 500"
        )
        with suppress(Exception):
            _, rows = self._run(self._prepared(f"{sql}", ()))
            return [str(row[0]) for row in rows]
        return []

    def _cancel(self, thread_id: int) -> None:
        """End the query at the server, by a connection of its own, and then the wait for it."""
        with suppress(Exception):
            asyncio.run(asyncio.wait_for(_kill(self._dsn, thread_id), 5))
        task = self._task
        if task is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(task.cancel)


def _question_marks(sql: str) -> str:
    """`%s` as the protocol writes a parameter, `%%` as the percent sign it stands for."""
    return PLACEHOLDER.sub(lambda match: "?" if match[1] == "s" else "%", sql)


async def _kill(dsn: Dsn, thread_id: int) -> None:
    connection = await _opened(dsn)
    try:
        await connection.query(f"KILL QUERY {int(thread_id)}")
    finally:
        await connection.ensure_closed()


async def _connect(dsn: Dsn, read_only: bool, timeout_s: float | None) -> Connection:
    connection = await _opened(dsn)
    try:
        # Several statements in one text: this driver asks for it, and nobody here needs it.
        await connection._execute_command(COM_SET_OPTION, MULTI_STATEMENTS_OFF)
        await connection.read_packet()
        await _set_up(connection, read_only, timeout_s)
    except BaseException:
        connection.close()
        raise
    return connection


async def _set_up(connection: Connection, read_only: bool, timeout_s: float | None) -> None:
    mariadb = "mariadb" in connection.get_server_info().lower()
    settings = [f"sql_mode = '{SQL_MODE}'", "time_zone = '+00:00'"]
    if timeout_s is not None:
        limit = timeout_s + GRACE_S
        settings.append(f"max_statement_time = {limit}" if mariadb else f"max_execution_time = {int(limit * 1000)}")
        settings.append(f"innodb_lock_wait_timeout = {max(1, int(limit))}")
    else:
        settings.append(f"net_write_timeout = {STREAM_S}")
    await connection.query(f"SET SESSION {', SESSION '.join(settings)}")
    if read_only:
        await connection.query("SET SESSION TRANSACTION READ ONLY")


async def _opened(dsn: Dsn) -> Connection:
    import asyncmy.connection

    driver: Any = asyncmy.connection.Connection

    async def attempt(tls: ssl.SSLContext | None) -> Connection:
        connection = driver(
            host=dsn.host,
            port=dsn.port,
            user=dsn.user or None,
            password=dsn.password,
            database=dsn.database or None,
            charset="utf8mb4",
            connect_timeout=CONNECT_S,
            autocommit=True,
            ssl=tls,
            program_name="jackfield",
            conv=CONVERTED,
        )
        async with asyncio.timeout(CONNECT_S):
            await connection.connect()
        return connection

    if dsn.tls == "disable":
        return await attempt(None)
    if dsn.tls != "prefer":
        return await attempt(_context(dsn))
    try:
        return await attempt(_context(dsn))
    except Exception as error:
        if not (isinstance(error, ssl.SSLError) or "ssl" in str(error).lower()):
            raise
    return await attempt(None)


def _context(dsn: Dsn) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=None if dsn.ca is None else str(dsn.ca))
    context.check_hostname = dsn.tls == "verify-full"
    if dsn.tls in ("prefer", "require"):
        context.verify_mode = ssl.CERT_NONE
    return context
