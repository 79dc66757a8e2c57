"""Reading ahead: what a database sends is read while what it sent before is still being used."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, Generic, TypeVar

T = TypeVar("T")
MOST: Final = 2  # batches of about 16 MB, each, that wait for their reader
JOIN_S: Final = 0.5


class Ahead(Generic[T]):
    """An iterator over `items`, which a thread of its own asks for from the first `next` on.

    At most `MOST` items wait. An error of `items` comes in its place. `stop` is called once, by any thread.
    """

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._waiting: deque[T] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._is_over = False
        self._at_stop: Callable[[], None] | None = None

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        with self._changed:
            if self._thread is None and not self._is_over:
                self._thread = threading.Thread(target=self._read, name="jackfield-ahead", daemon=True)
                self._thread.start()
            while not self._waiting and not self._is_over:
                self._changed.wait()
            if self._waiting:
                self._changed.notify_all()
                return self._waiting.popleft()
            if self._error is not None:
                raise self._error
            raise StopIteration

    def stop(self, cancel: Callable[[], None], close: Callable[[], None]) -> None:
        """Ask for no more. `close` is called when nothing reads `items`; `cancel` makes a read under way end soon.

        Waits a moment for that; a read that does not end in it is followed by `close` when it does.
        """
        with self._changed:
            self._waiting.clear()
            thread = self._thread
            is_reading = thread is not None and not self._is_over
            if is_reading:
                self._at_stop = close
            self._is_over = True
            self._changed.notify_all()
        if not is_reading or thread is None:
            close()
            return
        cancel()
        if thread is not threading.current_thread():
            thread.join(JOIN_S)

    def _read(self) -> None:
        try:
            for item in self._items:
                if not self._hand_over(item):
                    break
        except BaseException as error:
            self._error = error
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
            at_stop = self._at_stop
        if at_stop is not None:
            at_stop()

    def _hand_over(self, item: T) -> bool:
        """Whether there is to be another."""
        with self._changed:
            while len(self._waiting) >= MOST and not self._is_over:
                self._changed.wait()
            if self._is_over:
                return False
            self._waiting.append(item)
            self._changed.notify_all()
            return True
