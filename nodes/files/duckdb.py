"""DuckDB files, opened for reading only, in a database that can touch nothing else."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from ...graphs.errors import Code, JackfieldError
from ..scan import Scan
from ..table import Table
from .base import FileConfiguration, FileFormat
from .database import chosen
from .opened import Opened
from .reading import explained, stream, types_of

if TYPE_CHECKING:
    import duckdb

BUSY_S: Final = 3.0
MEMORY: Final = "1GB"


def read(files: Opened, config: FileConfiguration, scan: Scan) -> Table:
    connection = connect(files)
    try:
        if config.query is not None:
            check_query(connection, config.query, files)
        found = connection.sql("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
        source = chosen(config, [str(row[0]) for row in found if not str(row[0]).startswith("_jackfield")], files.text)
        return stream(connection, source, types_of(connection, source), scan, files)
    except Exception as error:
        connection.close()
        raise explained(error, files) from None


def check_query(connection: duckdb.DuckDBPyConnection, query: str, files: Opened) -> None:
    import duckdb

    statements = connection.extract_statements(query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise JackfieldError(
            Code.QUERY_INVALID,
            f"The query over '{files.text}' is not one SELECT.",
            "Write a single SELECT over the tables of this file.",
            {"path": files.text},
        )


def connect(files: Opened) -> duckdb.DuckDBPyConnection:
    """A locked connection. It opens by the real name, as DuckDB finds the write-ahead log beside it.

    DuckDB refuses to read a file that this process has open for writing: a save of ours is waited for.
    """
    import duckdb

    until = time.monotonic() + BUSY_S
    while True:
        try:
            connection = duckdb.connect(str(files.places[0].path), read_only=True, config=settings())
            break
        except (duckdb.ConnectionException, duckdb.IOException) as error:
            text = str(error)
            if "different configuration" not in text and "lock" not in text:
                raise explained(error, files) from None
            if time.monotonic() > until:
                raise JackfieldError(
                    Code.SOURCE_UNREACHABLE,
                    f"'{files.text}' is open for writing.",
                    "Try again when its writer is done.",
                    {"path": files.text},
                    transient=True,
                ) from None
            files.ending.check()
            time.sleep(0.02)
    connection.execute("SET TimeZone = 'UTC'")
    for setting in ("enable_external_access = false", "lock_configuration = true"):
        connection.execute(f"SET {setting}")
    return connection


def settings() -> dict[str, Any]:
    """Of every connection alike, as DuckDB opens a file twice only with the same."""
    return {
        "threads": 2,
        "memory_limit": MEMORY,
        "temp_directory": "",  # a query may read whatever is in the folder for temporary data
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }


DUCKDB = FileFormat("duckdb", (".duckdb", ".ddb"), read)
