"""How a read that nobody waits for any more is ended, wherever its thread is by then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from ...graphs.errors import Code, JackfieldError

AGAIN_S: Final = 0.02


class Ending:
    """Told once, from any thread, that the read is given up; what blocks in it registers how it is interrupted."""

    __slots__ = ("_interrupts", "_told")

    def __init__(self) -> None:
        self._told = threading.Event()
        self._interrupts: list[Callable[[], None]] = []

    @property
    def told(self) -> bool:
        return self._told.is_set()

    def tell(self) -> None:
        if not self.told:
            self._told.set()
            threading.Thread(target=self._interrupt, name="jackfield-end", daemon=True).start()

    def check(self) -> None:
        """Raises CANCELLED when it was told."""
        if self.told:
            raise JackfieldError(Code.CANCELLED, "The file is not read any further: nobody waits for it.")

    @contextmanager
    def heard(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """While the block runs, `tell` calls `interrupt`. Raises as `check` when it was told before."""
        self._interrupts.append(interrupt)
        try:
            self.check()
            yield
        finally:
            self._interrupts.remove(interrupt)

    def _interrupt(self) -> None:
        # Again and again: an interrupt that comes before the statement begins is not heard.
        while interrupts := list(self._interrupts):
            for interrupt in interrupts:
                with suppress(Exception):  # of a connection that was closed this moment
                    interrupt()
            threading.Event().wait(AGAIN_S)
