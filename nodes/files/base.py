"""What a file source can be told, and what a format of files declares: one format a module, `FORMATS` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from ..scan import Scan
from ..source import SourceConfiguration
from ..table import Table
from .opened import Opened

Read = Callable[[Opened, "FileConfiguration", Scan], Table]
FormatName = Literal["csv", "json", "jsonl", "parquet", "sqlite", "duckdb"]


class FileConfiguration(SourceConfiguration):
    """A file, or several that share their columns.

    The path starts at the connector file and stays in its folder. A pattern (`data/*.csv`, `data/**/*.parquet`) reads
    all files that match, by column name. A CSV's types are found in its rows: numbers with leading zeros stay text,
    ISO dates become dates, and a declared schema says otherwise.
    """

    path: str = Field(description="File or pattern, relative to the connector file")
    format: FormatName | None = Field(None, description="By the suffix if absent; .gz may follow it")
    delimiter: str | None = Field(None, min_length=1, max_length=1, description="CSV: found in the header if absent")
    header: bool = Field(True, description="CSV: whether the first line names the columns")
    encoding: str = Field("utf-8", description="CSV: any encoding that Python knows")
    null_values: tuple[str, ...] = Field(("",), description="CSV: texts that mean no value")
    data_path: str = Field("", description="JSON: where the records are, as a JMESPath such as data.items")
    table: str | None = Field(None, description="SQLite and DuckDB: the table or view to read")
    query: str | None = Field(None, description="SQLite and DuckDB: one SELECT to read instead of a table")


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of files.

    `read` gives the rows that `scan` asks for, usually as a stream that owns `files`. `read_all`, for a format that has
    child tables, closes `files` and gives them with every row; it tells its third argument of the bytes that it reads.
    Both block, and raise SOURCE_BAD_REPLY, TYPE_MISMATCH, SCHEMA_NOT_FOUND.
    """

    name: FormatName
    suffixes: tuple[str, ...]
    read: Read | None = None
    is_untyped: bool = False  # types are found in the rows, so that there are none without rows
    read_all: Callable[[Opened, FileConfiguration, Callable[[int], None]], Mapping[str, Table]] | None = None
