"""CSV files. Types are found in the rows, and only types that give back the text they came from are taken."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Final

from ...graphs.errors import Code, JackfieldError
from ..scan import Scan
from ..table import Table
from . import duck
from .base import FileConfiguration, FileFormat
from .opened import Opened
from .reading import explained, stream, types_of

if TYPE_CHECKING:
    import duckdb

DELIMITERS: Final = ",;\t|"
MAX_COLUMNS: Final = 10_000
HEADER_BYTES: Final = 2_000_000  # DuckDB's own limit of a line
SMALL_BYTES: Final = 64_000_000
SAMPLE_ROWS: Final = 200_000


def read(files: Opened, config: FileConfiguration, scan: Scan) -> Table:
    connection = duck.scratch()
    try:
        if files.size == 0:
            return nothing(connection, files)
        source, types = typed(connection, files, config)
        return stream(connection, source, types, scan, files)
    except Exception as error:
        connection.close()
        raise explained(error, files) from None


def nothing(connection: duckdb.DuckDBPyConnection, files: Opened) -> Table:
    import pyarrow as pa

    connection.close()
    files.close()
    return Table.whole(pa.table({}))


def typed(
    connection: duckdb.DuckDBPyConnection, files: Opened, config: FileConfiguration
) -> tuple[str, dict[str, str]]:
    """The `read_csv(…)` that reads `files`, and the types of its columns."""
    fixed = {
        "delim": config.delimiter or delimiter(files, config),
        "quote": '"',
        "escape": '"',
        "header": config.header,
        "nullstr": config.null_values,
        "union_by_name": len(files.paths) > 1,
        "compression": "gzip" if files.gzipped else "none",
        "sample_size": -1 if files.size < SMALL_BYTES else SAMPLE_ROWS,
    }
    paths = duck.literal(files.paths)
    found = types_of(connection, f"read_csv({paths}{duck.options(fixed)})")
    found |= {column: "VARCHAR" for column in config.declared or () if column in found}
    doubtful = {column: check for column in found if (check := doubt(column, found[column]))}
    if doubtful:
        sample = "" if files.size < SMALL_BYTES else f" LIMIT {SAMPLE_ROWS}"
        checks = ", ".join(f"bool_or({check})" for check in doubtful.values())
        raw = f"(SELECT * FROM read_csv({paths}{duck.options(fixed | {'all_varchar': True})}){sample})"
        answers = connection.sql(f"SELECT {checks} FROM {raw}").fetchall()[0]
        text = [column for column, answer in zip(doubtful, answers, strict=True) if answer]
        found |= dict.fromkeys(text, "VARCHAR")
    types = "{" + ", ".join(f"{duck.literal(column)}: {duck.literal(found[column])}" for column in found) + "}"
    return f"read_csv({paths}{duck.options(fixed)}, types={types})", found


def doubt(column: str, type: str) -> str:
    """A condition that is true of a text that `type` would not give back; empty when there is none."""
    text = duck.name(column)
    match type:
        case "BOOLEAN":
            return f"lower({text}) NOT IN ('true', 'false')"
        case "DATE":
            return f"TRY_CAST({text} AS DATE)::VARCHAR IS DISTINCT FROM {text}"
        case "TIMESTAMP" | "TIMESTAMP WITH TIME ZONE":
            return f"{text} NOT LIKE '____-__-__%'"
        case "BIGINT" | "HUGEINT" | "DOUBLE":
            return f"regexp_matches({text}, '^[-+]?0[0-9]|^[+]|^[0-9]+[eE][0-9]|[a-df-zA-DF-Z]')"
    return ""


def delimiter(files: Opened, config: FileConfiguration) -> str:
    """The delimiter that the first line holds most of. Raises BUDGET_EXCEEDED for a line that is too long or wide."""
    with open(files.descriptors[0], "rb", closefd=False) as raw:
        raw.seek(0)
        head = gzip.GzipFile(fileobj=raw).read(HEADER_BYTES) if files.gzipped else raw.read(HEADER_BYTES)
        raw.seek(0)
    line, newline, _ = head.partition(b"\n")
    counts = {mark: line.count(mark.encode()) for mark in DELIMITERS}
    best = max(counts, key=lambda mark: counts[mark])
    if counts[best] >= MAX_COLUMNS or (not newline and len(head) == HEADER_BYTES):
        raise JackfieldError(
            Code.BUDGET_EXCEEDED,
            f"'{files.texts[0]}': line 1 has {counts[best] + 1} columns in {len(line)} bytes or more;"
            f" {MAX_COLUMNS} columns and {HEADER_BYTES} bytes are the most.",
            "Check the delimiter and the quotes of the file.",
            {"path": files.texts[0], "line": 1},
        )
    return best


CSV = FileFormat("csv", (".csv", ".tsv", ".txt"), read)
