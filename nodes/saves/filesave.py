"""What the saves into one file share: where it is, what was there, what was saved already, and the replacing of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from pydantic import Field

from ...graphs.errors import Code, JackfieldError
from ..base import Context
from ..blocking import in_thread
from ..files.confine import Located, locate
from ..files.opened import Opened, open_all
from ..table import Table
from .atomic import Replacement, locked, replacing
from .base import CanSave, SaveConfiguration, Saved
from .journal import Journal

if TYPE_CHECKING:
    import pyarrow as pa


class FileSave(SaveConfiguration):
    path: str = Field(description="File, relative to the connector file; folders are made as needed")


LIBRARIES: Final = {"_duckdb", "duckdb", "pyarrow", "deltalake", "pyiceberg", "sqlalchemy"}
F = TypeVar("F", bound=FileSave)


class Batches:
    """The batches of a table, counted, until someone stops them. Read once.

    A library that reads them says of a failure only that reading failed; `failure` is what really happened.
    """

    def __init__(self, table: Table) -> None:
        self.schema = table.schema
        self.count = 0
        self.stopped = False
        self.failure: Exception | None = None
        self.interrupts: list[Callable[[], None]] = []  # what ends a statement that reads no batch any more
        self._table = table

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.changed(lambda batch: batch)

    def changed(self, change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._table.reader():
                self.check()
                self.count += batch.num_rows
                yield change(batch)
        except Exception as error:
            self.failure = error
            raise

    def reader(
        self, schema: pa.Schema | None = None, change: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda batch: batch
    ) -> pa.RecordBatchReader:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(schema or self.schema, self.changed(change))

    def stop(self) -> None:
        self.stopped = True
        self._table.cancel()
        for interrupt in list(self.interrupts):
            with suppress(Exception):  # of a connection that was closed this moment
                interrupt()

    def close(self) -> None:
        self._table.close()

    def check(self) -> None:
        """Raises CANCELLED when the save was stopped."""
        if self.stopped:
            raise JackfieldError(Code.CANCELLED, "The save was cancelled; its target is as it was.")


@dataclass(frozen=True, slots=True)
class Job(Generic[F]):
    """One save into a file: `old` is what is there (None: nothing, or nothing that is kept), `rows` what comes."""

    config: F
    place: Located
    folder: int
    old: Opened | None
    rows: Batches
    to: Replacement


async def save_file(config: F, table: Table, context: Context, write: Callable[[Job[F]], None]) -> Saved:
    """Let `write` make the new file, then put it in its place. Repeats of an idempotency key write nothing."""
    check_columns(config, table)
    batches = Batches(table)

    def run() -> Saved:
        place = locate(context.secrets.expand(config.path), context.folder)
        with locked(place, batches.check) as folder:
            journal = Journal(place, folder)
            repeated = journal.rows_of(context.idempotency_key)
            if repeated is not None:
                return Saved(repeated, config.path, repeated=True)
            old = existing(place, folder) if config.mode != "overwrite" else None
            try:
                with replacing(
                    place, folder, lambda fact: journal.begin(context.idempotency_key, batches.count, fact)
                ) as to:
                    write(Job(config, place, folder, old, batches, to))
            finally:
                if old is not None:
                    old.close()
            journal.finish(context.idempotency_key)
        return Saved(batches.count, config.path)

    return await in_worker(run, batches, config.path)


async def in_worker(run: Callable[[], Saved], rows: Batches, path: str) -> Saved:
    """What `run` gives, in a worker thread that a cancellation ends. The rows are closed. Raises why it failed."""
    try:
        return await in_thread(run, cancel=rows.stop)
    except Exception as error:
        raise cause(error, rows, path) from None
    finally:
        rows.close()


def cause(error: Exception, batches: Batches, path: str) -> Exception:
    """Why a save failed: its rows did, the system or a library refused, or `error` itself."""
    if batches.failure is not None:
        return batches.failure
    if isinstance(error, OSError):
        return unwritable(path, os.strerror(error.errno) if error.errno else str(error))
    library = type(error).__module__.partition(".")[0]
    return unwritable(path, str(error).split("\n")[0]) if library in LIBRARIES else error


def existing(place: Located, folder: int) -> Opened | None:
    try:
        os.stat(place.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    opened = open_all((place,))
    if opened.size == 0:
        opened.close()
        return None
    return opened


def check_columns(config: SaveConfiguration, table: Table) -> None:
    """Raises CONFIG_INVALID for an upsert without key, SCHEMA_NOT_FOUND when the rows have no such column."""
    if config.mode != "upsert":
        return
    if not config.key:
        raise JackfieldError(Code.CONFIG_INVALID, "An upsert needs 'key': the columns that identify a row.")
    for column in config.key:
        if column not in table.schema.names:
            raise JackfieldError(
                Code.SCHEMA_NOT_FOUND,
                f"The key column '{column}' is not among the rows' columns.",
                "Return it from the SQL, or change 'key'.",
                {"column": column, "available": table.schema.names},
            )


def unwritable(path: str, why: str) -> JackfieldError:
    """What was said while writing: nothing was changed."""
    return JackfieldError(
        Code.SOURCE_ERROR,
        f"'{path}' cannot be written: {why}. It is as it was.",
        "Free some space, or check the permissions of the folder.",
        {"path": path},
    )


async def can_save_file(config: FileSave, context: Context) -> CanSave:
    """Whether the folder, or the nearest that exists above it, may be written."""

    def check() -> CanSave:
        try:
            place = locate(context.secrets.expand(config.path), context.folder)
        except JackfieldError as error:
            return CanSave(False, error.message)
        if config.mode == "upsert" and not config.key:
            return CanSave(False, "An upsert needs 'key': the columns that identify a row.")
        above = next(folder for folder in place.path.parents if folder.exists())
        if not above.is_dir():
            return CanSave(False, f"'{above.name}' is not a folder.")
        if not os.access(above, os.W_OK | os.X_OK):
            return CanSave(False, f"The folder '{above.name}' may not be written.")
        return CanSave(True)

    return await in_thread(check)
