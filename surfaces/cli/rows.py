"""Rows as people and programs take them: an aligned table, JSON, NDJSON, CSV, Arrow or Parquet, to stdout or a file."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import date, time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from ...engine.json_rows import json_rows, json_value
from ...graphs.errors import Code, JackfieldError
from ...nodes.table import Table
from ..answers import in_parts
from ..faults import unwritable

if TYPE_CHECKING:
    import pyarrow as pa

Write = Callable[["pa.Table"], None]
FORMATS: Final = ("table", "json", "ndjson", "csv", "arrow", "parquet")
BINARY: Final = ("arrow", "parquet")
BY_SUFFIX: Final = {
    ".json": "json", ".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv",
    ".arrow": "arrow", ".arrows": "arrow", ".parquet": "parquet", ".txt": "table",
}  # fmt: skip
# A cell may hold what an upstream wrote: control characters must not reach the terminal.
CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {10: "\\n", 13: "\\r", 9: "\\t"}
NARROWEST: Final = 8
TEXT_ROWS: Final = 5_000  # written at a time
GROUP_ROWS: Final = 122_880  # in a group of a Parquet file, as DuckDB makes them


def format_for(chosen: str | None, output: Path | None) -> str:
    """The chosen format, else what the file's name says, else a table. Raises VALIDATION_INVALID_PARAMS.

    A name that says something else is refused: a table under the name of a spreadsheet opens nowhere.
    """
    name = chosen or (BY_SUFFIX.get(output.suffix.lower()) if output else "table")
    if name is None:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"'{output}' does not say in which format to write.",
            f"End its name in one of {', '.join(BY_SUFFIX)}, or say --format. "
            "`jackfield save` writes SQLite and DuckDB files.",
        )
    if name in BINARY and output is None and sys.stdout.isatty():
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"Format '{name}' is not text, and stdout is a terminal.",
            f"Say -o FILE.{name}, or send stdout into a file.",
        )
    return name


@contextmanager
def sink(output: Path | None) -> Iterator[Any]:
    """Stdout, or a file that appears under its name only once it is whole."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    draft = output.with_name(f"{output.name}.{os.getpid()}.jackfield-tmp")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            yield file
        draft.replace(output)
    except OSError as error:
        raise unwritable(str(output), error) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def write_rows(rows: pa.Table, format: str, output: Path | None) -> None:
    """Write every row in `format` (not json, which is the whole result: `write_json`)."""
    if format in STREAMED:
        write_stream(Table.whole(rows), format, output)
    else:
        with sink(output) as target:
            width = shutil.get_terminal_size().columns if output is None and sys.stdout.isatty() else None
            cells = [[_cell(value) for value in row.values()] for row in rows.to_pylist()]
            lines = table_lines(rows.column_names, cells, [_is_number(kind) for kind in rows.schema.types], width)
            target.write("".join(f"{line}\n" for line in lines).encode())


def write_stream(table: Table, format: str, output: Path | None) -> int:
    """Write every row in one of the formats `STREAMED` as it is read, then close the table; gives how many there were.

    Blocks. What a stream raises comes out of it, and then there is no file.
    """
    count = 0
    try:
        with sink(output) as target, STREAMED[format](table.schema, target) as write:
            for part in in_parts(table, GROUP_ROWS if format in BINARY else TEXT_ROWS):
                write(part.arrow())
                count += part.num_rows or 0
    finally:
        table.close()
    return count


@contextmanager
def _arrow(schema: pa.Schema, target: IO[bytes]) -> Iterator[Write]:
    import pyarrow as pa

    file: Any = target  # the stubs know io.IOBase only
    with pa.ipc.new_stream(file, schema) as stream:
        yield stream.write_table


@contextmanager
def _parquet(schema: pa.Schema, target: IO[bytes]) -> Iterator[Write]:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(target, schema) as writer:
        yield writer.write_table


@contextmanager
def _ndjson(schema: pa.Schema, target: IO[bytes]) -> Iterator[Write]:
    def write(rows: pa.Table) -> None:
        for row in json_rows(rows):
            target.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")

    yield write


@contextmanager
def _csv(schema: pa.Schema, target: IO[bytes]) -> Iterator[Write]:
    """RFC 4180 with a header. NULL is an empty field; lists and objects are JSON."""
    text = io.StringIO()
    csv.writer(text).writerow(schema.names)
    target.write(text.getvalue().encode())

    def write(rows: pa.Table) -> None:
        text = io.StringIO()
        csv.writer(text).writerows([[_plain(value) for value in row.values()] for row in rows.to_pylist()])
        target.write(text.getvalue().encode())

    yield write


STREAMED: Final[Mapping[str, Callable[[pa.Schema, IO[bytes]], AbstractContextManager[Write]]]] = {
    "ndjson": _ndjson,
    "csv": _csv,
    "arrow": _arrow,
    "parquet": _parquet,
}


def write_json(document: Any, output: Path | None) -> None:
    with sink(output) as target:
        target.write(json.dumps(document, ensure_ascii=False, indent=2, default=str).encode() + b"\n")


def _plain(value: Any) -> Any:
    """As text, exactly: decimals keep their scale. None stays None, which CSV leaves empty."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (date, time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, (list, dict, bytes)):
        held = json_value(value)
        return held if isinstance(held, str) else json.dumps(held, ensure_ascii=False)
    return str(value)


def table_lines(
    names: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[bool], width: int | None = None
) -> list[str]:
    """Columns aligned (to the right where `right` says so) under a rule; cut to `width` characters if given."""
    heads = [name.translate(CONTROLS) for name in names]
    widths = [max(len(heads[i]), *(len(row[i]) for row in cells), 1) for i in range(len(heads))]
    if width is not None:
        _narrow(widths, width - 2 * (len(widths) - 1))

    def line(row: Sequence[str]) -> str:
        parts = [
            cut.rjust(size) if flush else cut.ljust(size)
            for cut, size, flush in zip(map(_cut, row, widths), widths, right, strict=True)
        ]
        return "  ".join(parts).rstrip()

    return [line(heads), "  ".join("─" * size for size in widths), *(line(row) for row in cells)]


def _narrow(widths: list[int], room: int) -> None:
    """Take from the widest columns until all fit, or none can be narrower."""
    while sum(widths) > room and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1


def _cut(cell: str, size: int) -> str:
    return cell if len(cell) <= size else cell[: size - 1] + "…"


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _cell(value: Any) -> str:
    return "null" if value is None else str(_plain(value)).translate(CONTROLS)
