"""The `duckdb` save: a table of a DuckDB file, changed in one transaction."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ...graphs.errors import Code, JackfieldError
from ..base import Context
from ..files.names import quoted
from ..table import Table
from .base import CanSave, Saved, SaveType
from .databasefile import DatabaseFileSave, DatabaseJob, Records, save_database
from .filesave import can_save_file
from .fit import fitting
from .staging import check_keys

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BUSY_S: Final = 10.0
RECORDS: Final = Records("key VARCHAR PRIMARY KEY, target VARCHAR, rows BIGINT, saved_at TIMESTAMPTZ", "now()")


class DuckdbSave(DatabaseFileSave):
    """A table of a DuckDB file. `overwrite` makes the table anew; columns that rows leave out get their default."""


def write(job: DatabaseJob[DuckdbSave]) -> int | None:
    import duckdb

    connection = connect(job)
    job.rows.interrupts.append(connection.interrupt)
    try:
        connection.execute("BEGIN TRANSACTION")
        repeated = RECORDS.rows_of(connection, job.idempotency_key)
        if repeated is None:
            change(connection, job)
            RECORDS.add(connection, job)
        connection.execute("COMMIT")
        return repeated
    except duckdb.Error as error:
        raise failure(error, job.config) from None
    finally:
        job.rows.interrupts.clear()
        connection.close()  # rolls back what was not committed


def connect(job: DatabaseJob[DuckdbSave]) -> duckdb.DuckDBPyConnection:
    """The database for writing. A reader of ours or of another process is waited for."""
    import duckdb

    until = time.monotonic() + BUSY_S
    while True:
        try:
            connection = duckdb.connect(
                job.path, config={"threads": 2, "memory_limit": "256MB", "temp_directory": job.spill}
            )
            break
        except (duckdb.ConnectionException, duckdb.IOException) as error:
            if "different configuration" not in str(error) and "lock" not in str(error):
                raise failure(error, job.config) from None
            if time.monotonic() > until:
                raise JackfieldError(
                    Code.OVERLOADED,
                    f"'{job.config.path}' stayed open elsewhere for {BUSY_S:.0f} s; nothing was saved.",
                    "Close the program that has it open, and try again.",
                    {"path": job.config.path},
                ) from None
            job.rows.check()
            time.sleep(0.02)
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def change(connection: duckdb.DuckDBPyConnection, job: DatabaseJob[DuckdbSave]) -> None:
    import pyarrow as pa

    table = quoted(job.config.table)
    known = connection.execute(
        "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'main' AND table_name = ?",
        [job.config.table],
    ).fetchall()[0][0]
    if job.config.mode == "overwrite" or not known:
        connection.register("incoming", job.rows.reader())
        connection.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM incoming")
        if job.config.mode == "upsert":
            connection.execute(f"CREATE TEMP VIEW fresh AS SELECT * FROM {table}")
            check_keys(connection, job.config.key)
        return
    there = connection.sql(f"SELECT * FROM {table} LIMIT 0").to_arrow_table().schema
    wanted = pa.schema([field for field in there if field.name in job.rows.schema.names])
    fit = fitting(job.rows.schema, wanted, f"{job.config.path}:{job.config.table}", there.names)
    connection.register("incoming", job.rows.reader(wanted, fit))
    if job.config.mode == "append":
        connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM incoming")
    else:
        upsert(connection, table, wanted, job.config)


def upsert(connection: duckdb.DuckDBPyConnection, table: str, schema: pa.Schema, config: DuckdbSave) -> None:
    """By the table's own unique constraint where it has one over the key, else by deleting first."""
    connection.execute("CREATE TEMP TABLE fresh AS SELECT * FROM incoming")
    check_keys(connection, config.key)
    key = ", ".join(map(quoted, config.key))
    if has_constraint(connection, config):
        others = [quoted(column) for column in schema.names if column not in config.key]
        updates = ", ".join(f"{column} = excluded.{column}" for column in others)
        action = f"DO UPDATE SET {updates}" if updates else "DO NOTHING"
        connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM fresh ON CONFLICT ({key}) {action}")
        return
    same = " AND ".join(f"{table}.{quoted(column)} = fresh.{quoted(column)}" for column in config.key)
    connection.execute(f"DELETE FROM {table} USING fresh WHERE {same}")
    connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM fresh")


def has_constraint(connection: duckdb.DuckDBPyConnection, config: DuckdbSave) -> bool:
    found: Sequence[tuple[list[str]]] = connection.execute(
        "SELECT constraint_column_names FROM duckdb_constraints()"
        " WHERE table_name = ? AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')",
        [config.table],
    ).fetchall()
    return any(set(row[0]) == set(config.key) for row in found)


def failure(error: Exception, config: DuckdbSave) -> JackfieldError:
    """What DuckDB said, when the transaction was rolled back."""
    import duckdb

    text = str(error).split("\n")[0]
    code = Code.TYPE_MISMATCH if isinstance(error, duckdb.ConversionException) else Code.SOURCE_ERROR
    return JackfieldError(
        code,
        f"'{config.path}:{config.table}' was not changed: {text}",
        "Make the rows fit the table's types and constraints.",
        {"path": config.path, "table": config.table},
    )


async def save(config: DuckdbSave, table: Table, context: Context) -> Saved:
    return await save_database(config, table, context, write)


async def can_save(config: DuckdbSave, context: Context) -> CanSave:
    return await can_save_file(config, context)


SAVE = SaveType("duckdb", "A table of a DuckDB file", DuckdbSave, ("append", "overwrite", "upsert"), save, can_save)
