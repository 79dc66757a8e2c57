"""JSON files and JSON lines: nested records become columns and child tables, as in a REST reply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Final

from ...graphs.errors import Code, JackfieldError
from ..base import ROWS
from ..records import read_lines, read_records
from ..scan import Scan
from ..table import Table
from .base import FileConfiguration, FileFormat
from .opened import Opened, contents

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK: Final = 16_000_000
LINE_BYTES: Final = 32_000_000
LINE_HINT: Final = "JSON lines hold one record a line; a list of records is the format json."
WHOLE_BYTES: Final = 512_000_000  # of one file that is read whole


def read_json(files: Opened, config: FileConfiguration, spend: Callable[[int], None]) -> Mapping[str, Table]:
    with files:
        parts = [b"".join(chunks(file, spend, files.text)) for file in contents(files)]
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
        parts = [b"".join(whole_lines(chunks(file, spend, files.text), files.text)) for file in contents(files)]
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


def chunks(file: IO[bytes], spend: Callable[[int], None], text: str) -> Iterator[bytes]:
    """The file, which may be much longer than it is when compressed. Raises BUDGET_EXCEEDED."""
    size = 0
    while chunk := file.read(CHUNK):
        spend(len(chunk))
        size += len(chunk)
        if size > WHOLE_BYTES:
            raise too_long(text, f"more than {WHOLE_BYTES:,} bytes when unpacked", "Split it, or leave it unpacked.")
        yield chunk


def whole_lines(chunks: Iterator[bytes], text: str) -> Iterator[bytes]:
    """`chunks` as they are. Raises BUDGET_EXCEEDED for a line that no record has a reason to fill."""
    pending = 0
    for chunk in chunks:
        end = chunk.find(b"\n")
        pending += len(chunk) if end < 0 else end
        if pending > LINE_BYTES:
            raise too_long(text, f"a line of more than {LINE_BYTES:,} bytes", LINE_HINT)
        if end >= 0:
            pending = len(chunk) - chunk.rfind(b"\n") - 1
        yield chunk


def line_chunks(files: Opened) -> Iterator[bytes]:
    for file in contents(files):
        while chunk := file.read(CHUNK):
            rest = file.readline(LINE_BYTES)
            if len(rest) == LINE_BYTES:
                raise too_long(files.text, f"a line of more than {LINE_BYTES:,} bytes", LINE_HINT)
            yield chunk + rest


def too_long(text: str, found: str, hint: str) -> JackfieldError:
    return JackfieldError(Code.BUDGET_EXCEEDED, f"'{text}' has {found}.", hint, {"path": text})


JSON = FileFormat("json", (".json",), read_all=read_json)
JSON_LINES = FileFormat("jsonl", (".jsonl", ".ndjson"), read=stream_json_lines, read_all=read_json_lines)
