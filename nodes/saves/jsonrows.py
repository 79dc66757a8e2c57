"""Rows as JSON text, and the writing of a JSON file of them, one record a line; shared by `json` and `jsonl`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from ..files import duck
from ..files.opened import Opened
from .filesave import Job
from .staging import check_keys, spilling

if TYPE_CHECKING:
    import pyarrow as pa

ENCODER = msgspec.json.Encoder(decimal_format="number")  # exact, and NaN becomes null: JSON has none


@dataclass(slots=True)
class Lines:
    """Writes records with what stands between them."""

    file: BinaryIO
    between: bytes
    first: bool = True

    def write(self, records: Sequence[bytes]) -> None:
        if records:
            self.file.write(b"" if self.first else self.between)
            self.file.write(self.between.join(records))
            self.first = False


def records(batch: pa.RecordBatch) -> list[bytes]:
    return [ENCODER.encode(row) for row in readable(batch).to_pylist()]


def readable(batch: pa.RecordBatch) -> pa.RecordBatch:
    """`batch` with nanoseconds cut to microseconds, the finest that Python has."""
    import pyarrow as pa

    for place, field in enumerate(batch.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            column = batch.column(place).cast(pa.timestamp("us", field.type.tz), safe=False)
            batch = batch.set_column(place, field.name, column)
    return batch


def upsert(job: Job[Any], old: Opened, layout: str, lines: Lines) -> None:
    """Old records of other keys, as the text that they are, then the new ones. A key is compared as its new type."""
    import pyarrow as pa

    key = job.config.key
    places = [job.rows.schema.get_field_index(column) for column in key]
    fields = [pa.field(f"k{n}", job.rows.schema.field(place).type) for n, place in enumerate(places)]
    schema = pa.schema([*fields, pa.field("line", pa.string())])

    def keyed() -> Iterator[pa.RecordBatch]:
        for batch in job.rows:
            texts = pa.array([record.decode() for record in records(batch)], pa.string())
            yield pa.RecordBatch.from_arrays([*(batch.column(place) for place in places), texts], schema=schema)

    with spilling(job.folder, job.to.parent, job.rows) as connection:
        connection.register("incoming", pa.RecordBatchReader.from_batches(schema, keyed()))
        connection.execute("CREATE TEMP TABLE fresh AS SELECT * FROM incoming")
        check_keys(connection, [field.name for field in fields], key)
        types = list(map(str, connection.table("fresh").types))
        texts = [f"json_extract_string(json, {duck.literal(pointer(column))})" for column in key]
        same = " AND ".join(f"TRY_CAST({text} AS {types[n]}) = k{n}" for n, text in enumerate(texts))
        there = f"read_json_objects({duck.literal(old.paths[0])}, format={duck.literal(layout)})"
        kept = f"SELECT json::VARCHAR AS line FROM {there} WHERE NOT EXISTS (SELECT 1 FROM fresh WHERE {same})"
        for query in (kept, "SELECT line FROM fresh"):
            for batch in connection.sql(query).to_arrow_reader(10_000):
                lines.write([text.encode() for text in batch.column(0).to_pylist()])


def pointer(column: str) -> str:
    return "/" + column.replace("~", "~0").replace("/", "~1")
