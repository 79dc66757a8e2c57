"""The `jsonl` save: one JSON object a line, rewritten whole in every mode."""

from __future__ import annotations

import os
import shutil

from ..base import Context
from ..table import Table
from .base import CanSave, Saved, SaveType
from .filesave import FileSave, Job, can_save_file, save_file
from .jsonrows import Lines, records, upsert


class JsonLinesSave(FileSave):
    """A file of one JSON object a line. Appended rows need not have the columns of those before."""


def write(job: Job[JsonLinesSave]) -> None:
    lines = Lines(job.to.file, b"\n")
    if job.old is not None and job.config.mode == "upsert":
        upsert(job, job.old, "newline_delimited", lines)
    else:
        if job.old is not None:
            with open(job.old.descriptors[0], "rb", closefd=False) as before:
                shutil.copyfileobj(before, job.to.file, 1 << 20)
            job.to.file.seek(-1, os.SEEK_END)
            lines.first = job.to.file.read(1) == b"\n"
        for batch in job.rows:
            lines.write(records(batch))
    if job.to.file.tell():
        job.to.file.write(b"\n")


async def save(config: JsonLinesSave, table: Table, context: Context) -> Saved:
    return await save_file(config, table, context, write)


async def can_save(config: JsonLinesSave, context: Context) -> CanSave:
    return await can_save_file(config, context)


SAVE = SaveType("jsonl", "A file of JSON lines", JsonLinesSave, ("append", "overwrite", "upsert"), save, can_save)
