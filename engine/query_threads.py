"""Threads for queries, which may be left behind: one function over a large value does not hear `interrupt()`.

Queries of one crowd (a served connector) run in three quarters of the threads at most: the rest are for others.

A caller who is cancelled waits a moment for its query to end and then leaves. The thread stays counted until its query
ends; when too many are stuck, new queries are refused, so that they can not pile up until the process is sick.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

import anyio

from ..graphs.errors import Code, JackfieldError
from ..nodes.blocking import current_crowd
from ..nodes.table import nothing

T = TypeVar("T")
GRACE_S: Final = 0.4  # an interrupt is heard within milliseconds, or not for seconds
CLOSE_S: Final = 1.0


class _Job:
    __slots__ = ("after", "call", "error", "future", "loop", "over", "result", "started", "stuck")

    def __init__(self, call: Callable[[], Any], after: Callable[[], None]) -> None:
        self.call: Callable[[], Any] | None = call
        self.after = after
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = self.loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None
        self.started = False
        self.over = False
        self.stuck = False


class QueryThreads:
    """At most `size` queries at a time; `waiting` more wait their turn; `max_stuck` may be left behind.

    The threads are daemons: a stuck query does not keep the process from ending.
    """

    def __init__(self, size: int, waiting: int, max_stuck: int) -> None:
        self.size = size
        self.waiting = waiting
        self.max_stuck = max_stuck
        self.stuck = 0
        self._turns: dict[str, anyio.Semaphore] = {}
        self._threads: set[threading.Thread] = set()
        self._free = 0  # threads that have nothing to do, less the jobs on their way to them
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()

    async def run(self, call: Callable[[], T], cancel: Callable[[], None], after: Callable[[], None] = nothing) -> T:
        """What `call` gives, from a thread; `after` tidies up there, and nobody waits for it.

        When this task is cancelled, `cancel` is called; it must not wait, and makes `call` end soon.
        Raises OVERLOADED when too many queries wait or are stuck.
        """
        name = current_crowd()
        if not name:
            return await self._run(call, cancel, after)
        turn = self._turns.get(name)
        if turn is None:
            turn = self._turns[name] = anyio.Semaphore(max(1, self.size * 3 // 4), fast_acquire=True)
        async with turn:
            return await self._run(call, cancel, after)

    async def _run(self, call: Callable[[], T], cancel: Callable[[], None], after: Callable[[], None]) -> T:
        job = _Job(call, after)
        with self._lock:
            self._admit()
            self._free -= 1
            self._grow()
        self._jobs.put(job)
        try:
            await job.future
        except asyncio.CancelledError:
            await self._leave(job, cancel)
            raise
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def close(self) -> None:
        """End the threads that have nothing to do, and wait for them; those that are stuck end later."""
        with self._lock:
            threads = list(self._threads)
            for _ in threads:
                self._jobs.put(None)
        for thread in threads:
            thread.join(0.0 if self.stuck else CLOSE_S)

    def _admit(self) -> None:
        if self.stuck >= self.max_stuck:
            raise JackfieldError(
                Code.OVERLOADED,
                f"{self.stuck} queries did not hear that they were cancelled and are still running.",
                "Try again when they have ended.",
                {"stuck": self.stuck},
                transient=True,
            )
        if self._jobs.qsize() >= self.waiting:
            raise JackfieldError(
                Code.OVERLOADED,
                f"{self.waiting} queries wait for their turn.",
                "Try again in a moment.",
                {"waiting": self.waiting},
                transient=True,
            )

    async def _leave(self, job: _Job, cancel: Callable[[], None]) -> None:
        with self._lock:
            if not job.started:
                job.call = None  # the thread that takes it passes over it
            if job.over or job.call is None:
                return
            job.future = job.loop.create_future()  # the one that was waited for is cancelled
        cancel()
        with anyio.CancelScope(shield=True), anyio.move_on_after(GRACE_S):
            await job.future
        with self._lock:
            if not job.over:
                job.stuck = True
                self.stuck += 1
                self._grow()

    def _grow(self) -> None:
        """Another thread where a job waits and there may be one. Under the lock."""
        if self._free < 0 and len(self._threads) < self.size + self.stuck:
            thread = threading.Thread(target=self._work, name="jackfield-query", daemon=True)
            self._threads.add(thread)
            self._free += 1
            thread.start()

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            with self._lock:
                call = None if job is None else job.call
                if job is None:
                    self._threads.discard(threading.current_thread())
                    return
                job.started = call is not None
            if call is not None:
                try:
                    job.result = call()
                except BaseException as error:
                    job.error = error
                stays = self._finish(job)
                job.after()
                if not stays:
                    return
            del job, call
            with self._lock:
                self._free += 1

    def _finish(self, job: _Job) -> bool:
        """Tell the caller. False when this thread was replaced while it was stuck, and ends."""
        with self._lock:
            job.over = True
            stays = not job.stuck
            if job.stuck:
                self.stuck -= 1
                self._threads.discard(threading.current_thread())
        with suppress(RuntimeError):  # the loop has ended: nobody waits
            job.loop.call_soon_threadsafe(_resolve, job.future)
        return stays


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
