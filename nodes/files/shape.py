"""What happens to the rows of any file: counted against the budget, held to the declared schema, given columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..base import Budget
from ..scan import Scan
from ..schema import arrow_schema, obey
from ..table import Table
from .base import FileConfiguration

if TYPE_CHECKING:
    import pyarrow as pa


def mapped(table: Table, schema: pa.Schema, change: Callable[[pa.RecordBatch], list[pa.RecordBatch]]) -> Table:
    """A stream of what `change` makes of each batch."""
    import pyarrow as pa

    inner = table.reader()

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in inner:
            yield from change(batch)

    return Table.stream(pa.RecordBatchReader.from_batches(schema, batches()), close=table.close, cancel=table.cancel)


def counted(table: Table, budget: Budget) -> Table:
    """`table`, of which each batch is spent from the budget as it is read."""

    def spend(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        budget.spend_rows(batch.num_rows)
        budget.spend_bytes(batch.nbytes)
        return [batch]

    if not table.is_stream:
        for batch in table.arrow().to_batches():
            spend(batch)
        return table
    return mapped(table, table.schema, spend)


def obeying(table: Table, config: FileConfiguration, scan: Scan, source: str) -> Table:
    """`table` as its declared schema and contract say. Reading raises SCHEMA_CHANGED, TYPE_MISMATCH."""
    import pyarrow as pa

    if config.declared is None or not table.schema.names:
        return table
    declared = dict(config.declared)
    if scan.columns is not None:
        wanted = {column.lower() for column in scan.columns}
        declared = {column: word for column, word in declared.items() if column.lower() in wanted}

    def fit(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        return obey(pa.Table.from_batches([batch]), declared, config.contract, source).to_batches()

    if not table.is_stream:
        return Table.whole(obey(table.arrow(), declared, config.contract, source))
    schema = obey(table.schema.empty_table(), declared, config.contract, source).schema
    return mapped(table, schema, fit)


def shaped(table: Table, config: FileConfiguration, scan: Scan, *, is_untyped: bool) -> Table:
    """An empty file still has columns: those declared, else those of its header or of the query, typed null."""
    import pyarrow as pa

    if table.num_rows != 0 or (table.schema.names and config.declared is not None):
        return table
    if table.schema.names and is_untyped:
        return Table.whole(pa.table({column: pa.nulls(0) for column in table.schema.names}))
    if table.schema.names:
        return table
    if config.declared is not None:
        return Table.whole(arrow_schema(config.declared).empty_table())
    return Table.whole(pa.table({column: pa.nulls(0) for column in scan.columns or ()}))
