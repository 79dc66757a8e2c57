"""The rows of an upsert: those that are there under other keys, then those that were staged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..files.names import quoted

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


def merged(
    connection: duckdb.DuckDBPyConnection, source: str, schema: pa.Schema, key: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Batches of `schema`: the rows of `source` with other keys than the table `fresh`, then `fresh`."""
    same = " AND ".join(f"o.{quoted(column)} = f.{quoted(column)}" for column in key)
    kept = f"SELECT * FROM {source} o WHERE NOT EXISTS (SELECT 1 FROM fresh f WHERE {same})"
    for query in (kept, "SELECT * FROM fresh"):
        for batch in connection.sql(query).to_arrow_reader(50_000):
            yield batch.select(schema.names).cast(schema)
