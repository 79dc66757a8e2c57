"""What the saves into a database in a file share: a new database appears whole, an old one changes in a transaction."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import Field

from ...graphs.errors import Code, JackfieldError
from ..base import Context
from ..files.confine import Located, locate
from ..table import Table
from .atomic import locked, temporary
from .base import Saved
from .filesave import Batches, FileSave, check_columns, in_worker

SAVES_TABLE = "_jackfield_saves"


class DatabaseFileSave(FileSave):
    table: str = Field(min_length=1, description="The table; made if it is not there")


D = TypeVar("D", bound=DatabaseFileSave)


@dataclass(frozen=True, slots=True)
class DatabaseJob(Generic[D]):
    """One save into the database at `path`, which may be new. `spill` is a folder for temporary data, not made yet."""

    config: D
    path: str
    rows: Batches
    idempotency_key: str
    spill: str


class Connection(Protocol):
    """What the drivers of both have in common."""

    def execute(self, sql: Any, parameters: Any = ..., /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Records:
    """The table of the idempotency keys that were saved, in one database's words: `columns` declares it."""

    columns: str
    now: str

    def rows_of(self, connection: Connection, key: str) -> int | None:
        """How many rows were saved under `key`; None when none were, or there is no key."""
        if not key:
            return None
        connection.execute(f"CREATE TABLE IF NOT EXISTS {SAVES_TABLE} ({self.columns})")
        found = connection.execute(f"SELECT rows FROM {SAVES_TABLE} WHERE key = ?", [key]).fetchone()
        return int(found[0]) if found else None

    def add(self, connection: Connection, job: DatabaseJob[Any]) -> None:
        if job.idempotency_key:
            values = [job.idempotency_key, job.config.table, job.rows.count]
            connection.execute(f"INSERT INTO {SAVES_TABLE} VALUES (?, ?, ?, {self.now})", values)


async def save_database(
    config: D, table: Table, context: Context, write: Callable[[DatabaseJob[D]], int | None]
) -> Saved:
    """`write` saves in one transaction; it gives the number of rows if the idempotency key had been saved before."""
    check_columns(config, table)
    if config.table == SAVES_TABLE:
        raise JackfieldError(Code.CONFIG_INVALID, f"'{SAVES_TABLE}' is where saves keep their own records.")
    batches = Batches(table)
    target = f"{config.path}:{config.table}"

    def run() -> Saved:
        place = locate(context.secrets.expand(config.path), context.folder)
        with locked(place, batches.check) as folder:
            spill = str(place.path.parent / temporary("spill"))
            if place.path.exists():
                repeated = write(DatabaseJob(config, str(place.path), batches, context.idempotency_key, spill))
            else:
                repeated = None
                new = temporary(place.name)
                try:
                    path = str(place.path.parent / new)
                    write(DatabaseJob(config, path, batches, context.idempotency_key, spill))
                    publish(folder, new, place)
                finally:
                    for name in (new, f"{new}.wal", f"{new}-journal"):
                        with suppress(FileNotFoundError):
                            os.unlink(name, dir_fd=folder)
        return Saved(batches.count, target) if repeated is None else Saved(repeated, target, repeated=True)

    return await in_worker(run, batches, config.path)


def publish(folder: int, new: str, place: Located) -> None:
    file = os.open(new, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.fsync(file)
    finally:
        os.close(file)
    os.replace(new, place.name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)
