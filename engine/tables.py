"""The locked DuckDB database: one an engine, a cursor a query, just that query's tables, and nothing else in reach.

A tool's SQL is checked before it comes here (`sqltext.read_only`), and checked again; it then runs in a transaction
that only reads, on a cursor where only its tables are registered, in a database that opens no file and whose settings
are locked.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Self

import anyio

from ..graphs.errors import Code, JackfieldError
from ..nodes.base import Budget, Value
from ..nodes.sqltext.bind import for_duckdb
from ..nodes.sqltext.pushdown import read_once
from ..nodes.sqltext.read_only import require_read_only
from ..nodes.sqltext.reading import read
from ..nodes.sqltext.references import references
from ..nodes.sqltext.tokens import tokens
from ..nodes.table import Table
from .cursors import Cursors
from .parse_tree import require_only_reads
from .query import Query
from .query_errors import no_table
from .query_threads import QueryThreads

CLOCKS: Final = frozenset(
    {"now", "today", "age", "ago", "current_date", "current_time", "current_timestamp", "get_current_time"}
    | {"get_current_timestamp", "localtime", "localtimestamp", "transaction_timestamp"}
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
    now: bool  # it may ask what time it is


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
    tables = tuple(name.lower() for name in references(sql).tables)
    require_only_reads(text, tables)
    now = any(token.text.lower() in CLOCKS for token in tokens(sql))
    return Checked(tables, read_once(sql), now)


class _Anything(dict[str, Any]):
    """Arguments of which any may be asked for: all that matters to the check is where they stand."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> None:
        return None


class Database:
    """One locked in-memory database, opened by the first query."""

    def __init__(self, settings: TableSettings | None = None) -> None:
        self.settings = settings or TableSettings()
        self.threads = QueryThreads(self.settings.queries, self.settings.waiting, self.settings.max_stuck)
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": self.settings.memory_limit,
            "max_temp_directory_size": self.settings.spill_limit,
        }
        if self.settings.threads is not None:
            config["threads"] = self.settings.threads
        self.cursors = Cursors(config)

    def session(self, budget: Budget | None = None, deadline: float = math.inf) -> Session:
        """What one run uses. `deadline` is in `anyio.current_time()`; results are counted against `budget`."""
        return Session(self, budget, deadline)

    def close(self) -> None:
        """Close the database, unless a query is stuck in it: then it goes with the process."""
        self.threads.close()
        if not self.threads.stuck:
            self.cursors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Session:
    """Implements `base.Tables` for one run. Queries of one session may run side by side, each on its own cursor."""

    def __init__(self, database: Database, budget: Budget | None, deadline: float) -> None:
        self._database = database
        self._budget = budget
        self._deadline = deadline
        self._streams: set[Query] = set()

    async def query(
        self, sql: str, parameters: Mapping[str, Value], tables: Mapping[str, Table], *, stream: bool = False
    ) -> Table:
        """See `base.Tables`. With `stream` the rows come as they are read, and the query ends when the Table is closed.

        Raises also OVERLOADED, and whatever error ended a stream among `tables`.
        """
        known = await read(checked, sql)
        named = {name.lower(): table for name, table in tables.items()}
        used = {}
        for name in known.tables:
            if name not in named:
                raise no_table(name, {each: table.schema.names for each, table in tables.items()})
            used[name] = named[name]
        text, values = for_duckdb(sql, parameters)
        query = Query(self._database.cursors, text, values, used, known.once, known.now, self._budget)
        call = query.stream if stream else query.whole
        run = self._database.threads.run
        try:
            if self._deadline == math.inf:
                return await run(call, query.cancel, query.release)
            return await self._within_deadline(run(call, query.cancel, query.release))
        except anyio.get_cancelled_exc_class():
            if query.is_streaming:
                query.close()
            raise
        finally:
            if query.is_streaming:
                self._streams.add(query)

    async def _within_deadline(self, answer: Awaitable[Table]) -> Table:
        with anyio.CancelScope(deadline=self._deadline):
            return await answer
        raise JackfieldError(
            Code.QUERY_TIMEOUT, "The query did not end in its time.", "Raise `timeout_s`, or ask for less."
        )

    def close(self) -> None:
        """End the queries whose result streams are still open."""
        while self._streams:
            self._streams.pop().close()
