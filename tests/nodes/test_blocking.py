"""Blocking calls beside an event loop, and their cancellation."""

from __future__ import annotations

import threading
from contextvars import ContextVar

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from jackfield.nodes.blocking import MOST, Workers, crowd, in_thread


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
    workers, made, cancelled = Workers(1), [], []
    begun, release = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        release.wait(5)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as holder:
            holder.start_soon(workers.run, hold, release.set)
            await anyio.to_thread.run_sync(begun.wait)
            with anyio.move_on_after(0.05):
                await workers.run(lambda: made.append(1), lambda: cancelled.append(1))
            release.set()
        await workers.run(lambda: None, release.set)
    assert (made, cancelled) == ([], [])


@pytest.mark.anyio
async def test_a_call_of_a_task_that_is_cancelled_already_is_never_made() -> None:
    made: list[int] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        await in_thread(lambda: made.append(1), cancel=lambda: None)
    assert scope.cancelled_caught
    await in_thread(lambda: None, cancel=lambda: None)
    assert made == []


@pytest.mark.anyio
async def test_a_call_may_need_another_to_go_on_and_threads_are_used_again() -> None:
    workers, names = Workers(2), set()
    for _ in range(50):
        met = threading.Barrier(2)

        def meet(met: threading.Barrier = met) -> None:
            met.wait(5)
            names.add(threading.current_thread().ident)

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(workers.run, meet, met.abort)
                group.start_soon(workers.run, meet, met.abort)
    assert len(names) == 2


@pytest.mark.anyio
async def test_a_thread_ends_when_nobody_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jackfield.nodes.blocking.IDLE_S", 0.01)
    workers = Workers(1)
    first = await workers.run(threading.current_thread, lambda: None)
    await anyio.to_thread.run_sync(first.join, 5)
    assert not first.is_alive()
    assert await workers.run(threading.current_thread, lambda: None) is not first


@pytest.mark.anyio
async def test_a_call_sees_the_context_of_its_task() -> None:
    place: ContextVar[str] = ContextVar("place")
    place.set("here")
    assert await in_thread(place.get, cancel=lambda: None) == "here"


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


@pytest.mark.anyio
async def test_a_crowd_whose_calls_all_hang_takes_no_thread_of_another() -> None:
    release, stuck = threading.Event(), threading.Semaphore(0)

    def hang() -> None:
        stuck.release()
        release.wait(10)

    async def sick(cancel: bool) -> None:
        with crowd("sick"):
            await (in_thread(hang, cancel=release.set) if cancel else in_thread(hang))

    try:
        async with anyio.create_task_group() as tasks:
            for number in range(100):
                tasks.start_soon(sick, number % 2 == 0)
            await anyio.to_thread.run_sync(lambda: [stuck.acquire(timeout=5) for _ in range(MOST)])
            with anyio.fail_after(2), crowd("well"):
                assert await in_thread(lambda: 5) == 5
                assert await in_thread(lambda: 6, cancel=lambda: None) == 6
            release.set()
    finally:
        release.set()


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["", "some"])
async def test_a_call_that_nothing_can_end_may_be_left_behind(name: str) -> None:
    release, begun = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        release.wait(10)

    try:
        with anyio.fail_after(5), crowd(name):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: in_thread(hang, abandon=True))
                await anyio.to_thread.run_sync(begun.wait)
                tasks.cancel_scope.cancel()
        assert not release.is_set()
    finally:
        release.set()
