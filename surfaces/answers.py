"""CallResult: what a call gave, as every surface takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..graphs.errors import JackfieldError
from ..graphs.model import Json
from ..nodes.blocking import in_thread
from ..nodes.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from ..engine.results import Page
    from ..engine.runs import Run


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call gave. A READ gives `table`, and a `page` of it where pages were asked for; anything else `value`.

    Where a stream was asked for `table` may be one; nothing else here then reads it.
    """

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

    @property
    def row_count(self) -> int | None:
        """How many rows `rows` has."""
        if self.page is not None:
            return self.page.row_count
        return None if self.table is None else self.table.num_rows

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

    def as_text(self) -> str:
        """`as_json`, encoded."""
        import msgspec

        return self.page.as_text() if self.page is not None else msgspec.json.encode(self.as_json()).decode()


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
    return any(event.kind == "capped" for event in run.trail.told)


async def read_whole(run: Run) -> None:
    """Read what streams there are among the outputs, which stay the same Tables."""
    for _, values in run.outputs:
        for value in values.values():
            if isinstance(value, Table) and value.is_stream:
                await in_thread(value.arrow, cancel=value.cancel)


def explained(stream: Table, explain: Callable[[JackfieldError], JackfieldError]) -> Table:
    """The same stream, whose errors are those that `explain` makes of them."""
    import pyarrow as pa

    reader = stream.reader()

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from reader
        except JackfieldError as error:
            raise explain(error) from error.__cause__

    rows = pa.RecordBatchReader.from_batches(stream.schema, batches())
    return Table.stream(rows, close=stream.close, cancel=stream.cancel)


def in_parts(table: Table, rows: int) -> Iterator[Table]:
    """Tables of `rows` rows each, the last of what is left. Blocks where a stream does, and leaves it to be closed."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    room = rows
    for batch in table.reader():
        rest = batch
        while rest.num_rows:
            part = rest.slice(0, room)
            rest = rest.slice(part.num_rows)
            held.append(part)
            room -= part.num_rows
            if not room:
                yield Table.whole(pa.Table.from_batches(held))
                held, room = [], rows
    if held:
        yield Table.whole(pa.Table.from_batches(held))
