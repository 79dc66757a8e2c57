"""Blocking calls in a worker thread that cancellation really ends.

Threads are a resource that a sick upstream could use up: what is called within `crowd(name)` has threads of its own.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import Any, Final, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from .table import nothing

T = TypeVar("T")
MOST: Final = 40
IDLE_S: Final = 10.0
_CROWD: Final[ContextVar[str]] = ContextVar("jackfield_crowd", default="")


async def in_thread(call: Callable[[], T], *, cancel: Callable[[], None] = nothing, abandon: bool = False) -> T:
    """Run `call` in a worker thread; when this task is cancelled, `cancel` makes the call return, and is waited for.

    The error by which the driver then reports its own cancellation never replaces the task's cancellation. A call that
    nothing can end may be left behind with `abandon`: its thread stays taken until it returns.
    """
    name = _CROWD.get()
    if name or cancel is not nothing:
        return await _workers(name).run(call, cancel, abandon=abandon)
    return await anyio.to_thread.run_sync(call, abandon_on_cancel=abandon)


@contextmanager
def crowd(name: str) -> Iterator[None]:
    """Within this block, and in tasks begun there, blocking calls run in threads that only this crowd uses."""
    token = _CROWD.set(name)
    try:
        yield
    finally:
        _CROWD.reset(token)


def current_crowd() -> str:
    """The crowd of this block; empty outside of any."""
    return _CROWD.get()


class _Job:
    __slots__ = ("begun", "call", "context", "error", "future", "loop", "over", "result")

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call: Callable[[], Any] | None = call
        self.context = copy_context()
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = self.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None
        self.begun = False
        self.over = False


class Workers:
    """At most `most` threads, each of which ends when it has had nothing to do for a while.

    They do what `anyio.to_thread` does for two thirds of its cost, which is as much as a look-up in a database takes of
    us. They are daemons: a call that nobody can end does not keep the process from ending.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._threads = 0
        self._free = 0  # threads that have nothing to do, less the jobs on their way to them
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()

    async def run(self, call: Callable[[], T], cancel: Callable[[], None], *, abandon: bool = False) -> T:
        """See `in_thread`. A call that is cancelled while it waits for a thread is never made."""
        await anyio.lowlevel.checkpoint_if_cancelled()
        job = _Job(call)
        with self._lock:
            self._free -= 1
            is_short = self._free < 0 and self._threads < self._most
            self._threads += is_short
            self._free += is_short
        self._jobs.put(job)
        if is_short:
            threading.Thread(target=self._work, name="jackfield-worker", daemon=True).start()
        try:
            await job.future
        except asyncio.CancelledError:
            await self._leave(job, cancel, abandon)
            raise
        if job.error is not None:
            try:
                raise job.error
            finally:
                del job  # its error knows this frame
        result: T = job.result
        return result

    async def _leave(self, job: _Job, cancel: Callable[[], None], abandon: bool) -> None:
        with self._lock:
            job.call = None  # the thread that takes it now passes over it
            if job.over or not job.begun or abandon:
                return
            future = job.future = job.loop.create_future()  # the one that was waited for is cancelled
        cancel()
        with anyio.CancelScope(shield=True):
            await future

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=IDLE_S)
            except queue.Empty:
                with self._lock:
                    if self._free <= 0:
                        continue  # a job is on its way
                    self._free -= 1
                    self._threads -= 1
                    return
            with self._lock:
                call, job.call = job.call, None
                job.begun = call is not None
            if call is not None:
                try:
                    job.result = job.context.run(call)
                except BaseException as error:
                    job.error = error
            with self._lock:
                job.over = True
                self._free += 1
            # Last, for it wakes the other thread, which then waits for whatever this one still does.
            with suppress(RuntimeError):  # the loop has ended: nobody waits
                job.loop.call_soon_threadsafe(_resolve, job.future)
            del job, call


_crowds: Final[dict[str, Workers]] = {}


def _workers(name: str) -> Workers:
    found = _crowds.get(name)
    if found is None:
        found = _crowds[name] = Workers()
    return found


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
