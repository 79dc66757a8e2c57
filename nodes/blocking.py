"""Blocking calls in a worker thread that cancellation really ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from .table import nothing

T = TypeVar("T")


async def in_thread(
    call: Callable[[], T], *, cancel: Callable[[], None] = nothing, limiter: anyio.CapacityLimiter | None = None
) -> T:
    """Run `call` in a worker thread; when this task is cancelled, `cancel` makes the call return, and is waited for.

    The error by which the driver then reports its own cancellation never replaces the task's cancellation.
    """
    if cancel is nothing:
        return await anyio.to_thread.run_sync(call, limiter=limiter)
    # A watching task would do the same and cost more than a point look-up in a database does.
    begun, ended = threading.Lock(), threading.Lock()
    ended.acquire()

    def run() -> T:
        if not begun.acquire(blocking=False):
            raise RuntimeError("cancelled while it waited for a thread")  # nobody is left to hear it
        try:
            return call()
        finally:
            ended.release()

    try:
        return await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=limiter)
    except anyio.get_cancelled_exc_class():
        if not begun.acquire(blocking=False):
            cancel()
            with anyio.CancelScope(shield=True):
                # A limiter of its own: all threads of the usual one may be waiting for this.
                await anyio.to_thread.run_sync(ended.acquire, limiter=anyio.CapacityLimiter(1))
        raise
