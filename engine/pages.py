"""What an answer in pages is made of: a page, where more rows are kept, and the whole of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from ..nodes.table import Table
from .json_rows import json_rows

if TYPE_CHECKING:
    import pyarrow as pa


class Shape(Protocol):
    """How an answer is cut: `max_rows` over all pages, `max_bytes` of JSON on a page."""

    @property
    def max_rows(self) -> int: ...

    @property
    def max_bytes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Kept:
    """Where the rows of an answer lie: how many of those that were found."""

    name: str
    rows: int
    found: int


@dataclass(frozen=True, slots=True)
class Page:
    """`truncated`: there are rows after those of this page. Why is `truncation_reason`:

    `page_size` and `token_budget` (bytes) go on at `next_cursor`; `result_cap` (rows over all pages) and `source_cap`
    (a source stopped early) do not. `total_rows` is None when nobody counted them. `kept`: where more rows are.
    """

    rows: Table
    truncated: bool
    total_rows: int | None
    truncation_reason: str | None
    next_cursor: str | None
    row_texts: tuple[str, ...] = field(repr=False, compare=False)  # the JSON of each row
    kept: Kept | None = None

    @property
    def table(self) -> pa.Table:
        return self.rows.arrow()

    @property
    def row_count(self) -> int:
        return len(self.row_texts)

    def as_json(self) -> dict[str, Any]:
        return {"rows": json_rows(self.table), "row_count": self.row_count, **self._facts()}

    def as_text(self) -> str:
        """`as_json`, encoded."""
        rest = msgspec.json.encode({"row_count": self.row_count, **self._facts()}).decode()
        return f'{{"rows":[{",".join(self.row_texts)}],{rest[1:]}'

    def _facts(self) -> dict[str, Any]:
        return {
            "truncated": self.truncated,
            "total_rows": self.total_rows,
            "truncation_reason": self.truncation_reason,
            "next_cursor": self.next_cursor,
        }


@dataclass(frozen=True, slots=True)
class Whole:
    """All that is kept of an answer. `end` says why there are more rows; None when there are none.

    `result_cap`: more were found than the store had room for. `source_cap`: a source stopped early.
    """

    table: pa.Table
    tool: str
    end: str | None
    total_rows: int | None
    expires: float
