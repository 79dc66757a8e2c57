"""What each database driver is to us: one connection, blocking, used by one thread at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from ...graphs.errors import JackfieldError
from .columns import Column
from .pushdown import Dialect, Query, Relation

if TYPE_CHECKING:
    import pyarrow as pa

DESCRIBED_FOR_S: Final = 30.0  # an added column may stay unseen this long; a removed one is noticed at once
GRACE_S: Final = 1.0  # the database's own limit is this much later than ours: a backstop for when we are gone


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a query as they come. After the last, or instead of it, `Session.finish` is called.

    `open` names the columns of text that become decimals when all rows are known (`arrow.fitted`).
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]
    open: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What a statement did: rows changed, and the rows it returned, if any."""

    affected: int
    returned: pa.Table | None


Tables = tuple[tuple[str, ...], ...]  # each as its schema, if it is written, and its name


class ConnectionLostError(Exception):
    """The connection is gone. `error` is what the caller is told if trying again does not help."""

    def __init__(self, error: JackfieldError) -> None:
        super().__init__(str(error))
        self.error = error


class Session(Protocol):
    """Methods raise JackfieldError, ConnectionLostError or TableChangedError.

    `cancel` may be called by any thread, at any time, and returns at once; the call under way then ends soon, and the
    session is fit for closing only.
    """

    dialect: Dialect
    used: bool  # it has answered before, so that a loss may be nothing but age
    lent: bool  # it belongs to a stream, which closes it

    def columns(self, relation: Relation) -> tuple[Column, ...]:
        """The columns of `relation`, kept for a while. Raises SCHEMA_NOT_FOUND with near names."""

    def read(self, query: Query, *, guarded: bool) -> Rows:
        """Begin to read. Guarded: the SQL is not ours, so it runs in a read-only transaction that is rolled back."""

    def statement(self, query: Query) -> Query:
        """`query`, whose SQL is a user's, such that each column of its result arrives in a form we read."""

    def is_plain(self, tables: Tables) -> bool:
        """Whether each of `tables` holds its rows itself. Behind a view functions may run, which change the session."""

    def finish(self) -> None:
        """End what `read` began; the session is then ready for the next."""

    def write(self, query: Query) -> Written:
        """Run one statement that writes, and commit."""

    def check(self) -> None:
        """Raises ConnectionLostError when the connection is gone; asked before a write, which is not made twice."""

    def forget(self) -> None:
        """Describe tables anew."""

    def cancel(self) -> None: ...

    def close(self) -> None: ...
