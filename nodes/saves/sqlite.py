"""The `sqlite` save: a table of a SQLite file, changed in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...graphs.errors import Code, JackfieldError
from ..base import Context
from ..files.names import quoted
from ..files.sqlitejournal import check_journal
from ..table import Table
from .base import CanSave, Saved, SaveType
from .databasefile import DatabaseFileSave, DatabaseJob, Records, save_database
from .filesave import can_save_file
from .fit import family, mismatch, same_columns
from .sqlitevalues import accepts, column_type, values_of
from .staging import no_key, repeated_key

if TYPE_CHECKING:
    import pyarrow as pa

BUSY_S: Final = 10.0
RECORDS: Final = Records("key TEXT PRIMARY KEY, target TEXT, rows INTEGER, saved_at TEXT", "datetime('now')")


class SqliteSave(DatabaseFileSave):
    """A table of a SQLite file. Decimals and times are kept as text, exactly; lists and objects as JSON text."""


def write(job: DatabaseJob[SqliteSave]) -> int | None:
    try:
        with closing(connect(job)) as connection:
            job.rows.interrupts.append(connection.interrupt)
            connection.execute("BEGIN IMMEDIATE")
            repeated = RECORDS.rows_of(connection, job.idempotency_key)
            if repeated is None:
                change(connection, job)
                RECORDS.add(connection, job)
            connection.execute("COMMIT")
            return repeated
    except sqlite3.Error as error:
        raise failure(error, job.config) from None
    finally:
        job.rows.interrupts.clear()


def connect(job: DatabaseJob[SqliteSave]) -> sqlite3.Connection:
    check_journal(Path(job.path), job.config.path)
    # Cancelling interrupts it from another thread.
    return sqlite3.connect(job.path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)


def change(connection: sqlite3.Connection, job: DatabaseJob[SqliteSave]) -> None:
    table, schema = quoted(job.config.table), job.rows.schema
    there = {str(row[1]): str(row[2]).upper() for row in connection.execute(f"PRAGMA table_info({table})")}
    if job.config.mode == "overwrite" and there:
        connection.execute(f"DROP TABLE {table}")
        there = {}
    if there:
        check_fit(schema, there, job.config)
    else:
        columns = ", ".join(f"{quoted(field.name)} {column_type(field.type)}" for field in schema)
        connection.execute(f"CREATE TABLE {table} ({columns})")
    if job.config.mode == "upsert":
        upsert(connection, table, job)
    else:
        insert(connection, table, schema.names, rows(job))


def check_fit(schema: pa.Schema, there: dict[str, str], config: SqliteSave) -> None:
    """SQLite would take any value in any column; we do not."""
    target = f"{config.path}:{config.table}"
    same_columns(schema.names, [column for column in there if column in schema.names], target)
    for field in schema:
        if not accepts(there[field.name], family(field.type)):
            raise mismatch(field.name, str(field.type), there[field.name], target)


def rows(job: DatabaseJob[SqliteSave]) -> Iterator[Sequence[Any]]:
    for batch in job.rows:
        yield from zip(*(values_of(column) for column in batch.columns), strict=True)


def insert(
    connection: sqlite3.Connection, table: str, columns: Sequence[str], rows: Iterator[Sequence[Any]], then: str = ""
) -> None:
    marks = ", ".join("?" for _ in columns)
    connection.executemany(f"INSERT INTO {table} ({listed(columns)}) VALUES ({marks}) {then}", rows)


def upsert(connection: sqlite3.Connection, table: str, job: DatabaseJob[SqliteSave]) -> None:
    """Staged in a temporary table, checked, then by the table's own unique index or by deleting first."""
    columns, key = job.rows.schema.names, job.config.key
    typed = ", ".join(f"{quoted(field.name)} {column_type(field.type)}" for field in job.rows.schema)
    connection.execute(f"CREATE TEMP TABLE fresh ({typed})")
    insert(connection, "temp.fresh", columns, rows(job))
    check_keys(connection, key)
    if unique_over(connection, job.config):
        others = [quoted(column) for column in columns if column not in key]
        updates = ", ".join(f"{column} = excluded.{column}" for column in others)
        action = f"DO UPDATE SET {updates}" if updates else "DO NOTHING"
        # WHERE true: without it SQLite takes ON CONFLICT for a join's condition
        connection.execute(
            f"INSERT INTO {table} ({listed(columns)}) SELECT * FROM temp.fresh WHERE true"
            f" ON CONFLICT ({listed(key)}) {action}"
        )
        return
    same = " AND ".join(f"f.{quoted(column)} = {table}.{quoted(column)}" for column in key)
    connection.execute(f"CREATE INDEX temp.fresh_key ON fresh ({listed(key)})")
    connection.execute(f"DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM temp.fresh f WHERE {same})")
    connection.execute(f"INSERT INTO {table} ({listed(columns)}) SELECT * FROM temp.fresh")


def check_keys(connection: sqlite3.Connection, key: Sequence[str]) -> None:
    absent = " OR ".join(f"{quoted(column)} IS NULL" for column in key)
    empty = connection.execute(f"SELECT count(*) FROM temp.fresh WHERE {absent}").fetchone()[0]
    if empty:
        raise no_key(empty, ", ".join(key))
    query = f"SELECT {listed(key)} FROM temp.fresh GROUP BY {listed(key)} HAVING count(*) > 1 LIMIT 3"
    twice = connection.execute(query).fetchall()
    if twice:
        raise repeated_key(twice, ", ".join(key))


def unique_over(connection: sqlite3.Connection, config: SqliteSave) -> bool:
    """Whether a primary key or a unique index is over just the key's columns."""
    columns = connection.execute(f"PRAGMA table_info({quoted(config.table)})").fetchall()
    if {row[1] for row in columns if row[5]} == set(config.key):
        return True
    for index in connection.execute(f"PRAGMA index_list({quoted(config.table)})").fetchall():
        partial, unique = index[4], index[2]
        covered = {row[2] for row in connection.execute(f"PRAGMA index_info({quoted(index[1])})")}
        if unique and not partial and covered == set(config.key):
            return True
    return False


def listed(columns: Sequence[str]) -> str:
    return ", ".join(map(quoted, columns))


def failure(error: sqlite3.Error, config: SqliteSave) -> JackfieldError:
    """What SQLite said, when the transaction was rolled back."""
    text = str(error)
    busy = "locked" in text or "busy" in text
    return JackfieldError(
        Code.OVERLOADED if busy else Code.SOURCE_ERROR,
        f"'{config.path}:{config.table}' was not changed: {text}.",
        "Try again when its other writer is done." if busy else "Make the rows fit the table and its constraints.",
        {"path": config.path, "table": config.table},
    )


async def save(config: SqliteSave, table: Table, context: Context) -> Saved:
    return await save_database(config, table, context, write)


async def can_save(config: SqliteSave, context: Context) -> CanSave:
    return await can_save_file(config, context)


SAVE = SaveType("sqlite", "A table of a SQLite file", SqliteSave, ("append", "overwrite", "upsert"), save, can_save)
