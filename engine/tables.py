"""The locked DuckDB database: one an engine, a cursor a query, just that query's tables, and nothing else in reach.

A tool's SQL is checked before it comes here (`sqltext.read_only`), and checked again; it then runs in a transaction
that only reads, on a cursor where only its tables are registered, in a database that opens no file and whose settings
are locked.
"""

from __future__ import annotations

import math
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self

import anyio

from ..graphs.errors import Code, JackfieldError
from ..nodes.base import Budget, Value
from ..nodes.sqltext.bind import for_duckdb
from ..nodes.sqltext.pushdown import read_once
from ..nodes.sqltext.read_only import require_read_only
from ..nodes.sqltext.references import references
from ..nodes.table import Table
from .query import Query
from .query_errors import no_table
from .query_threads import QueryThreads

if TYPE_CHECKING:
    import duckdb

# The order matters: what is set must be set before `lock_configuration`, and the zone before it too. Not among them is
# `disabled_filesystems`, which makes the database unable to spill.
LOCKS: Final = (
    "SET TimeZone = 'UTC'",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


@dataclass(frozen=True, slots=True)
class TableSettings:
    """`memory_limit` is DuckDB's, for the whole database; beyond it, it spills to a folder of its own.

    `queries` run at a time and `waiting` more wait; after `max_stuck` queries that did not hear that they were
    cancelled, new ones are refused until they end.
    """

    memory_limit: str = "2GB"
    spill_limit: str = "20GB"
    threads: int | None = None
    queries: int = 8
    waiting: int = 200
    max_stuck: int = 4


@dataclass(frozen=True, slots=True)
class Checked:
    """What is known of an SQL text before any table is: kept by text."""

    tables: tuple[str, ...]
    once: frozenset[str]  # tables (lower case) that the query reads in one pass


@lru_cache(maxsize=512)
def checked(sql: str) -> Checked:
    """Raises QUERY_INVALID unless `sql` is one query that only reads."""
    import duckdb

    require_read_only(sql)
    text, _ = for_duckdb(sql, _Anything())
    try:
        statements = duckdb.extract_statements(text)
    except duckdb.Error as error:
        from .query_errors import translated

        raise translated(error, text, {}, ()) from None
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise JackfieldError(Code.QUERY_INVALID, "The SQL is not one SELECT.", "PIVOT belongs behind FROM.")
    return Checked(tuple(name.lower() for name in references(sql).tables), read_once(sql))


class _Anything(dict[str, Any]):
    """Arguments of which any may be asked for: all that matters to the check is where they stand."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> None:
        return None


class Database:
    """One locked in-memory database. Built on first use, in the thread of the first query."""

    def __init__(self, settings: TableSettings | None = None) -> None:
        self.settings = settings or TableSettings()
        self.threads = QueryThreads(self.settings.queries, self.settings.waiting, self.settings.max_stuck)
        self._root: duckdb.DuckDBPyConnection | None = None
        self._spill: tempfile.TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()

    def session(self, budget: Budget | None = None, deadline: float = math.inf) -> Session:
        """What one run uses. `deadline` is in `anyio.current_time()`; results are counted against `budget`."""
        return Session(self, budget, deadline)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A new cursor, on which nothing is registered. Called in a query's thread."""
        root = self._root
        if root is None:
            with self._lock:
                root = self._root = self._root or self._open()
        return root.cursor()

    def close(self) -> None:
        """Close the database. A query that is stuck keeps its memory until it ends."""
        self.threads.close()
        with self._lock:
            root, self._root = self._root, None
            spill, self._spill = self._spill, None
        if root is not None and not self.threads.stuck:
            root.close()
        if spill is not None:
            spill.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _open(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        self._spill = tempfile.TemporaryDirectory(prefix="jackfield-", ignore_cleanup_errors=True)
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": self.settings.memory_limit,
            "temp_directory": self._spill.name,
            "max_temp_directory_size": self.settings.spill_limit,
        }
        if self.settings.threads is not None:
            config["threads"] = self.settings.threads
        root = duckdb.connect(":memory:", config=config)
        for statement in LOCKS:
            root.execute(statement)
        return root


class Session:
    """Implements `base.Tables` for one run. Queries of one session may run side by side, each on its own cursor."""

    def __init__(self, database: Database, budget: Budget | None, deadline: float) -> None:
        self._database = database
        self._budget = budget
        self._deadline = deadline
        self._open: set[Query] = set()

    async def query(
        self, sql: str, parameters: Mapping[str, Value], tables: Mapping[str, Table], *, stream: bool = False
    ) -> Table:
        """See `base.Tables`. With `stream` the rows come as they are read, and the query ends when the Table is closed.

        Raises also OVERLOADED, and whatever error ended a stream among `tables`.
        """
        known = checked(sql)
        named = {name.lower(): table for name, table in tables.items()}
        used = {}
        for name in known.tables:
            if name not in named:
                raise no_table(name, {each: table.schema.names for each, table in tables.items()})
            used[name] = named[name]
        text, values = for_duckdb(sql, parameters)
        query = Query(self._database.cursor, text, values, used, known.once, self._budget)
        self._open.add(query)
        try:
            if self._deadline == math.inf:
                result = await self._database.threads.run(query.stream if stream else query.whole, query.cancel)
            else:
                result = await self._within_deadline(query, stream)
        finally:
            if not query.is_streaming:
                self._open.discard(query)
        return result

    async def _within_deadline(self, query: Query, stream: bool) -> Table:
        with anyio.CancelScope(deadline=self._deadline) as scope:
            return await self._database.threads.run(query.stream if stream else query.whole, query.cancel)
        assert scope.cancelled_caught
        raise JackfieldError(
            Code.QUERY_TIMEOUT, "The query did not end in its time.", "Raise `timeout_s`, or ask for less."
        )

    def close(self) -> None:
        """End the queries whose result streams are still open."""
        while self._open:
            self._open.pop().close()
