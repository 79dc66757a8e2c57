"""A Parquet data set: a folder of files, in folders by the values of `partition_by` if there are such columns.

Each save builds the whole next folder beside the old one and exchanges the two, so that a reader's pattern
(`revenue/**/*.parquet`) finds the old rows or the new. Appending links the old files into the next folder, which copies
nothing; an upsert writes all rows again. A data set has its folder for itself.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from ...graphs.errors import Code, JackfieldError
from ..base import Context
from ..files import duck
from ..files.confine import Located, locate
from ..table import Table
from .atomic import folder_path, locked
from .base import Saved
from .filesave import Batches, FileSave, check_columns, in_worker
from .fit import fitting
from .merging import merged
from .staging import spilling, stage
from .swap import recover, replacing_folder

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

JOURNAL: Final = "_jackfield_saves.json"
OPEN_FILES: Final = 100
GROUP_ROWS: Final = 5_000  # each open partition holds a row group and its dictionaries in memory
WHOLE_ROWS: Final = 50_000
PAGE_BYTES: Final = 1 << 16


class ParquetSave(FileSave):
    """A Parquet file; or a folder of them, for a path without suffix and whenever `partition_by` names columns."""

    partition_by: tuple[str, ...] = Field((), description="Columns whose values become folders: day=2025-01-31/")


def is_dataset(config: ParquetSave, place: Located) -> bool:
    return bool(config.partition_by) or place.path.is_dir() or not place.path.suffix


async def save_dataset(config: ParquetSave, table: Table, context: Context) -> Saved:
    check_columns(config, table)
    check_partitions(config.partition_by, table)
    batches = Batches(table)

    def run() -> Saved:
        place = locate(context.secrets.expand(config.path), context.folder)
        with locked(place, batches.check) as folder:
            recover(folder)
            check_owned(place, config)
            entries = journal(place)
            if context.idempotency_key and context.idempotency_key in entries:
                return Saved(entries[context.idempotency_key], config.path, repeated=True)
            with replacing_folder(place, folder) as new:
                old = place.path if place.path.exists() and config.mode != "overwrite" else None
                with spilling(folder, folder_path(folder, place), batches) as connection:
                    write(connection, config, batches, old, new)
                if context.idempotency_key:
                    entries[context.idempotency_key] = batches.count
                Path(new, JOURNAL).write_text(json.dumps(entries))
        return Saved(batches.count, config.path)

    return await in_worker(run, batches, config.path)


def write(
    connection: duckdb.DuckDBPyConnection, config: ParquetSave, rows: Batches, old: Path | None, new: str
) -> None:
    files = parquet_files(old) if old is not None else []
    if not files or old is None:
        write_parts(rows, rows.schema, config, new)
        return
    schema = schema_of(files[0], rows.schema, config)
    fit = fitting(rows.schema, schema, config.path)
    if config.mode == "append":
        link_all(old, new)
        write_parts(rows.changed(fit), schema, config, new)
        return
    stage(connection, rows.reader(schema, fit), config.key)
    types = dict(zip(*described(connection), strict=True))
    hive = ", ".join(f"{duck.literal(column)}: {types[column]}" for column in config.partition_by)
    partitions = f"hive_partitioning=true, hive_types={{{hive}}}" if hive else "hive_partitioning=false"
    source = f"read_parquet({duck.literal(files)}, union_by_name=true, {partitions})"
    write_parts(merged(connection, source, schema, config.key), schema, config, new)


def write_parts(batches: Iterable[pa.RecordBatch], schema: pa.Schema, config: ParquetSave, folder: str) -> None:
    import pyarrow as pa
    import pyarrow.dataset as ds

    columns = pa.schema([schema.field(name) for name in config.partition_by])
    form = ds.ParquetFileFormat()
    options: dict[str, Any] = {"compression": "zstd"}
    if config.partition_by:
        options |= {"dictionary_pagesize_limit": PAGE_BYTES, "data_page_size": PAGE_BYTES}
    rows = GROUP_ROWS if config.partition_by else WHOLE_ROWS
    ds.write_dataset(
        pa.RecordBatchReader.from_batches(schema, iter(batches)),
        folder,
        format=form,
        file_options=form.make_write_options(**options),
        partitioning=ds.partitioning(columns, flavor="hive"),
        basename_template=f"part-{secrets.token_hex(6)}-{{i}}.parquet",
        existing_data_behavior="overwrite_or_ignore",
        max_open_files=OPEN_FILES,
        min_rows_per_group=rows,
        max_rows_per_group=rows * 4,
        use_threads=False,
    )


def described(connection: duckdb.DuckDBPyConnection) -> tuple[list[str], list[str]]:
    fresh = connection.table("fresh")
    return fresh.columns, [str(found) for found in fresh.types]


def schema_of(file: str, rows: pa.Schema, config: ParquetSave) -> pa.Schema:
    """The columns of the data set: those of its files, and those of its folders in the type that the rows have."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(file).remove_metadata()
    for column in config.partition_by:
        schema = schema.append(rows.field(column))
    return schema


def link_all(old: Path, new: str) -> None:
    """The files of `old` in `new` as well: the same files under a second name, where the file system can."""
    for place, _, files in os.walk(old):
        inside = os.path.join(new, os.path.relpath(place, old))
        os.makedirs(inside, exist_ok=True)
        for name in files:
            if name == JOURNAL:
                continue
            try:
                os.link(os.path.join(place, name), os.path.join(inside, name), follow_symlinks=False)
            except OSError:
                shutil.copy2(os.path.join(place, name), os.path.join(inside, name), follow_symlinks=False)


def parquet_files(folder: Path) -> list[str]:
    found = (os.path.join(place, name) for place, _, files in os.walk(folder) for name in files)
    return sorted(path for path in found if path.endswith(".parquet"))


def journal(place: Located) -> dict[str, int]:
    """Rows by idempotency key. It is a file of the data set, and so changes with it in one step."""
    try:
        entries: dict[str, int] = json.loads((place.path / JOURNAL).read_text())
    except FileNotFoundError:
        return {}
    return dict(list(entries.items())[-1_000:])


def check_partitions(partition_by: Sequence[str], table: Table) -> None:
    names: Sequence[str] = table.schema.names
    for column in partition_by:
        if column not in names:
            raise JackfieldError(
                Code.SCHEMA_NOT_FOUND,
                f"The partition column '{column}' is not among the rows' columns.",
                "Return it from the SQL, or change 'partition_by'.",
                {"column": column, "available": list(names)},
            )
    if partition_by and len(partition_by) == len(names):
        raise JackfieldError(Code.CONFIG_INVALID, "Rows that have only partition columns leave nothing for the files.")


def check_owned(place: Located, config: ParquetSave) -> None:
    """Raises CONFIG_INVALID when the folder holds what is not a data set's, or is split by other columns."""
    if not place.path.exists():
        return
    for entry in sorted(place.path.iterdir()):
        is_part = entry.is_dir() and not entry.is_symlink() and "=" in entry.name
        if is_part and config.partition_by[:1] == (entry.name.partition("=")[0],):
            continue
        if entry.name.startswith(("_", ".")) or (entry.name.endswith(".parquet") and not config.partition_by):
            continue
        split = f"partition_by {list(config.partition_by)}" if config.partition_by else "no 'partition_by'"
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"'{config.path}' holds '{entry.name}', which is no part of a data set with {split}.",
            "Give the data set a folder of its own, and save with the columns that it was split by.",
            {"path": config.path, "found": entry.name},
        )
