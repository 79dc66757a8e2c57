"""Short answers from Postgres, read on the event loop by asyncpg: a look-up so costs a tenth of one in a thread.

It is a way past the ordinary one, never instead of it. A query is first read by ADBC (`postgres.py`), which tells what
its columns become; only then is the same SQL sent here, while its answers are short and of plain types. Whatever is
not so, an error too, is left to the ordinary way, which reads again and says what is wrong.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from ...graphs.errors import JackfieldError
from ..base import Context
from ..table import Columns, Table, arrow_of
from .columns import Column
from .dsn import Dsn
from .session import DESCRIBED_FOR_S, GRACE_S, Rows

if TYPE_CHECKING:
    import pyarrow as pa

SHORT: Final = 2_000  # rows: so many are decoded in little more than a millisecond
REMEMBERED: Final = 256
PREPARED: Final = 64
CONNECT_S: Final = 10.0
CLOSE_S: Final = 1.0
UNLOCK: Final = "SELECT pg_advisory_unlock_all()"  # a rollback undoes settings, and leaves these locks
# Their certificates are looked for elsewhere by asyncpg than by libpq.
TLS: Final = ("disable", "prefer", "require")

Values = Callable[[Sequence[Any]], Sequence[Any]]


class NotShortError(Exception):
    """The answer, or a value in it, is for the ordinary way."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a query was found to be. `sql` is what is sent for it; without the empty table it is not for us.

    Guarded: functions may be called, so it runs in a read-only transaction that is rolled back.
    """

    until: float
    sql: str = ""
    empty: pa.Table | None = None
    values: tuple[Values, ...] = ()
    guarded: bool = True


class ShortAnswers:
    """What is known of one database's queries, by their SQL."""

    def __init__(self, dsn: Dsn, timeout_s: float | None) -> None:
        self._dsn = dsn
        self._timeout_s = timeout_s
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._columns: dict[str, tuple[float, tuple[Column, ...]]] = {}
        self._key = f"short:{dsn.digest(timeout_s)}"

    def describe(self, relation: str, columns: tuple[Column, ...]) -> None:
        """Keep what the ordinary way found a relation to be. Any thread may tell."""
        if len(self._columns) >= REMEMBERED:
            self._columns.clear()
        self._columns[relation] = (time.monotonic() + DESCRIBED_FOR_S, columns)

    def columns(self, relation: str) -> tuple[Column, ...] | None:
        until, columns = self._columns.get(relation, (0.0, None))
        return columns if until > time.monotonic() else None

    def learn(self, key: str, sql: str, found: Rows, count: int, *, guarded: bool) -> None:
        """Keep what the ordinary way found: `sql` was sent for the query `key`, and `count` rows came."""
        values = tuple(_values(field.type) for field in found.schema)
        fits = bool(values) and None not in values and count <= SHORT and not found.open and self._dsn.tls in TLS
        until = time.monotonic() + DESCRIBED_FOR_S
        plain = tuple(each for each in values if each is not None)
        self._known[key] = Known(until, sql, found.schema.empty_table(), plain, guarded) if fits else Known(until)
        self._known.move_to_end(key)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def knows(self, key: str) -> bool:
        known = self._known.get(key)
        return known is not None and known.empty is not None and known.until > time.monotonic()

    async def read(self, key: str, values: Sequence[Any], context: Context, *, arrow: bool = False) -> Table | None:
        """The rows of the query `key`, as Arrow if that is asked for; None: read them the ordinary way.

        The caller sets the time limit. Raises BUDGET_EXCEEDED, and OVERLOADED when no connection becomes free.
        """
        known = self._known.get(key)
        if known is None or known.empty is None or known.until < time.monotonic():
            return None
        try:
            columns, is_new = await self._fetched(known, values, context)
            table = Table.of_columns(columns, known.empty)
            if arrow or is_new:  # the types of a prepared statement stay what they are: once is enough to see that
                table = Table.whole(arrow_of(columns, known.empty.schema))
        except JackfieldError:
            raise
        except Exception:  # whatever it is: the ordinary way meets it too, and says what is wrong
            self._known[key] = Known(known.until)
            return None
        rows, size = len(columns[0]), sum(map(_size, columns))
        context.budget.spend_rows(rows)
        context.budget.spend_bytes(size)
        context.note("pulled", rows=rows, bytes=size)
        return table

    async def _fetched(self, known: Known, values: Sequence[Any], context: Context) -> tuple[Columns, bool]:
        async with context.pools.lease(self._key, self._open, _close) as lease:
            try:
                rows, is_new = await lease.value.read(known.sql, values, known.guarded)
            except BaseException:
                lease.discard()
                raise
        found = zip(*rows, strict=True) if rows else ((),) * len(known.values)
        return [read(column) for read, column in zip(known.values, found, strict=True)], is_new

    async def _open(self) -> Connection:
        import asyncpg  # type: ignore[import-untyped]

        settings = {"application_name": "jackfield", "default_transaction_read_only": "on"}
        settings["standard_conforming_strings"] = "on"
        if self._timeout_s is not None:
            settings["statement_timeout"] = str(int((self._timeout_s + GRACE_S) * 1000))
        dsn = self._dsn
        # Whatever our own account has set for Postgres is not the connector's: nothing is left for it to fill in.
        connection = await asyncpg.connect(
            host=dsn.host,
            port=dsn.port,
            user=dsn.user or None,
            password=dsn.password,
            passfile="/dev/null/none",
            database=dsn.database or dsn.user,
            ssl=dsn.tls,
            timeout=CONNECT_S,
            statement_cache_size=0,
            server_settings=settings,
        )
        return Connection(connection)


