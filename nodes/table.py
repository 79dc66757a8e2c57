"""Table: the Value that holds rows as Arrow, whole or as a stream that is read once.

pyarrow is imported where it is needed: linting a connector must not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pyarrow as pa


Columns = Sequence[Sequence[Any]]


def arrow_of(columns: Columns, schema: pa.Schema) -> pa.Table:
    """Raises ArrowException, OverflowError or ValueError for a value that does not fit."""
    import pyarrow as pa

    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def nothing() -> None:
    """The `close` and `cancel` of a table that holds no resource."""


def _until_closed(
    close: Callable[[], None], cancel: Callable[[], None]
) -> tuple[Callable[[], None], Callable[[], None]]:
    def close_once() -> None:
        nonlocal close, cancel
        closing, close, cancel = close, nothing, nothing  # what they hold may go, though the table stays
        closing()

    def cancel_open() -> None:
        cancel()

    return close_once, cancel_open


class Table:
    """Rows as Arrow.

    A stream is read once, in a worker thread, because its batches may block. Whoever reads it closes it.
    `cancel` may be called from any thread, more than once, and makes a blocked read return soon.
    Closing again, or cancelling what is closed, does nothing: several hold a stream, and each cleans up.
    """

    __slots__ = ("_columns", "_reader", "_whole", "cancel", "close", "schema")

    def __init__(
        self,
        whole: pa.Table | None,
        reader: pa.RecordBatchReader | None = None,
        close: Callable[[], None] = nothing,
        cancel: Callable[[], None] = nothing,
    ) -> None:
        self._whole = whole
        self._reader = reader
        self._columns: Columns | None = None
        self.close, self.cancel = (close, cancel) if close is nothing else _until_closed(close, cancel)
        content = whole if whole is not None else reader
        assert content is not None, "a Table is made of rows or of a reader"
        self.schema: pa.Schema = content.schema

    @classmethod
    def whole(cls, rows: pa.Table) -> Self:
        return cls(rows)

    @classmethod
    def stream(
        cls,
        reader: pa.RecordBatchReader,
        *,
        close: Callable[[], None] = nothing,
        cancel: Callable[[], None] = nothing,
    ) -> Self:
        return cls(None, reader, close, cancel)

    @classmethod
    def of_columns(cls, columns: Columns, empty: pa.Table) -> Self:
        """Values by column, as long as each other, that fit the types of `empty`; Arrow is made if somebody asks."""
        table = cls(empty)
        table._whole, table._columns = None, columns
        return table

    @property
    def columns(self) -> Columns | None:
        """The values that it was made of, where they have not become Arrow."""
        return self._columns

    @classmethod
    def from_rows(cls, rows: list[dict[str, Any]], schema: pa.Schema | None = None) -> Self:
        """Rows as dictionaries; the columns are the union of their keys, in order of first appearance."""
        import pyarrow as pa

        if schema is not None:
            return cls(pa.Table.from_pylist(rows, schema=schema))
        names = list(dict.fromkeys(name for row in rows for name in row))
        return cls(pa.table({name: pa.array([row.get(name) for row in rows]) for name in names}))

    @property
    def is_stream(self) -> bool:
        return self._whole is None and self._columns is None

    @property
    def num_rows(self) -> int | None:
        """How many rows; None for a stream, whose end is not known."""
        if self._columns is not None:
            return len(self._columns[0])
        return None if self._whole is None else self._whole.num_rows

    def arrow(self) -> pa.Table:
        """All rows. A stream is read to its end (blocking) and kept."""
        if self._columns is not None:
            self._whole, self._columns = arrow_of(self._columns, self.schema), None
        if self._whole is None:
            assert self._reader is not None
            try:
                self._whole = self._reader.read_all()
            finally:
                self._reader = None
                self.close()
        return self._whole

    def reader(self) -> pa.RecordBatchReader:
        """Batches to read. Of a stream this is the one reading, and the caller then calls `close`."""
        import pyarrow as pa

        if not self.is_stream:
            return pa.RecordBatchReader.from_batches(self.schema, self.arrow().to_batches())
        assert self._reader is not None, "this stream was read already"
        reader, self._reader = self._reader, None
        return reader

    def to_pylist(self) -> list[dict[str, Any]]:
        return self.arrow().to_pylist()

    def to_pandas(self) -> Any:
        """A pandas DataFrame; needs pandas installed."""
        return self.arrow().to_pandas()

    def __repr__(self) -> str:
        size = "stream" if self.is_stream else f"{self.num_rows} rows"
        return f"Table({size}: {', '.join(self.schema.names)})"
