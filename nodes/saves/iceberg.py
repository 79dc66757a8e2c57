"""The `iceberg` save: a table of an Iceberg warehouse in a folder, whose catalogue makes each save one commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from ..base import Context
from ..files.confine import Located, locate
from ..table import Table
from .atomic import locked
from .base import CanSave, Saved, SaveType
from .extra import require
from .filesave import Batches, FileSave, can_save_file, in_worker
from .fit import fitting
from .leftovers import marked

if TYPE_CHECKING:
    import pyarrow as pa
    import pyiceberg.table
    from pyiceberg.catalog.sql import SqlCatalog

KEY: Final = "jackfield.idempotency-key"
NAMESPACE: Final = "default"


class IcebergSave(FileSave):
    """A table of the Iceberg warehouse in the folder `path`, whose catalogue is `catalog.db` there, named `default`.

    Needs `pip install jackfield[iceberg]`. Offers no upsert: it takes Iceberg minutes for a million rows.
    """

    table: str = Field(min_length=1, description="Table name, with a namespace or without: sales.orders")


async def save(config: IcebergSave, table: Table, context: Context) -> Saved:
    require("pyiceberg", "iceberg")
    batches = Batches(table)
    target = f"{config.path}:{config.table}"

    def run() -> Saved:
        place = locate(context.secrets.expand(config.path), context.folder)
        with (
            locked(place, batches.check),
            marked(place, lambda: named_files(place)) as alive,
            catalog(place) as warehouse,
        ):
            repeated = write(config, warehouse, batches, context.idempotency_key, alive)
        return Saved(batches.count, target) if repeated is None else Saved(repeated, target, repeated=True)

    return await in_worker(run, batches, config.path)


def write(config: IcebergSave, warehouse: SqlCatalog, rows: Batches, key: str, alive: Callable[[], None]) -> int | None:
    """One commit of one transaction; the rows that the key had saved before, if it had."""
    name = config.table if "." in config.table else f"{NAMESPACE}.{config.table}"
    warehouse.create_namespace_if_not_exists(name.rpartition(".")[0])
    if warehouse.table_exists(name):
        there = warehouse.load_table(name)
        repeated = saved_before(there, key)
        if repeated is not None:
            return repeated
        schema = there.schema().as_arrow()
        fit = fitting(rows.schema, schema, config.path)
        with there.transaction() as transaction:
            put(transaction, config, rows, schema, fit, key, alive)
        return None
    with warehouse.create_table_transaction(name, rows.schema) as transaction:
        put(transaction, config, rows, rows.schema, lambda batch: batch, key, alive)
    return None


def put(
    transaction: pyiceberg.table.Transaction,
    config: IcebergSave,
    rows: Batches,
    schema: pa.Schema,
    fit: Callable[[pa.RecordBatch], pa.RecordBatch],
    key: str,
    alive: Callable[[], None],
) -> None:
    def step(batch: pa.RecordBatch) -> pa.RecordBatch:
        alive()
        return fit(batch)

    known = {KEY: key} if key else {}
    latest = transaction.table_metadata.current_snapshot()
    has_rows = latest is not None and latest.summary is not None and latest.summary["total-records"] != "0"
    act = transaction.overwrite if config.mode == "overwrite" and has_rows else transaction.append
    act(rows.reader(schema, step), snapshot_properties=known)


def saved_before(there: pyiceberg.table.Table, key: str) -> int | None:
    """How many rows the snapshots that bear `key` added; None if none does."""
    summaries = [snapshot.summary.additional_properties for snapshot in there.snapshots() if snapshot.summary]
    ours = [summary for summary in summaries if key and summary.get(KEY) == key]
    return sum(int(summary.get("added-records", 0)) for summary in ours) if ours else None


@contextmanager
def catalog(place: Located) -> Iterator[SqlCatalog]:
    from pyiceberg.catalog.sql import SqlCatalog

    place.path.mkdir(exist_ok=True)
    opened = SqlCatalog("default", uri=f"sqlite:///{place.path}/catalog.db", warehouse=f"file://{place.path}")
    try:
        yield opened
    finally:
        opened.engine.dispose()


def named_files(place: Located) -> set[str]:
    """The files of every snapshot of every table."""
    named: set[str] = set()
    with catalog(place) as warehouse:
        tables = [name for space in warehouse.list_namespaces() for name in warehouse.list_tables(space)]
        for there in map(warehouse.load_table, tables):
            urls: list[Any] = [there.metadata_location]
            urls += [entry.metadata_file for entry in there.metadata.metadata_log]
            urls += [snapshot.manifest_list for snapshot in there.snapshots()]
            urls += there.inspect.all_manifests().column("path").to_pylist()
            urls += there.inspect.all_files().column("file_path").to_pylist()
            named |= {os.path.realpath(str(url).removeprefix("file://")) for url in urls}
    return named


async def can_save(config: IcebergSave, context: Context) -> CanSave:
    return await can_save_file(config, context)


SAVE = SaveType("iceberg", "A table of an Iceberg warehouse", IcebergSave, ("append", "overwrite"), save, can_save)