class Connection:
    """One connection with the statements that it has prepared."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._prepared: dict[str, Any] = {}
        self._count = 0

    async def read(self, sql: str, values: Sequence[Any], guarded: bool) -> tuple[list[Any], bool]:
        """At most SHORT rows, and whether the statement was prepared for them. Raises NotShortError for more rows."""
        if not guarded:
            return await self._fetched(sql, values)
        await self._connection.execute("BEGIN READ ONLY")
        try:
            return await self._fetched(sql, values)
        finally:
            await self._connection.execute(f"ROLLBACK; {UNLOCK}")

    async def _fetched(self, sql: str, values: Sequence[Any]) -> tuple[list[Any], bool]:
        statement = self._prepared.get(sql)
        is_new = statement is None
        if statement is None:
            if len(self._prepared) >= PREPARED:
                self._prepared.clear()
            # By a name: an unnamed statement is parsed anew each time, though its columns are not described anew.
            self._count += 1
            statement = await self._connection.prepare(sql, name=f"jackfield_{self._count}")
            self._prepared[sql] = statement
        # Outside of a transaction asyncpg offers all rows or one. Its own protocol takes a limit, in one round trip.
        rows, _, is_complete = await self._connection._protocol.bind_execute(
            statement._state, tuple(values), "", SHORT + 1, True, None
        )
        if not is_complete:
            raise NotShortError
        return rows, is_new

    async def close(self) -> None:
        """Not by `terminate`, which would forget to cancel, at the server, a query that was cut off."""
        await self._connection.close(timeout=CLOSE_S)


async def _close(connection: Connection) -> None:
    with suppress(Exception):
        await connection.close()


def _values(kind: pa.DataType) -> Values | None:
    """How values that asyncpg gives become those of an Arrow type; None: not by us."""
    import pyarrow as pa

    for test, values in _BY_TYPE.items():
        if getattr(pa.types, test)(kind):
            return values
    return None


def _size(column: Sequence[Any]) -> int:
    """About what the values take in Arrow."""
    return 8 * len(column) + sum(len(value) for value in column if type(value) is str)


def _plain(column: Sequence[Any]) -> Sequence[Any]:
    return column


def _texts(column: Sequence[Any]) -> Sequence[Any]:
    if all(value is None or type(value) is str for value in column):
        return column
    if all(value is None or isinstance(value, (str, UUID)) for value in column):
        return [None if value is None else str(value) for value in column]
    raise NotShortError


def _decimals(column: Sequence[Any]) -> Sequence[Any]:
    numbers = [None if value is None else Decimal(value) for value in column]
    return [None if number is None or not number.is_finite() else number for number in numbers]


def _times(column: Sequence[Any]) -> Sequence[Any]:
    """asyncpg gives the ends of the calendar for Postgres' infinity, which is null here."""
    if any(value is not None and value.year in (1, 9999) for value in column):
        raise NotShortError
    return column


_BY_TYPE: Final[Mapping[str, Values]] = {
    "is_boolean": _plain,
    "is_integer": _plain,
    "is_floating": _plain,
    "is_string": _texts,
    "is_decimal": _decimals,
    "is_date": _times,
    "is_timestamp": _times,
}
