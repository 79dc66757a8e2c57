"""Rows as people and programs take them: an aligned table, JSON, NDJSON, CSV, Arrow or Parquet, to stdout or a file."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from ...engine.json_rows import json_rows, json_value
from ...graphs.errors import Code, JackfieldError

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS: Final = ("table", "json", "ndjson", "csv", "arrow", "parquet")
BINARY: Final = ("arrow", "parquet")
BY_SUFFIX: Final = {
    ".json": "json", ".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv",
    ".arrow": "arrow", ".arrows": "arrow", ".parquet": "parquet",
}  # fmt: skip
# A cell may hold what an upstream wrote: control characters must not reach the terminal.
CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {10: "\\n", 13: "\\r", 9: "\\t"}
NARROWEST: Final = 8


def format_for(chosen: str | None, output: Path | None) -> str:
    """The chosen format, else what the file's name says, else a table. Raises VALIDATION_INVALID_PARAMS."""
    name = chosen or (BY_SUFFIX.get(output.suffix.lower(), "table") if output else "table")
    if name in BINARY and output is None and sys.stdout.isatty():
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"Format '{name}' is not text, and stdout is a terminal.",
            f"Say -o FILE.{name}, or send stdout into a file.",
        )
    return name


@contextmanager
def _target(output: Path | None) -> Iterator[Any]:
    """Stdout, or a file that appears under its name only once it is whole."""
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    draft = output.with_name(f"{output.name}.{os.getpid()}.jackfield-tmp")
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(output)
    finally:
        draft.unlink(missing_ok=True)


def write_rows(rows: pa.Table, format: str, output: Path | None) -> None:
    """Write every row in `format` (not json, which is the whole result: `write_json`)."""
    with _target(output) as target:
        if format == "arrow":
            import pyarrow as pa

            with pa.ipc.new_stream(target, rows.schema) as stream:
                stream.write_table(rows)
        elif format == "parquet":
            import pyarrow.parquet as pq

            pq.write_table(rows, target)
        elif format == "ndjson":
            for batch in rows.to_batches(max_chunksize=5_000):
                for row in json_rows(batch):
                    target.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
        elif format == "csv":
            _write_csv(rows, target)
        else:
            width = shutil.get_terminal_size().columns if output is None and sys.stdout.isatty() else None
            cells = [[_cell(value) for value in row.values()] for row in rows.to_pylist()]
            lines = table_lines(rows.column_names, cells, [_is_number(kind) for kind in rows.schema.types], width)
            target.write("".join(f"{line}\n" for line in lines).encode())


def write_json(document: Any, output: Path | None) -> None:
    with _target(output) as target:
        target.write(json.dumps(document, ensure_ascii=False, indent=2, default=str).encode() + b"\n")


def _write_csv(rows: pa.Table, target: IO[bytes]) -> None:
    """RFC 4180 with a header. NULL is an empty field; lists and objects are JSON."""
    batches: list[Any] = [rows.slice(0, 0), *rows.to_batches(max_chunksize=5_000)]
    for number, batch in enumerate(batches):
        text = io.StringIO()
        writer = csv.writer(text)
        if number == 0:
            csv.writer(text).writerow(rows.column_names)
        for row in batch.to_pylist():
            writer.writerow([_plain(value) for value in row.values()])
        target.write(text.getvalue().encode())


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
