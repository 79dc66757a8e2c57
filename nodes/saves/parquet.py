"""The `parquet` save: one file, rewritten whole in every mode so that a reader sees the old rows or the new.

A folder of files is the data set of `dataset.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, Final

from ...graphs.errors import JackfieldError
from ..base import Context
from ..files import duck
from ..files.confine import locate
from ..table import Table
from .base import CanSave, Saved, SaveType
from .dataset import ParquetSave, check_owned, is_dataset, save_dataset
from .filesave import Job, can_save_file, save_file
from .fit import fitting
from .merging import merged
from .staging import spilling, stage

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS: Final = 122_880
GROUP_BYTES: Final = 64_000_000


def write(job: Job[ParquetSave]) -> None:
    import pyarrow.parquet as pq

    if job.old is None:
        write_batches(job.to.file, job.rows.schema, job.rows)
        return
    with open(job.old.descriptors[0], "rb", closefd=False) as old:
        there = pq.ParquetFile(old)
        schema = there.schema_arrow
        fit = fitting(job.rows.schema, schema, job.config.path)
        if job.config.mode == "append":
            write_batches(job.to.file, schema, chain(there.iter_batches(), job.rows.changed(fit)))
            return
    with spilling(job.folder, job.to.parent, job.rows) as connection:
        stage(connection, job.rows.reader(schema, fit), job.config.key)
        source = f"read_parquet({duck.literal(job.old.paths[0])}, hive_partitioning=false)"
        write_batches(job.to.file, schema, merged(connection, source, schema, job.config.key))


def write_batches(file: BinaryIO, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in grouped(schema, batches):
            writer.write_table(group, GROUP_ROWS)


def grouped(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches gathered into row groups of a good size."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GROUP_ROWS or size >= GROUP_BYTES:
            yield pa.Table.from_batches(waiting, schema)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting, schema)


async def save(config: ParquetSave, table: Table, context: Context) -> Saved:
    if is_dataset(config, locate(context.secrets.expand(config.path), context.folder)):
        return await save_dataset(config, table, context)
    return await save_file(config, table, context, write)


async def can_save(config: ParquetSave, context: Context) -> CanSave:
    try:
        place = locate(context.secrets.expand(config.path), context.folder)
        if is_dataset(config, place):
            check_owned(place, config)
    except JackfieldError as error:
        return CanSave(False, error.message)
    return await can_save_file(config, context)


SAVE = SaveType("parquet", "A Parquet file or data set", ParquetSave, ("append", "overwrite", "upsert"), save, can_save)
