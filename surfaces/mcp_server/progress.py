"""A run's events as MCP progress: what nodes report, and each node that is done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import anyio

from .callers import Context

if TYPE_CHECKING:
    from ...engine.events import Event, Listener

QUEUE: Final = 64  # of a client that reads slowly; what it misses is of no use later
_Report = tuple[float, float | None, str]


@asynccontextmanager
async def reporting(ctx: Context) -> AsyncIterator[Listener | None]:
    """A listener that tells the client of this request how its run goes; None when the client did not ask."""
    if ctx.meta is None or ctx.meta.get("progress_token") is None:
        yield None
        return
    send, receive = anyio.create_memory_object_stream[_Report](QUEUE)
    reports = _Reports()

    def listen(event: Event) -> None:
        report = reports.of(event)
        if report is not None:
            with suppress(anyio.WouldBlock):
                send.send_nowait(report)

    async def forward() -> None:
        async with receive:
            async for done, total, message in receive:
                await ctx.session.report_progress(done, total, message or None)

    failed: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(forward)
        try:
            yield listen
        except Exception as error:  # the group would wrap it, and nobody know it again
            failed = error
        finally:
            send.close()
    if failed is not None:
        raise failed


class _Reports:
    """Progress must grow with every report (MCP, Progress), whichever node it is of."""

    def __init__(self) -> None:
        self._last = -1.0

    def of(self, event: Event) -> _Report | None:
        facts: Any = event.facts
        if event.kind == "progress":
            done, total, message = float(facts["done"]), facts["total"], facts["message"]
            if done <= self._last:
                done, total = self._last + 1, None
        elif event.kind == "finished" and event.node:
            done, total, message = self._last + 1, None, f"{event.node} is done"
        else:
            return None
        self._last = done
        return done, total, message
