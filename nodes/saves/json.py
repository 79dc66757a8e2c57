"""The `json` save: a file that is one JSON array of objects, rewritten whole in every mode."""

from __future__ import annotations

import os
from typing import BinaryIO

from ...graphs.errors import Code, JackfieldError
from ..base import Context
from ..table import Table
from .base import CanSave, Saved, SaveType
from .filesave import FileSave, Job, can_save_file, save_file
from .jsonrows import Lines, records, upsert


class JsonSave(FileSave):
    """A file that holds a JSON array, one object a line."""


def write(job: Job[JsonSave]) -> None:
    lines = Lines(job.to.file, b",\n")
    if job.old is not None and job.config.mode == "append":
        with open(job.old.descriptors[0], "rb", closefd=False) as before:
            lines.first = copy_open_array(before, job.to.file, job.config.path)
    else:
        job.to.file.write(b"[\n")
    if job.old is not None and job.config.mode == "upsert":
        upsert(job, job.old, "array", lines)
    else:
        for batch in job.rows:
            lines.write(records(batch))
    job.to.file.write(b"\n]\n")


def copy_open_array(before: BinaryIO, file: BinaryIO, path: str) -> bool:
    """Copy an array without its closing bracket; whether it was empty. Raises SCHEMA_CHANGED if it is none."""
    first = b""
    last = position = 0
    while chunk := before.read(1 << 20):
        first = first or chunk.lstrip()[:1]
        found = chunk.rfind(b"]")
        last = position + found if found >= 0 else last
        position += len(chunk)
    before.seek(last)
    if first != b"[" or before.read().strip() != b"]":
        raise JackfieldError(
            Code.SCHEMA_CHANGED,
            f"'{path}' does not hold one JSON array; rows can be appended to nothing else.",
            "Save with mode 'overwrite', or as jsonl.",
            {"path": path},
        )
    before.seek(0)
    copied = 0
    while copied < last:
        chunk = before.read(min(1 << 20, last - copied))
        copied += len(chunk)
        file.write(chunk)
    return trimmed(file) == b"["


def trimmed(file: BinaryIO) -> bytes:
    """Cut white space off the end of `file`; the byte that it then ends with."""
    end = file.seek(0, os.SEEK_END)
    while end:
        file.seek(end - 1)
        byte = file.read(1)
        if byte not in b" \t\r\n":
            file.seek(end)
            file.truncate()
            return byte
        end -= 1
    return b""


async def save(config: JsonSave, table: Table, context: Context) -> Saved:
    return await save_file(config, table, context, write)


async def can_save(config: JsonSave, context: Context) -> CanSave:
    return await can_save_file(config, context)


SAVE = SaveType("json", "A JSON file", JsonSave, ("append", "overwrite", "upsert"), save, can_save)
