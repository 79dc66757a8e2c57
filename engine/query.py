"""One query on one cursor: its tables registered, its rows read whole or as a stream, its end heard by its sources."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ..graphs.errors import Code, JackfieldError
from ..nodes.base import Budget
from ..nodes.table import Table
from .cursors import NO_COLUMNS, Cursors, Lent
from .query_errors import is_fatal, translated
from .query_types import AS_TEXT, distinct, fitting, narrowed, readable, strict, wide_places
from .submitting import submitted

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BATCH_ROWS: Final = 65_536
SHUT_S: Final = 0.5
SMALL_BYTES: Final = 1 << 20
REMEMBERED: Final = 64


class Query:
    """`whole` or `stream` is called in a thread, once, and `release` after it; `cancel` anywhere, at any time."""

    def __init__(
        self,
        cursors: Cursors,
        sql: str,
        values: Mapping[str, Any],
        tables: Mapping[str, Table],
        once: Collection[str],
        now: bool,
        budget: Budget | None,
    ) -> None:
        self._cursors = cursors
        self._sql = sql
        self._values = values
        self._tables = tables
        self._rows = {name: table.arrow() for name, table in tables.items() if not table.is_stream}
        self._once = once
        self._now = now
        self._budget = budget
        self._lent: Lent | None = None
        self._streams: list[Table] = []  # those that are read as streams
        self._failures: list[BaseException] = []  # what ended them
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._cancelled = False
        self.is_streaming = False

    def whole(self) -> Table:
        """All rows."""
        try:
            lent = self._begun()
            found = self._at_once(lent) if self._sql in lent.small else None
            rows, wide = found or self._read(lent)
            rows = self._named(fitting(rows, wide) if wide else rows)
        except Exception as error:
            raise self._explained(error) from None
        # Before the answer: the next query of a caller in a hurry finds the cursor kept.
        self._end(keep=len(self._rows) == len(self._tables))
        return Table.whole(rows)

    def stream(self) -> Table:
        """The rows as they are read; the query ends when the Table is closed."""
        import pyarrow as pa

        try:
            relation, wide = readable(self._related(self._begun()))
            reader = relation.to_arrow_reader(BATCH_ROWS)
            schema = narrowed(reader.schema, wide)
            renamed = distinct(schema.names)
            if renamed != schema.names:
                schema = pa.schema([field.with_name(name) for field, name in zip(schema, renamed, strict=True)])
        except Exception as error:
            raise self._explained(error) from None
        narrow = strict(schema, wide)

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                for batch in self._counted(reader):
                    yield narrow(batch) if schema is not reader.schema else batch
            except Exception as error:
                raise self._explained(error) from None

        self.is_streaming = True
        return Table.stream(pa.RecordBatchReader.from_batches(schema, batches()), close=self.close, cancel=self.cancel)

    def cancel(self) -> None:
        """End the query, without waiting for it: its sources first, for DuckDB waits for them, then itself."""
        with self._lock:
            if self._cancelled:
                return
            self._cancelled = True
        threading.Thread(target=self._interrupt, name="jackfield-cancel", daemon=True).start()

    def release(self) -> None:
        """End a query that failed, or whose stream nobody waits for any more; another stream goes on."""
        if not self.is_streaming or self._cancelled:
            self._end(keep=False)

    def close(self) -> None:
        """End a stream."""
        self._end(keep=False)

    def _end(self, *, keep: bool) -> None:
        """Give up the cursor with all that was registered on it, and the streams that it read."""
        with self._lock:
            self._over.set()
            lent, self._lent = self._lent, None
            keep = keep and not self._cancelled  # an interrupt may still be on its way
        if lent is None:
            return
        if keep:
            self._cursors.take_back(lent)
            return
        try:
            _shut(lent.cursor)
        finally:
            for table in self._streams:
                table.close()

    def _begun(self) -> Lent:
        """A cursor with the tables registered, on which reading has begun."""
        lent = self._cursors.lend(self._rows)
        with self._lock:
            self._lent = lent
        cursor = lent.cursor
        for name, table in self._tables.items():
            if name in self._rows:
                continue
            if name in self._once:
                cursor.register(name, self._watched(table))
            else:
                self._copied(cursor, name, table)
        lent.begin(now=self._now)
        if self._cancelled:
            raise JackfieldError(Code.CANCELLED, "The query was cancelled before it began.")
        return lent

    def _related(self, lent: Lent) -> duckdb.DuckDBPyRelation:
        return lent.cursor.sql(self._sql, params=self._values or None)

    def _read(self, lent: Lent) -> tuple[pa.Table, tuple[int, ...]]:
        """All rows and the places of wide integers, by a relation, which gives large results without a copy."""
        import pyarrow as pa

        related = self._related(lent)
        relation, wide = readable(related)
        if self._budget is None:
            rows = relation.to_arrow_table()
        else:
            reader = relation.to_arrow_reader(BATCH_ROWS)
            rows = pa.Table.from_batches(self._counted(reader), reader.schema)
        if relation is related and rows.nbytes <= SMALL_BYTES:
            if len(lent.small) >= REMEMBERED:
                lent.small.clear()
            lent.small.add(self._sql)
        return rows, wide

    def _at_once(self, lent: Lent) -> tuple[pa.Table, tuple[int, ...]] | None:
        """As `_read`, for a result that was small before: in half the time, for a relation binds its query twice.

        None when a column is of a type that Arrow has no word for.
        """
        found = submitted(lent.cursor, self._sql, self._values)
        kinds = [column[1].id for column in found.description or ()]
        if not AS_TEXT.isdisjoint(kinds):
            found.close()
            lent.small.discard(self._sql)
            return None
        rows: pa.Table = found.arrow_table()
        size = rows.get_total_buffer_size()
        if size > SMALL_BYTES:
            lent.small.discard(self._sql)
        if self._budget is not None:
            self._budget.spend_rows(rows.num_rows)
            self._budget.spend_bytes(size)
        return rows, wide_places(kinds)

    def _copied(self, cursor: duckdb.DuckDBPyConnection, name: str, table: Table) -> None:
        """A stream that the query reads more than once becomes a TEMP table: it may spill, and ends with the cursor."""
        quoted = '"' + name.replace('"', '""') + '"'
        cursor.register("jackfield_stream", self._watched(table))
        cursor.execute(f"CREATE TEMP TABLE {quoted} AS FROM jackfield_stream")
        cursor.unregister("jackfield_stream")

    def _watched(self, table: Table) -> pa.RecordBatchReader:
        """The stream's batches; its error is kept, for DuckDB would only pass on its words."""
        import pyarrow as pa

        reader = table.reader()
        self._streams.append(table)

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from reader
            except BaseException as error:
                self._failures.append(error)
                raise

        return pa.RecordBatchReader.from_batches(reader.schema, batches())

    def _counted(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        for batch in reader:
            if self._budget is not None:
                self._budget.spend_rows(batch.num_rows)
                self._budget.spend_bytes(batch.nbytes)
            yield batch

    def _interrupt(self) -> None:
        import duckdb

        for table in self._tables.values():
            table.cancel()
        # Again and again: an interrupt that comes before the query begins is not heard.
        while not self._over.is_set():
            with self._lock:
                lent = self._lent
            if lent is not None:
                with suppress(duckdb.Error):  # it was closed meanwhile
                    lent.cursor.interrupt()
            self._over.wait(0.02)

    def _named(self, rows: pa.Table) -> pa.Table:
        """`SELECT a, a` gives two columns of one name, of which a row as an object could show only one."""
        names = rows.column_names
        if NO_COLUMNS in names and any(not table.num_columns for table in self._rows.values()):
            rows = rows.drop_columns([NO_COLUMNS])
        return rows if len(set(names)) == len(names) else rows.rename_columns(distinct(names))

    def _explained(self, error: BaseException) -> BaseException:
        if self._failures:
            return self._failures[0]
        if isinstance(error, JackfieldError):
            return error
        lent = self._lent
        if lent is not None and is_fatal(error):
            self._cursors.give_up(lent)
        columns = {name: table.schema.names for name, table in self._tables.items()}
        empty = [name for name, table in self._tables.items() if table.num_rows == 0]
        return translated(error, self._sql, columns, empty)


def _shut(cursor: duckdb.DuckDBPyConnection) -> None:
    """Close a cursor, which refuses while somebody reads from it: an interrupt makes the reader let go."""
    import duckdb

    patience = time.monotonic() + SHUT_S
    while True:
        try:
            cursor.close()
            return
        except duckdb.Error:
            if time.monotonic() > patience:
                return  # the reader does not hear: the cursor goes with what it holds
        with suppress(duckdb.Error):
            cursor.interrupt()
        time.sleep(0.005)
