"""Bulkheads: how many calls of one connector run at once, and how many may wait. A sick upstream fills only its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from ..graphs.errors import Code, JackfieldError

RETRY_AFTER_S = 1.0


class Bulkheads:
    """One for each connector, made when it is first called."""

    def __init__(self, running: int, waiting: int) -> None:
        self._running = running
        self._waiting = waiting
        self._by_connector: dict[str, _Bulkhead] = {}

    @asynccontextmanager
    async def slot(self, connector: str) -> AsyncIterator[None]:
        """Holds a slot of `connector`. Raises OVERLOADED with a retry hint when too many wait for one already."""
        bulkhead = self._by_connector.get(connector)
        if bulkhead is None:
            bulkhead = self._by_connector[connector] = _Bulkhead(self._running)
        if bulkhead.free.value == 0 and bulkhead.waiting >= self._waiting:
            raise JackfieldError(
                Code.OVERLOADED,
                f"{self._running} calls of '{connector}' are running and {self._waiting} are waiting.",
                f"Try again in {RETRY_AFTER_S:g} s.",
                {"connector": connector, "retry_after_s": RETRY_AFTER_S},
                transient=True,
            )
        bulkhead.waiting += 1
        try:
            await bulkhead.free.acquire()
        finally:
            bulkhead.waiting -= 1
        try:
            yield
        finally:
            bulkhead.free.release()

    def depth(self) -> dict[str, tuple[int, int]]:
        """(running, waiting) by connector."""
        return {
            name: (self._running - bulkhead.free.value, bulkhead.waiting)
            for name, bulkhead in self._by_connector.items()
        }


class _Bulkhead:
    __slots__ = ("free", "waiting")

    def __init__(self, running: int) -> None:
        self.free = anyio.Semaphore(running, fast_acquire=True)
        self.waiting = 0
