"""One query on a pooled connection, as a Table: cancelled with its caller, retried once when its connection was old."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import anyio

from ...graphs.errors import Code, JackfieldError
from ..base import Context, Lease
from ..blocking import in_thread
from ..table import Table
from .ahead import Ahead
from .arrow import fitted, whole
from .columns import TableChangedError
from .dsn import Dsn
from .pushdown import Query
from .session import ConnectionLostError, Rows, Session
from .short import ShortAnswers

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
WHOLE_BYTES: Final = 1 << 20  # a result whose first batches are no larger is awaited to its end, not streamed
ATTEMPTS: Final = 12  # more than a pool has connections: after a restart of the server each of them is dead


@dataclass(frozen=True, slots=True)
class Database:
    """An address and how its connections are opened. `key` tells connections of one kind from others.

    `short` is a quicker way for short answers, where there is one.
    """

    dsn: Dsn
    key: str
    open: Callable[[], Session]
    short: ShortAnswers | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Rows read so far, and the rest, if any, that is still to come from the session."""

    rows: Rows
    read: tuple[pa.RecordBatch, ...]
    size: int
    rest: Iterator[pa.RecordBatch] | None


Convert = Callable[["pa.Table"], "pa.Table"]


def unchanged(table: pa.Table) -> pa.Table:
    return table


async def pull(
    database: Database,
    begin: Callable[[Session], Rows],
    context: Context,
    *,
    timeout_s: float,
    stream: bool,
    convert: Convert = unchanged,
) -> Table:
    """The rows that `begin` starts to read, called in a worker thread and perhaps again.

    Raises JackfieldError: SOURCE_TIMEOUT after `timeout_s`, BUDGET_EXCEEDED, and what the session raises.
    """

    def work(session: Session) -> Result:
        rows = begin(session)
        counted = _counted(rows.batches, context)
        read: list[pa.RecordBatch] = []
        size = 0
        for batch, weight in counted:
            read.append(batch)
            size += weight
            if stream and not rows.open and size > WHOLE_BYTES:
                return Result(rows, tuple(read), size, (each for each, _ in counted))
        session.finish()
        return Result(rows, tuple(read), size, None)

    async def use(lease: Lease[Session]) -> Table:
        result = await in_thread(lambda: work(lease.value), cancel=lease.value.cancel)
        if result.rest is not None:
            return _stream(lease, result, convert, context)
        read = whole(result.rows.schema, result.read)
        table = convert(fitted(read, result.rows.open))
        context.note("pulled", rows=table.num_rows, bytes=result.size if table is read else table.nbytes)
        return Table.whole(table)

    return await leased(database, context, use, timeout_s=timeout_s)


async def pull_short(
    database: Database, query: Query, context: Context, *, timeout_s: float, arrow: bool = False
) -> Table | None:
    """The rows of `query` by the quicker way for short answers; None: it is not for that, so `pull` them.

    `arrow`: as Arrow, for one who goes on with that.

    Raises JackfieldError: SOURCE_TIMEOUT after `timeout_s`, BUDGET_EXCEEDED.
    """
    short = database.short
    if short is None or not short.knows(query.sql):
        return None
    try:
        async with asyncio.timeout(timeout_s):  # a scope of anyio costs three times as much
            return await short.read(query.sql, query.values, context, arrow=arrow)
    except TimeoutError:
        raise _too_slow(database, timeout_s) from None


async def leased(
    database: Database,
    context: Context,
    use: Callable[[Lease[Session]], Awaitable[T]],
    *,
    timeout_s: float,
    again: bool = True,
) -> T:
    """What `use` gives on a pooled connection. `again`: it may be used once more after a loss or a changed table.

    Any failure discards the connection. Raises what `use` raises, as JackfieldError, and SOURCE_TIMEOUT.
    """
    refreshed = False
    with anyio.move_on_after(timeout_s) as limit:
        for attempt in itertools.count(1):
            async with context.pools.lease(database.key, lambda: in_thread(database.open), _close) as lease:
                session = lease.value
                if refreshed:
                    session.forget()
                was_used = session.used
                try:
                    return await use(lease)
                except BaseException as error:
                    lease.discard()
                    if isinstance(error, ConnectionLostError):
                        if not (again and was_used and attempt < ATTEMPTS):
                            raise error.error from None
                    elif isinstance(error, TableChangedError):
                        if refreshed or not again:
                            raise error.error from None
                        refreshed = True
                    else:
                        raise
    assert limit.cancelled_caught
    raise _too_slow(database, timeout_s)


def _too_slow(database: Database, timeout_s: float) -> JackfieldError:
    return JackfieldError(
        Code.SOURCE_TIMEOUT,
        f"The {database.dsn.place} gave no answer within {timeout_s:g} s, and the query was cancelled.",
        "Ask for less, add an index, or raise `timeout_s`.",
        {"timeout_s": timeout_s},
        transient=False,
    )


async def _close(session: Session) -> None:
    if not getattr(session, "lent", False):
        await in_thread(session.close)


def _counted(batches: Iterator[pa.RecordBatch], context: Context) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Each batch and its bytes, which are tedious to add up."""
    for batch in batches:
        size = batch.nbytes
        context.budget.spend_rows(batch.num_rows)
        context.budget.spend_bytes(size)
        yield batch, size


def _stream(lease: Lease[Session], result: Result, convert: Convert, context: Context) -> Table:
    """The rest of the rows as they come. The connection leaves the pool and is closed with the stream."""
    import pyarrow as pa

    session = lease.value
    session.lent = True
    lease.discard()
    loop = asyncio.get_running_loop()
    schema = convert(result.rows.schema.empty_table()).schema
    told = {"rows": 0, "bytes": 0}
    closed = False
    assert result.rest is not None
    rest = result.rest

    def converted() -> Iterator[pa.RecordBatch]:
        for batch in itertools.chain(result.read, rest):
            yield from convert(pa.Table.from_batches([batch])).cast(schema).to_batches()

    ahead = Ahead(converted())

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for batch in ahead:
                told["rows"] += batch.num_rows
                told["bytes"] += batch.nbytes
                yield batch
        except (ConnectionLostError, TableChangedError) as error:
            raise error.error from None

    def close() -> None:
        nonlocal closed
        if closed:
            return
        closed = True
        ahead.stop(session.cancel, session.close)
        with suppress(RuntimeError):  # the loop has ended, and with it the run whose event this is
            loop.call_soon_threadsafe(lambda: context.note("pulled", streamed=True, **told))

    return Table.stream(pa.RecordBatchReader.from_batches(schema, batches()), close=close, cancel=session.cancel)
