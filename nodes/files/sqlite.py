"""SQLite files, read by a connection that can only read, and only this file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ...graphs.errors import Code, JackfieldError
from ..scan import Predicate, Scan
from ..table import Table
from .affinity import arrow_name, first_array, later_array
from .base import FileConfiguration, FileFormat
from .database import chosen, missing_table
from .names import distinct, quoted
from .opened import Opened

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS: Final = 50_000
BUSY_S: Final = 5.0
ALLOWED: Final = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
MAGIC: Final = b"SQLite format 3\x00"


def read(files: Opened, config: FileConfiguration, scan: Scan) -> Table:
    if files.size == 0:
        raise missing_table(config.table or "", [], files.text)
    check_magic(files)
    connection = connect(files)
    try:
        source = chosen(config, tables(connection), files.text)
        cursor = connection.cursor()
        statement, parameters = select(connection, source, scan)
        cursor.execute(statement, parameters)
        names = [column[0] for column in cursor.description]
        types = declared_types(connection, source) | texts_of(config)
        return streamed(connection, cursor, distinct(names), types, files)
    except sqlite3.Error as error:
        connection.close()
        raise unreadable(error, files) from None
    except BaseException:
        connection.close()
        raise


def check_magic(files: Opened) -> None:
    with open(files.descriptors[0], "rb", closefd=False) as file:
        head = file.read(len(MAGIC))
    if head != MAGIC:
        raise JackfieldError(
            Code.SOURCE_BAD_REPLY,
            f"'{files.text}' is not a SQLite database.",
            "Name the database file, or give the right 'format'.",
            {"path": files.text},
        )


def connect(files: Opened) -> sqlite3.Connection:
    """A connection that reads `files`, and nothing else.

    It opens by name: SQLite must find the journal beside the file. `immutable` would read through a journal that a
    killed writer left, and so give half a transaction.
    """
    from urllib.parse import quote

    def open_as(mode: str) -> sqlite3.Connection:
        name = quote(str(files.places[0].path))
        opened = sqlite3.connect(f"file:{name}?mode={mode}", uri=True, timeout=BUSY_S, check_same_thread=False)
        opened.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return opened

    try:
        connection = open_as("ro")
    except sqlite3.Error as error:
        if "readonly" not in str(error) and "unable to open" not in str(error):
            raise unreadable(error, files) from None
        try:
            open_as("rw").close()  # lets SQLite itself roll back what a killed writer left
            connection = open_as("ro")
        except sqlite3.Error as second:
            raise unreadable(second, files) from None
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY)
    return connection


def tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
    return [str(row[0]) for row in found if not str(row[0]).startswith(("sqlite_", "_jackfield"))]


def select(connection: sqlite3.Connection, source: str, scan: Scan) -> tuple[str, list[Any]]:
    """Columns are pushed, and comparisons of numbers: SQLite compares texts and dates in other ways than DuckDB."""
    described = connection.execute(f"SELECT * FROM {source} LIMIT 0").description
    known = {column[0].lower(): column[0] for column in described}
    wanted = known if scan.columns is None else {c.lower() for c in scan.columns} & known.keys()
    listed = ", ".join(quoted(column) for low, column in known.items() if low in wanted) or quoted(described[0][0])
    types = declared_types(connection, source)
    pushed = [p for p in scan.predicates if is_pushable(p, known, types)]
    conditions: list[str] = []
    parameters: list[Any] = []
    for predicate in pushed:
        values = predicate.value if isinstance(predicate.value, tuple) else (predicate.value,)
        marks = ", ".join("?" for _ in values)
        column = quoted(known[predicate.column.lower()])
        conditions.append(
            f"{column} IN ({marks})" if predicate.operator == "in" else f"{column} {predicate.operator} ?"
        )
        parameters.extend(values)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    limit = f" LIMIT {scan.limit}" if scan.limit is not None and len(pushed) == len(scan.predicates) else ""
    return f"SELECT {listed} FROM {source}{where}{limit}", parameters


def is_pushable(predicate: Predicate, known: dict[str, str], types: dict[str, str]) -> bool:
    values = predicate.value if isinstance(predicate.value, tuple) else (predicate.value,)
    affinity = types.get(known.get(predicate.column.lower(), ""), "")
    whole = all(type(value) is int and abs(value) < 2**63 for value in values)
    return bool(values) and whole and affinity in ("int64", "float64")


def declared_types(connection: sqlite3.Connection, source: str) -> dict[str, str]:
    """Arrow types by the types that the table declares; a query has none."""
    if source.startswith("("):
        return {}
    connection.set_authorizer(None)
    columns = connection.execute(f"PRAGMA table_xinfo({source})").fetchall()
    connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY)
    return {str(row[1]): arrow_name(str(row[2]).upper()) for row in columns}


def texts_of(config: FileConfiguration) -> dict[str, str]:
    return {column: "string" for column, word in (config.declared or {}).items() if word in ("string", "text")}


def streamed(
    connection: sqlite3.Connection, cursor: sqlite3.Cursor, names: list[str], types: dict[str, str], files: Opened
) -> Table:
    import pyarrow as pa

    first = cursor.fetchmany(BATCH_ROWS)
    columns = list(zip(*first, strict=True)) if first else [() for _ in names]
    arrays = [first_array(values, types.get(column, "")) for column, values in zip(names, columns, strict=True)]
    schema = pa.schema([(column, array.type) for column, array in zip(names, arrays, strict=True)])
    using = threading.Lock()

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        try:
            while rows := cursor.fetchmany(BATCH_ROWS):
                yield pa.RecordBatch.from_arrays(
                    [
                        later_array(values, field, files.text)
                        for field, values in zip(schema, zip(*rows, strict=True), strict=True)
                    ],
                    schema=schema,
                )
        except sqlite3.Error as error:
            raise unreadable(error, files) from None

    def close() -> None:
        with using:
            cursor.close()
            connection.close()
            files.close()

    def cancel() -> None:
        with suppress(sqlite3.ProgrammingError):  # it may be told after the end, when the connection is closed
            connection.interrupt()

    return Table.stream(pa.RecordBatchReader.from_batches(schema, batches()), close=close, cancel=cancel)


def unreadable(error: sqlite3.Error, files: Opened) -> JackfieldError:
    text = str(error)
    if "locked" in text or "busy" in text:
        return JackfieldError(
            Code.SOURCE_UNREACHABLE,
            f"'{files.text}' is locked by a writer.",
            "Try again when it is done.",
            {"path": files.text},
            transient=True,
        )
    code = (
        Code.QUERY_INVALID if "not authorized" in text or "syntax" in text or "no such" in text else Code.SOURCE_ERROR
    )
    return JackfieldError(
        code, f"'{files.text}': {text}.", "A 'query' is one SELECT over the tables of this file.", {"path": files.text}
    )


SQLITE = FileFormat("sqlite", (".sqlite", ".sqlite3", ".db"), read)
