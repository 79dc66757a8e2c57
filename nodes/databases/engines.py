"""The two engines by name: everything else here is written once, over both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from .dsn import Dsn, Engine
from .pull import Database
from .pushdown import Dialect, Relation
from .session import Session
from .short import ShortAnswers


@lru_cache(maxsize=64)
def database(dsn: Dsn, *, read_only: bool = True, timeout_s: float | None = None) -> Database:
    """How to connect. `timeout_s` None: the server sets no limit, as for a stream, whose reader sets the pace."""
    key = f"{dsn.engine}:{dsn.digest(read_only, timeout_s)}"

    def connect() -> Session:
        if dsn.engine == "postgres":
            from .postgres import PostgresSession

            return PostgresSession(dsn, read_only=read_only, timeout_s=timeout_s)
        from .mysql import MySQLSession

        return MySQLSession(dsn, read_only=read_only, timeout_s=timeout_s)

    quick = dsn.engine == "postgres" and read_only
    return Database(dsn, key, connect, ShortAnswers(dsn, timeout_s) if quick else None)


def dialect(engine: Engine, *, stream: bool = False) -> Dialect:
    """How the engine's SQL is written; `stream`: such that its rows can be streamed."""
    if engine == "postgres":
        from .postgres_types import PostgresDialect

        return PostgresDialect(inline=stream)
    from .mysql_types import MySQLDialect

    return MySQLDialect()


def relation(engine: Engine, table: str) -> Relation:
    """`schema.table` as quoted identifiers."""
    return dialect(engine).relation(table)


def bound_sql(engine: Engine, sql: str, arguments: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    """`sql` with its `:name` parameters as the driver takes them, and the values in order."""
    from ..sqltext.bind import for_mysql, for_postgres

    return for_postgres(sql, arguments) if engine == "postgres" else for_mysql(sql, arguments)
