"""What one run may use: rows and bytes that its sources give."""

from __future__ import annotations

from ..graphs.errors import Code, JackfieldError


class CountedBudget:
    """Implements `base.Budget`. None is no limit."""

    __slots__ = ("bytes", "max_bytes", "max_rows", "rows")

    def __init__(self, max_rows: int | None, max_bytes: int | None) -> None:
        self.max_rows = max_rows
        self.max_bytes = max_bytes
        self.rows = 0
        self.bytes = 0

    def spend_rows(self, rows: int) -> None:
        self.rows += rows
        if self.max_rows is not None and self.rows > self.max_rows:
            raise _exceeded("rows", self.rows, self.max_rows)

    def spend_bytes(self, size: int) -> None:
        self.bytes += size
        if self.max_bytes is not None and self.bytes > self.max_bytes:
            raise _exceeded("bytes", self.bytes, self.max_bytes)


def _exceeded(unit: str, used: int, limit: int) -> JackfieldError:
    return JackfieldError(
        Code.BUDGET_EXCEEDED,
        f"The call read {used:,} {unit}; its budget is {limit:,}.",
        "Ask for less (a narrower filter, fewer columns), or raise the limit.",
        {"unit": unit, "used": used, "limit": limit},
    )
