"""Batches of a query over files: errors said in our words, and the query ended when its reader stops."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ...graphs.errors import Code, JackfieldError
from ..scan import Scan
from ..table import Table, nothing
from . import duck
from .opened import Opened

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BATCH_ROWS = 50_000


def types_of(connection: duckdb.DuckDBPyConnection, source: str) -> dict[str, str]:
    """Column names of `source` with the types that DuckDB gives them."""
    relation = connection.sql(f"SELECT * FROM {source}")
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


def stream(
    connection: duckdb.DuckDBPyConnection,
    source: str,
    types: Mapping[str, str],
    scan: Scan,
    files: Opened,
    close_more: Callable[[], None] = nothing,
) -> Table:
    """The rows of `source` that `scan` asks for. The table owns `connection`, `files`, and what `close_more` closes."""
    import pyarrow as pa

    try:
        with files.ending.heard(connection.interrupt):
            inner = connection.sql(duck.select(source, types, scan)).to_arrow_reader(BATCH_ROWS)
    except Exception as error:
        raise explained(error, files) from None

    def batches() -> Generator[pa.RecordBatch]:
        try:
            with files.ending.heard(connection.interrupt):
                yield from inner
        except Exception as error:
            raise explained(error, files) from None

    reading = batches()

    def close() -> None:
        with suppress(ValueError):  # another thread is still in it, and ends it
            reading.close()
        inner.close()
        connection.close()
        files.close()
        close_more()

    return Table.stream(pa.RecordBatchReader.from_batches(inner.schema, reading), close=close, cancel=files.ending.tell)


def explained(error: Exception, files: Opened) -> Exception:
    """What DuckDB said about a file, as our error: the line, what was there, what would fix it."""
    import duckdb

    if isinstance(error, JackfieldError) or not isinstance(error, (duckdb.Error, OSError)):
        return error
    text = files.named(str(error))
    where = files.text
    if isinstance(error, duckdb.OutOfMemoryException):
        return JackfieldError(
            Code.BUDGET_EXCEEDED, f"Reading '{where}' needs more memory than a file may.", "Read fewer columns or rows."
        )
    line = re.search(r"Line: (\d+)", text)
    details = {"path": where} | ({"line": int(line[1])} if line else {})
    at = f"'{where}', line {line[1]}" if line else f"'{where}'"
    if re.search(r"Could not convert|Conversion Error", text):
        hint = "Declare the column in the source's schema, as string for instance."
        return JackfieldError(Code.TYPE_MISMATCH, f"{at}: {reason(text)}", hint, details)
    return JackfieldError(
        Code.SOURCE_BAD_REPLY, f"{at}: {reason(text)}", "Correct the file, or its format and encoding.", details
    )


def reason(text: str) -> str:
    """What is wrong, out of DuckDB's message: without the line's own text and the advice that names its settings."""
    text = re.split(r"\n\s*(Possible|This type was|Column \w+ is being)", text)[0]
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if lines and "Error on Line" in lines[0]:
        start = next((n for n, line in enumerate(lines) if re.match(REASONS, line)), len(lines) - 1)
        lines = lines[start:]
    said = re.sub(r"^(Invalid Input|Conversion|IO|Parser) Error: ", "", " ".join(lines))
    return said[:300].rstrip(".") + "."


REASONS: Final = r"Expected Number|Value with|Maximum line|Invalid unicode|Error when converting"
