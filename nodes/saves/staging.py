"""New rows of an upsert, staged in a scratch database where their keys are checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...graphs.errors import Code, JackfieldError
from ..files import duck
from ..files.names import quoted
from .atomic import remove, temporary

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from .filesave import Batches


@contextmanager
def spilling(folder: int, path: str, rows: Batches) -> Iterator[duckdb.DuckDBPyConnection]:
    """A scratch database that spills into the folder of the target, where a killed save's leftovers are removed.

    Stopping `rows` interrupts it.
    """
    name = temporary("spill")
    connection = duck.scratch(spill=f"{path}/{name}")
    interrupt = connection.interrupt
    rows.interrupts.append(interrupt)
    try:
        yield connection
    finally:
        rows.interrupts.remove(interrupt)
        connection.close()
        remove(folder, name)


def stage(connection: duckdb.DuckDBPyConnection, rows: pa.RecordBatchReader, key: Sequence[str]) -> None:
    """Put `rows` into the table `fresh`, and check that `key`, if there is one, tells them apart."""
    connection.register("incoming", rows)
    connection.execute("CREATE TEMP TABLE fresh AS SELECT * FROM incoming")
    connection.unregister("incoming")
    if key:
        check_keys(connection, key)


def check_keys(connection: duckdb.DuckDBPyConnection, key: Sequence[str], names: Sequence[str] | None = None) -> None:
    """Raises VALIDATION_INVALID_PARAMS when a row of `fresh` has no key, or two have the same.

    Which of two rows should win is not ours to guess: the rows of a query have no order. `names` are the key's columns
    as the caller knows them, where `fresh` has others.
    """
    columns = [quoted(column) for column in key]
    shown = ", ".join(names or key)
    absent = " OR ".join(f"{column} IS NULL" for column in columns)
    empty = connection.sql(f"SELECT count(*) FROM fresh WHERE {absent}").fetchall()[0][0]
    if empty:
        raise no_key(empty, shown)
    listed = ", ".join(columns)
    texts = ", ".join(f"{column}::VARCHAR" for column in columns)
    twice = connection.sql(f"SELECT {texts} FROM fresh GROUP BY {listed} HAVING count(*) > 1 LIMIT 3").fetchall()
    if twice:
        raise repeated_key(twice, shown)


def no_key(count: int, key: str) -> JackfieldError:
    return JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        f"{count} of the rows have no value in the key ({key}); nothing was saved.",
        "Leave such rows out in the SQL, or choose another key.",
        {"key": key, "rows": count},
    )


def repeated_key(examples: Sequence[Sequence[object]], key: str) -> JackfieldError:
    shown = "; ".join(", ".join(str(value) for value in example) for example in examples)
    return JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        f"Several rows have the same key ({key}): {shown}; nothing was saved.",
        "Return one row for each key from the SQL, with GROUP BY or QUALIFY for instance.",
        {"key": key},
    )
