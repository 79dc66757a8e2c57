"""Blocking calls beside an event loop, and their cancellation."""

from __future__ import annotations

import threading

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from jackfield.nodes.blocking import in_thread


@pytest.mark.anyio
async def test_a_call_gives_its_result_or_its_error() -> None:
    assert await in_thread(lambda: 5, cancel=lambda: None) == 5
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0, cancel=lambda: None)


@pytest.mark.anyio
async def test_a_cancelled_call_is_told_and_waited_for_and_its_error_is_not_seen() -> None:
    begun, told, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        told.wait(5)
        ended.set()
        raise RuntimeError("cancelled, says the driver")

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:

            async def run() -> None:
                await in_thread(call, cancel=told.set)

            group.start_soon(run)
            await anyio.to_thread.run_sync(begun.wait)
            group.cancel_scope.cancel()
    assert ended.is_set()


@pytest.mark.anyio
async def test_a_call_cancelled_while_it_waits_for_a_thread_is_never_made() -> None:
    limiter, made, cancelled = anyio.CapacityLimiter(1), [], []
    release = threading.Event()

    async def run() -> None:
        await in_thread(lambda: made.append(1), cancel=lambda: cancelled.append(1), limiter=limiter)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as holder:
            holder.start_soon(lambda: in_thread(release.wait, limiter=limiter))
            await anyio.lowlevel.checkpoint()
            with anyio.move_on_after(0.05):
                await run()
            release.set()
    assert (made, cancelled) == ([], [])


@pytest.mark.anyio
async def test_many_cancelled_calls_end_although_every_thread_is_taken() -> None:
    told = threading.Event()

    async def run() -> None:
        await in_thread(lambda: told.wait(5), cancel=told.set)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for _ in range(60):
                group.start_soon(run)
            with anyio.move_on_after(0.1):
                await anyio.sleep_forever()
            group.cancel_scope.cancel()
    assert told.is_set()
