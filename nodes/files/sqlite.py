"""SQLite files, read by a connection that can only read, and only this file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from ...graphs.errors import Code, JackfieldError
from ..scan import Predicate, Scan
from ..table import Table, nothing
from .affinity import arrow_name, first_array, later_array
from .base import FileConfiguration, FileFormat
from .database import chosen, missing_table
from .names import distinct, quoted
from .opened import Opened
from .sqlitejournal import private_copy

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS: Final = 50_000
BATCH_BYTES: Final = 64_000_000
STEP_ROWS: Final = 50  # rows that are fetched before their size is known
VALUE_BYTES: Final = 16_000_000
PROGRESS_STEPS: Final = 50_000  # of SQLite's machine, about a millisecond
BUSY_S: Final = 5.0
ALLOWED: Final = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
LOADING: Final = {"load_extension", "fts3_tokenizer"}
MAGIC: Final = b"SQLite format 3\x00"


def read(files: Opened, config: FileConfiguration, scan: Scan) -> Table:
    if files.size == 0:
        raise missing_table(config.table or "", [], files.text)
    check_magic(files)
    connection, close_more = connect(files)
    try:
        source = chosen(config, tables(connection), files.text)
        cursor = connection.cursor()
        statement, parameters = select(connection, source, scan)
        cursor.execute(statement, parameters)
        names = [column[0] for column in cursor.description]
        types = declared_types(connection, source) | texts_of(config)
        return streamed(connection, cursor, distinct(names), types, files, close_more)
    except sqlite3.Error as error:
        connection.close()
        close_more()
        raise unreadable(error, files) from None
    except BaseException:
        connection.close()
        close_more()
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


Opening = tuple[sqlite3.Connection, Callable[[], None]]


def connect(files: Opened) -> Opening:
    """A connection that reads `files`, and nothing else; and what removes the copy that it may read instead.

    It opens by name: SQLite must find the journal beside the file. `immutable` would read through a journal that a
    killed writer left, and so give half a transaction; rolling it back needs writing, and is done in a copy.
    """
    try:
        return open_database(files.places[0].path, "ro", files), nothing
    except sqlite3.Error as error:
        if "readonly" not in str(error) and "unable to open" not in str(error):
            raise unreadable(error, files) from None
    copy = private_copy(files)
    try:
        path = Path(copy.name, "database")
        open_database(path, "rw", files).close()
        return open_database(path, "ro", files), copy.cleanup
    except BaseException as error:
        copy.cleanup()
        raise unreadable(error, files) if isinstance(error, sqlite3.Error) else error from None


def open_database(path: Path, mode: str, files: Opened) -> sqlite3.Connection:
    """Raises sqlite3.Error when it can not be read."""
    uri = f"file:{quote(str(path))}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_S, check_same_thread=False)
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(lambda: files.ending.told, PROGRESS_STEPS)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        connection.set_authorizer(authorize)
    except BaseException:
        connection.close()
        raise
    return connection


def authorize(action: int, _: str | None, name: str | None, *__: str | None) -> int:
    is_allowed = action in ALLOWED and not (action == sqlite3.SQLITE_FUNCTION and name in LOADING)
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


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
    connection.set_authorizer(authorize)
    return {str(row[1]): arrow_name(str(row[2]).upper()) for row in columns}


def texts_of(config: FileConfiguration) -> dict[str, str]:
    return {column: "string" for column, word in (config.declared or {}).items() if word in ("string", "text")}


def streamed(
    connection: sqlite3.Connection,
    cursor: sqlite3.Cursor,
    names: list[str],
    types: dict[str, str],
    files: Opened,
    close_more: Callable[[], None],
) -> Table:
    import pyarrow as pa

    first = some_rows(cursor)
    columns = list(zip(*first, strict=True)) if first else [() for _ in names]
    arrays = [first_array(values, types.get(column, "")) for column, values in zip(names, columns, strict=True)]
    schema = pa.schema([(column, array.type) for column, array in zip(names, arrays, strict=True)])
    using = threading.Lock()

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        try:
            while rows := some_rows(cursor):
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
            close_more()

    return Table.stream(pa.RecordBatchReader.from_batches(schema, batches()), close=close, cancel=files.ending.tell)


def some_rows(cursor: sqlite3.Cursor) -> list[tuple[Any, ...]]:
    """Rows for one batch: no more than memory is sure to hold."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    while size < BATCH_BYTES and len(rows) < BATCH_ROWS and (some := cursor.fetchmany(STEP_ROWS)):
        rows += some
        size += sum(map(getsizeof, chain.from_iterable(some)))
    return rows


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
    if "too big" in text:
        return JackfieldError(
            Code.BUDGET_EXCEEDED,
            f"'{files.text}': one value takes more than {VALUE_BYTES:,} bytes.",
            "Leave its column out, or read a part of the value with substr.",
            {"path": files.text},
        )
    code = (
        Code.QUERY_INVALID if "not authorized" in text or "syntax" in text or "no such" in text else Code.SOURCE_ERROR
    )
    return JackfieldError(
        code, f"'{files.text}': {text}.", "A 'query' is one SELECT over the tables of this file.", {"path": files.text}
    )


SQLITE = FileFormat("sqlite", (".sqlite", ".sqlite3", ".db"), read)
