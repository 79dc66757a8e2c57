"""Putting what was written onto the disk: a full file in a thread of its own, for that may take long."""

from __future__ import annotations

import os
import threading


class Settling:
    """Full files on their way to the disk. `join` waits for them."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def start(self, descriptor: int) -> None:
        """Sync and close the file."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=_settle, args=(descriptor,), name="jackfield-audit")
        self._threads.append(thread)
        thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()
        self._threads.clear()


def sync(descriptor: int) -> None:
    """As far as the device can."""
    try:
        os.fsync(descriptor)
    except OSError:
        return  # the lines are in its hands already


def _settle(descriptor: int) -> None:
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)
