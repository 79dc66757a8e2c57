"""One query on one cursor: its tables registered, its rows read whole or as a stream, its end heard by its sources."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ..graphs.errors import Code, JackfieldError
from ..nodes.base import Budget
from ..nodes.table import Table
from .query_errors import translated
from .query_types import fitting, narrowed, readable, strict

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BATCH_ROWS: Final = 65_536
NO_COLUMNS: Final = "no_columns"  # stands in for the columns of a table that has none, which DuckDB refuses


class Query:
    """`whole` and `stream` are called in a thread, once; `cancel` in any thread, at any time."""

    def __init__(
        self,
        cursor: Callable[[], duckdb.DuckDBPyConnection],
        sql: str,
        values: Mapping[str, Any],
        tables: Mapping[str, Table],
        once: Collection[str],
        budget: Budget | None,
    ) -> None:
        self._new_cursor = cursor
        self._sql = sql
        self._values = values
        self._tables = tables
        self._once = once
        self._budget = budget
        self._cursor: duckdb.DuckDBPyConnection | None = None
        self._streams: list[Table] = []  # those that are read as streams
        self._failures: list[BaseException] = []  # what ended them
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._cancelled = False
        self.is_streaming = False

    def whole(self) -> Table:
        """All rows; the cursor is closed."""
        import pyarrow as pa

        try:
            relation, wide = readable(self._run())
            if self._budget is None:
                rows = relation.to_arrow_table()
            else:
                reader = relation.to_arrow_reader(BATCH_ROWS)
                rows = pa.Table.from_batches(self._counted(reader), reader.schema)
            if wide:
                rows = fitting(rows, wide)
            return Table.whole(rows)
        except Exception as error:
            raise self._explained(error) from None
        finally:
            self.close()

    def stream(self) -> Table:
        """The rows as they are read; the cursor is closed with the Table."""
        import pyarrow as pa

        try:
            relation, wide = readable(self._run())
            reader = relation.to_arrow_reader(BATCH_ROWS)
            schema = narrowed(reader.schema, wide)
        except Exception as error:
            failure = self._explained(error)
            self.close()
            raise failure from None
        narrow = strict(schema, wide)

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                for batch in self._counted(reader):
                    yield narrow(batch) if wide else batch
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

    def close(self) -> None:
        """The cursor with all that was registered on it, and the streams that it read."""
        with self._lock:
            self._over.set()
            cursor, self._cursor = self._cursor, None
        if cursor is not None:
            cursor.close()
            for table in self._streams:
                table.close()

    def _run(self) -> duckdb.DuckDBPyRelation:
        cursor = self._new_cursor()
        with self._lock:
            self._cursor = cursor
        for name, table in self._tables.items():
            if not table.is_stream:
                cursor.register(name, _with_columns(table.arrow()))
            elif name in self._once:
                cursor.register(name, self._watched(table))
            else:
                self._copied(cursor, name, table)
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        if self._cancelled:
            raise JackfieldError(Code.CANCELLED, "The query was cancelled before it began.")
        return cursor.sql(self._sql, params=self._values or None)

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
                cursor = self._cursor
            if cursor is not None:
                with suppress(duckdb.Error):  # it was closed meanwhile
                    cursor.interrupt()
            self._over.wait(0.02)

    def _explained(self, error: BaseException) -> BaseException:
        if self._failures:
            return self._failures[0]
        if isinstance(error, JackfieldError):
            return error
        columns = {name: table.schema.names for name, table in self._tables.items()}
        empty = [name for name, table in self._tables.items() if table.num_rows == 0]
        return translated(error, self._sql, columns, empty)


def _with_columns(rows: pa.Table) -> pa.Table:
    """DuckDB refuses a table without columns, which an empty source whose schema nobody declared may give."""
    import pyarrow as pa

    return rows if rows.num_columns else pa.table({NO_COLUMNS: pa.nulls(rows.num_rows)})
