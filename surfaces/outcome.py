"""Result: what a call gives to Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..graphs.errors import Code, JackfieldError

if TYPE_CHECKING:
    import pyarrow as pa

    from ..nodes.table import Table
    from .answers import CallResult


class Result:
    """The rows of a call, or its value where it gives none (a WRITE's report, an ACTION's response).

    Iterating gives the rows as dictionaries with Python values: dates, Decimals.
    """

    def __init__(self, answer: CallResult, save: Callable[..., Any]) -> None:
        self._answer = answer
        self._save = save

    @property
    def table(self) -> Table:
        """The rows as a Table. Raises SCHEMA_NOT_FOUND when the call gave a value, not rows."""
        if self._answer.table is None:
            raise JackfieldError(
                Code.SCHEMA_NOT_FOUND, f"'{self._answer.tool}' gave no rows.", "What it gave is in `.value`."
            )
        return self._answer.table

    @property
    def value(self) -> Any:
        """What the call gave, as JSON."""
        return self._answer.as_json()

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self.table.to_pylist()

    @property
    def graph_hash(self) -> str:
        """The hash of the graph that ran."""
        return self._answer.run.graph_hash if self._answer.run else ""

    def to_pylist(self) -> list[dict[str, Any]]:
        return self.table.to_pylist()

    def to_arrow(self) -> pa.Table:
        return self.table.arrow()

    def to_pandas(self) -> Any:
        """A pandas DataFrame; needs pandas installed."""
        return self.table.to_pandas()

    def save(self, path: str | Path, *, mode: str = "overwrite", key: Sequence[str] = ()) -> dict[str, Any]:
        """Write the rows into a file whose suffix says its format, whole or not at all; gives the save's report."""
        report: dict[str, Any] = self._save(self.table, path, mode=mode, key=tuple(key))
        return report

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return self.table.arrow().num_rows

    def __repr__(self) -> str:
        table = self._answer.table
        return f"Result({self._answer.tool}: {table!r})" if table is not None else f"Result({self._answer.tool})"
