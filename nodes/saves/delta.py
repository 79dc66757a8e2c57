"""The `delta` save: a Delta Lake table, whose log makes each save one commit."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ..base import Context
from ..files.confine import Located, locate
from ..table import Table
from .atomic import folder_path, locked
from .base import CanSave, Saved, SaveType
from .dataset import check_partitions
from .extra import require
from .filesave import Batches, FileSave, can_save_file, check_columns, in_worker
from .fit import fitting
from .leftovers import marked
from .staging import spilling, stage

if TYPE_CHECKING:
    import deltalake
    import pyarrow as pa


class DeltaSave(FileSave):
    """A Delta Lake table in a folder. Needs `pip install jackfield[delta]`."""

    partition_by: tuple[str, ...] = Field((), description="Columns that split a new table into folders")


async def save(config: DeltaSave, table: Table, context: Context) -> Saved:
    require("deltalake", "delta")
    check_columns(config, table)
    check_partitions(config.partition_by, table)
    batches = Batches(table)

    def run() -> Saved:
        place = locate(context.secrets.expand(config.path), context.folder)
        with locked(place, batches.check) as folder, marked(place, lambda: named_files(place)) as alive:
            there = opened(place)
            repeated = saved_before(there, context.idempotency_key)
            if repeated is not None:
                return Saved(repeated, config.path, repeated=True)
            write(config, place, folder, there, batches, context.idempotency_key, alive)
        return Saved(batches.count, config.path)

    return await in_worker(run, batches, config.path)


def write(
    config: DeltaSave,
    place: Located,
    folder: int,
    there: deltalake.DeltaTable | None,
    rows: Batches,
    key: str,
    alive: Callable[[], None],
) -> None:
    """One commit. The number of rows is in it, as the version of an application transaction named by the key."""
    import deltalake
    import pyarrow as pa

    fit, schema = None, rows.schema
    if there is not None and config.mode != "overwrite":
        schema = pa.schema(list(pa.schema(there.schema().to_arrow())))  # type: ignore[arg-type]
        fit = fitting(rows.schema, schema, config.path)

    def step(batch: pa.RecordBatch) -> pa.RecordBatch:
        alive()
        return batch if fit is None else fit(batch)

    with spilling(folder, folder_path(folder, place), rows) as connection:
        reader = rows.reader(schema, step)
        if config.mode == "upsert" or key:  # the commit tells the number of rows, so they are counted first
            stage(connection, reader, config.key if config.mode == "upsert" else ())
            reader = connection.sql("SELECT * FROM fresh").to_arrow_reader(50_000)
        commit = properties(key, rows)
        if config.mode == "upsert" and there is not None:
            same = " AND ".join(f'target."{column}" = source."{column}"' for column in config.key)
            merge = there.merge(reader, same, source_alias="source", target_alias="target", commit_properties=commit)
            merge.when_matched_update_all().when_not_matched_insert_all().execute()
        else:
            overwrite = config.mode == "overwrite" and there is not None
            deltalake.write_deltalake(
                there if there is not None else str(place.path),
                reader,
                mode="overwrite" if overwrite else "append",
                schema_mode="overwrite" if overwrite else None,
                partition_by=list(config.partition_by) or None,
                commit_properties=commit,
            )


def properties(key: str, rows: Batches) -> deltalake.CommitProperties | None:
    import deltalake

    if not key:
        return None
    return deltalake.CommitProperties(app_transactions=[deltalake.Transaction(application(key), rows.count)])


def application(key: str) -> str:
    return f"jackfield:{key}"


def opened(place: Located) -> deltalake.DeltaTable | None:
    import deltalake

    path = str(place.path)
    return deltalake.DeltaTable(path) if deltalake.DeltaTable.is_deltatable(path) else None


def saved_before(there: deltalake.DeltaTable | None, key: str) -> int | None:
    return there.transaction_version(application(key)) if there is not None and key else None


def named_files(place: Located) -> set[str]:
    """The files of every version that the log still tells of."""
    import json

    named: set[str] = set()
    log = place.path / "_delta_log"
    for commit in sorted(log.glob("*.json")) if log.is_dir() else ():
        for line in commit.read_text().splitlines():
            action: dict[str, Any] = json.loads(line)
            for kind in ("add", "remove"):
                if kind in action:
                    named.add(os.path.join(place.path, action[kind]["path"]))
    there = opened(place)
    if there is not None:
        named |= {os.path.join(place.path, file) for file in there.file_uris()}
    return named


async def can_save(config: DeltaSave, context: Context) -> CanSave:
    return await can_save_file(config, context)


SAVE = SaveType("delta", "A Delta Lake table", DeltaSave, ("append", "overwrite", "upsert"), save, can_save)
