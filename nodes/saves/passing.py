"""Rows that a save has read, for whoever comes after it: kept in memory while few, else mapped from an unnamed file."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Self

from ..table import Table

if TYPE_CHECKING:
    import pyarrow as pa

IN_MEMORY: Final = 32_000_000


class Passing:
    """`table` is what the save reads; when it was read to its end, `on` gives the same rows again.

    Many rows are a table whose columns lie in a file without a name: it takes memory only where it is read, and the
    file goes when the table does.
    """

    def __init__(self, table: Table) -> None:
        self._source = table
        self._kept: list[pa.RecordBatch] = []
        self._size = 0
        self._file: Any = None
        self._writer: Any = None
        self._open = ExitStack()
        self.table = self._copying(table) if table.is_stream else table

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def _copying(self, table: Table) -> Table:
        import pyarrow as pa

        reader = table.reader()

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in reader:
                self._keep(batch)
                yield batch

        stream = pa.RecordBatchReader.from_batches(table.schema, batches())
        return Table.stream(stream, close=table.close, cancel=table.cancel)

    def _keep(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        self._size += batch.nbytes
        if self._writer is None and self._size <= IN_MEMORY:
            self._kept.append(batch)
            return
        if self._writer is None:
            self._file = self._open.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            self._writer = self._open.enter_context(pa.ipc.new_stream(self._file, batch.schema))
            for earlier in self._kept:
                self._writer.write_batch(earlier)
            self._kept = []
        self._writer.write_batch(batch)

    def on(self) -> Table:
        """The rows that passed: none when the save was a repeated one, which reads nothing."""
        import pyarrow as pa

        if not self._source.is_stream:
            return self._source
        if self._writer is None:
            return Table.whole(pa.Table.from_batches(self._kept, self._source.schema))
        self._writer.close()
        self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return Table.whole(pa.ipc.open_stream(pa.py_buffer(mapped)).read_all())
