"""What is read while what came before is being used."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from jackfield.nodes.databases.ahead import MOST, Ahead

PATIENCE_S = 5


def nothing() -> None:
    """A cancel of what ends by itself."""


class Numbers:
    """An iterator over numbers from 0; it waits before each that `may` does not let through."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.made: list[int] = []
        self.threads: set[str] = set()
        self.may = threading.Semaphore(0)
        self.began = threading.Event()
        self.full = threading.Event()

    def __iter__(self) -> Iterator[int]:
        for number in range(self.most):
            self.began.set()
            assert self.may.acquire(timeout=PATIENCE_S)
            self.threads.add(threading.current_thread().name)
            self.made.append(number)
            if len(self.made) > MOST:
                self.full.set()
            yield number


def test_items_come_in_their_order_from_another_thread() -> None:
    numbers = Numbers(1000)
    numbers.may.release(1000)
    assert list(Ahead(iter(numbers))) == list(range(1000))
    assert numbers.threads == {"jackfield-ahead"}


def test_no_more_is_read_ahead_than_may_wait() -> None:
    numbers = Numbers(1000)
    numbers.may.release(1000)
    ahead = Ahead(iter(numbers))
    assert next(ahead) == 0
    assert numbers.full.wait(PATIENCE_S)
    closed = threading.Event()
    ahead.stop(nothing, closed.set)
    assert closed.wait(PATIENCE_S)
    assert len(numbers.made) <= MOST + 2  # one was taken, one was being handed over


def test_an_error_comes_after_what_came_before_it() -> None:
    def failing() -> Iterator[int]:
        yield 1
        raise LookupError("gone")

    ahead = Ahead(failing())
    assert next(ahead) == 1
    for _ in range(2):
        with pytest.raises(LookupError, match="gone"):
            next(ahead)


def test_a_read_that_is_under_way_is_cancelled_and_what_it_reads_closed_after_it() -> None:
    numbers = Numbers(3)
    ahead = Ahead(iter(numbers))
    reader = threading.Thread(target=lambda: next(ahead, None))
    reader.start()
    assert numbers.began.wait(PATIENCE_S)
    order: list[str] = []
    closed = threading.Event()

    def cancel() -> None:
        order.append("cancelled")
        assert not closed.is_set()
        numbers.may.release()

    def close() -> None:
        order.append(threading.current_thread().name)
        closed.set()

    ahead.stop(cancel, close)
    assert closed.wait(PATIENCE_S)
    reader.join(PATIENCE_S)
    assert not reader.is_alive()
    assert order == ["cancelled", "jackfield-ahead"]


@pytest.mark.parametrize("read", [0, 3])
def test_what_is_not_being_read_is_closed_at_once(read: int) -> None:
    numbers = Numbers(2)
    numbers.may.release(2)
    ahead = Ahead(iter(numbers))
    assert len([next(ahead, None) for _ in range(read)]) == read
    order: list[str] = []
    ahead.stop(lambda: order.append("cancelled"), lambda: order.append("closed"))
    assert order == ["closed"]
    assert next(ahead, None) is None
