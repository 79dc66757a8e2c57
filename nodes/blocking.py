"""Blocking calls in a worker thread that cancellation really ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from .table import nothing

T = TypeVar("T")


async def in_thread(
    call: Callable[[], T], *, cancel: Callable[[], None] = nothing, limiter: anyio.CapacityLimiter | None = None
) -> T:
    """Run `call` in a worker thread; when this task is cancelled, `cancel` makes the call return.

    The error by which the driver then reports its own cancellation never replaces the task's cancellation.
    """
    if cancel is nothing:
        return await anyio.to_thread.run_sync(call, limiter=limiter)
    finished = False
    result: list[T] = []

    async def watch() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            if not finished:
                cancel()

    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        await anyio.lowlevel.checkpoint()  # the watcher is waiting before the call begins
        try:
            result.append(await anyio.to_thread.run_sync(call, limiter=limiter))
        except Exception as error:
            failure = error
        finally:
            finished = True
        await anyio.lowlevel.checkpoint_if_cancelled()
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return result[0]
