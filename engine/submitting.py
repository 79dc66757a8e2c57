"""One query of a cursor run to its end, its rows then given as Arrow."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# What `Executed` asks for makes a copy; of a small result it costs less than a second binding.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning, module=re.escape(__name__))


class Submitted(Protocol):
    """A query that has run."""

    @property
    def description(self) -> Sequence[Any] | None: ...

    def arrow_table(self) -> pa.Table: ...

    def close(self) -> None:
        """Drop the rows."""


def submitted(cursor: duckdb.DuckDBPyConnection, sql: str, values: Mapping[str, Any]) -> Submitted:
    """`sql` run with its values. Raises what DuckDB does.

    DuckDB's relations run their queries by this method, but bind them before, which takes longer than a small query
    does; its cursors have no other way to Arrow than a second query over the rows of the first. The method is not one
    of those that DuckDB documents, so where it is missing the second query is made.
    """
    submit = getattr(cursor, "_submit", None)
    if submit is None:
        return Executed(cursor.execute(sql, dict(values) or None))
    result: Submitted = submit(sql, values or None, "arrow")
    return result


class Executed:
    """The query that a cursor ran last, as `Submitted`."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self.description = cursor.description

    def arrow_table(self) -> pa.Table:
        rows: pa.Table = self._cursor.to_arrow_table()  # type: ignore[assignment]  # None only where no query was run
        return rows

    def close(self) -> None:
        self._cursor.abort()
