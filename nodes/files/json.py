"""JSON files and JSON lines: nested records become columns and child tables, as in a REST reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Final

from ..base import ROWS
from ..records import read_lines, read_records
from ..scan import Scan
from ..table import Table
from .base import FileConfiguration, FileFormat
from .opened import Opened, contents

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK: Final = 16_000_000


def read_json(files: Opened, config: FileConfiguration, spend: Callable[[int], None]) -> Mapping[str, Table]:
    with files:
        parts = [b"".join(chunks(file, spend)) for file in contents(files)]
    tables = read_records(
        [part for part in parts if part.strip()],
        data_path=config.data_path,
        declared=config.declared,
        contract=config.contract,
        source=files.text,
        children=config.children,
    )
    return {name: Table.whole(table) for name, table in tables.items()}


def read_json_lines(files: Opened, config: FileConfiguration, spend: Callable[[int], None]) -> Mapping[str, Table]:
    with files:
        parts = [b"".join(chunks(file, spend)) for file in contents(files)]
    tables = read_lines(
        parts, declared=config.declared, contract=config.contract, source=files.text, children=config.children
    )
    return {name: Table.whole(table) for name, table in tables.items()}


def stream_json_lines(files: Opened, config: FileConfiguration, scan: Scan) -> Table:
    """Rows of large files, a chunk at a time.

    They are read twice: a column's type is known only after the last line. Where chunks disagree, it is text.
    """
    import pyarrow as pa

    declared = dict(config.declared or {})

    def tables() -> Iterator[pa.Table]:
        for part in line_chunks(files):
            yield read_lines([part], declared=declared, contract=config.contract, source=files.text)[ROWS]

    schema = pa.schema([])
    for table in tables():
        schema, drifted = united(schema, table.schema)
        declared |= dict.fromkeys(drifted, "string")
    if scan.columns is not None:
        wanted = {column.lower() for column in scan.columns}
        schema = pa.schema([field for field in schema if field.name.lower() in wanted] or list(schema)[:1])

    def batches() -> Iterator[pa.RecordBatch]:
        for table in tables():
            columns = [
                table[f.name].cast(f.type) if f.name in table.column_names else pa.nulls(table.num_rows, f.type)
                for f in schema
            ]
            yield from pa.table(columns, schema=schema).to_batches()

    return Table.stream(pa.RecordBatchReader.from_batches(schema, batches()), close=files.close)


def united(one: pa.Schema, other: pa.Schema) -> tuple[pa.Schema, list[str]]:
    """A schema that holds the values of both, and the columns that only text can hold."""
    import pyarrow as pa

    drifted = []
    for field in other:
        place = one.get_field_index(field.name)
        if place < 0:
            one = one.append(field)
            continue
        try:
            both = pa.unify_schemas([pa.schema([one.field(place)]), pa.schema([field])], promote_options="permissive")
            one = one.set(place, both.field(0))
        except pa.ArrowTypeError:
            one = one.set(place, pa.field(field.name, pa.string()))
            drifted.append(field.name)
    return one, drifted


def chunks(file: IO[bytes], spend: Callable[[int], None]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        spend(len(chunk))
        yield chunk


def line_chunks(files: Opened) -> Iterator[bytes]:
    for file in contents(files):
        while chunk := file.read(CHUNK):
            yield chunk + file.readline()


JSON = FileFormat("json", (".json",), read_all=read_json)
JSON_LINES = FileFormat("jsonl", (".jsonl", ".ndjson"), read=stream_json_lines, read_all=read_json_lines)
