"""The `csv` save: one file with a header, rewritten whole in every mode. Texts are never changed or run."""

from __future__ import annotations

import csv
import io
import os
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from ..base import Context
from ..files import duck
from ..files.names import quoted
from ..files.opened import Opened
from ..table import Table
from .atomic import remove, temporary
from .base import CanSave, Saved, SaveType
from .filesave import FileSave, Job, can_save_file, save_file
from .fit import same_columns
from .staging import spilling, stage

if TYPE_CHECKING:
    import duckdb


class CsvSave(FileSave):
    """A CSV file in UTF-8 with a header. Lists and objects are written as text."""

    delimiter: str = Field(",", min_length=1, max_length=1, description="What stands between two values")


def write(job: Job[CsvSave]) -> None:
    with spilling(job.folder, job.to.parent, job.rows) as connection:
        if job.old is None:
            connection.register("incoming", job.rows.reader())
            copy(connection, "SELECT * FROM incoming", job.to.path, job.config)
            return
        columns = header(job.old, job.config)
        same_columns(job.rows.schema.names, columns, job.config.path)
        if job.config.mode == "append":
            append(connection, job, job.old, columns)
        else:
            upsert(connection, job, job.old, columns)


def append(connection: duckdb.DuckDBPyConnection, job: Job[CsvSave], old: Opened, columns: Sequence[str]) -> None:
    """The old bytes as they are, then the new rows, which DuckDB writes into a file of their own first."""
    with open(old.descriptors[0], "rb", closefd=False) as before:
        shutil.copyfileobj(before, job.to.file, 1 << 20)
    job.to.file.seek(-1, os.SEEK_END)
    if job.to.file.read(1) != b"\n":
        job.to.file.write(b"\n")
    part = temporary("part")
    try:
        connection.register("incoming", job.rows.reader())
        copy(connection, f"SELECT {listed(columns)} FROM incoming", f"{job.to.parent}/{part}", job.config, header=False)
        with open(f"{job.to.parent}/{part}", "rb") as rows:
            shutil.copyfileobj(rows, job.to.file, 1 << 20)
    finally:
        remove(job.folder, part)


def upsert(connection: duckdb.DuckDBPyConnection, job: Job[CsvSave], old: Opened, columns: Sequence[str]) -> None:
    """The old rows of other keys, as the text that they are, and the new rows. A key is compared as its new type."""
    stage(connection, job.rows.reader(), job.config.key)
    types = dict(zip(*(lambda fresh: (fresh.columns, map(str, fresh.types)))(connection.table("fresh")), strict=True))
    fixed = {"delim": job.config.delimiter, "quote": '"', "escape": '"', "header": True, "all_varchar": True}
    there = f"read_csv({duck.literal(old.paths[0])}{duck.options(fixed | {'allow_quoted_nulls': False})})"
    same = " AND ".join(f"TRY_CAST(o.{quoted(k)} AS {types[k]}) = f.{quoted(k)}" for k in job.config.key)
    fresh = ", ".join(f"{quoted(column)}::VARCHAR" for column in columns)
    query = (
        f"SELECT {listed(columns)} FROM {there} o WHERE NOT EXISTS (SELECT 1 FROM fresh f WHERE {same})"
        f" UNION ALL SELECT {fresh} FROM fresh"
    )
    copy(connection, query, job.to.path, job.config)


def copy(connection: duckdb.DuckDBPyConnection, query: str, path: str, config: CsvSave, *, header: bool = True) -> None:
    options = f"FORMAT csv, HEADER {header}, DELIMITER {duck.literal(config.delimiter)}, USE_TMP_FILE false"
    connection.execute(f"COPY ({query}) TO {duck.literal(path)} ({options})")


def header(old: Opened, config: CsvSave) -> list[str]:
    with open(old.descriptors[0], "rb", closefd=False) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        names = next(csv.reader(text, delimiter=config.delimiter), [])
        text.detach().seek(0)
    return names


def listed(columns: Sequence[str]) -> str:
    return ", ".join(map(quoted, columns))


async def save(config: CsvSave, table: Table, context: Context) -> Saved:
    return await save_file(config, table, context, write)


async def can_save(config: CsvSave, context: Context) -> CanSave:
    return await can_save_file(config, context)


SAVE = SaveType("csv", "A CSV file", CsvSave, ("append", "overwrite", "upsert"), save, can_save)
