"""CallResult: what a call gave, as every surface takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..graphs.model import Json
from ..nodes.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from ..engine.results import Page
    from ..engine.runs import Run


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call gave. A READ gives `table`, and a `page` of it where pages were asked for; anything else `value`."""

    tool: str
    category: str
    run: Run | None
    table: Table | None = None
    page: Page | None = None
    value: Json = None

    @property
    def rows(self) -> pa.Table | None:
        """The rows of the page, or all of them; None when the call gave a value."""
        if self.page is not None:
            return self.page.table
        if self.table is None:
            return None
        whole: pa.Table = self.table.arrow()
        return whole

    def as_json(self) -> Json:
        """`{rows, row_count, truncated, total_rows, truncation_reason, next_cursor}`, or the value as JSON."""
        from ..engine.json_rows import json_rows, json_value

        if self.page is not None:
            return self.page.as_json()
        if self.table is None:
            return json_value(self.value)
        rows = json_rows(self.table.arrow())
        capped = self.run is not None and was_capped(self.run)
        return {
            "rows": rows,
            "row_count": len(rows),
            "truncated": capped,
            "total_rows": None if capped else len(rows),
            "truncation_reason": "source_cap" if capped else None,
            "next_cursor": None,
        }


def result_of(name: str, category: str, run: Run) -> CallResult:
    """A run's answer: the table, where its output is one table; else its values by port, of a save the report alone."""
    values = dict(run.values)
    if "report" in values:
        values.pop("rows", None)
    if len(values) == 1 and isinstance(only := next(iter(values.values())), Table):
        return CallResult(name, category, run, table=only)
    return CallResult(name, category, run, value=values)


def was_capped(run: Run) -> bool:
    """Whether a source stopped at its page cap, so that there may be more rows than it gave."""
    return any(event.kind == "capped" for event in run.events)
