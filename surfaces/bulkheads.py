"""Bulkheads: how many calls of one connector run at once, and how many may wait. A sick upstream fills only its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

import anyio

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Json
from ..nodes.base import Client, Question

RETRY_AFTER_S = 1.0
T = TypeVar("T")


class Bulkheads:
    """One for each connector, made when it is first called."""

    def __init__(self, running: int, waiting: int) -> None:
        self._running = running
        self._waiting = waiting
        self._by_connector: dict[str, _Bulkhead] = {}

    def slot(self, connector: str) -> Slot:
        """Holds a slot of `connector`, as a block does. Entering raises OVERLOADED when too many wait already."""
        bulkhead = self._by_connector.get(connector)
        if bulkhead is None:
            bulkhead = self._by_connector[connector] = _Bulkhead(connector, self._running, self._waiting)
        return Slot(bulkhead)

    def depth(self) -> dict[str, tuple[int, int]]:
        """(running, waiting) by connector."""
        return {
            name: (self._running - bulkhead.free.value, bulkhead.waiting)
            for name, bulkhead in self._by_connector.items()
        }


class Slot(AbstractAsyncContextManager["Slot"]):
    """A place of a connector, while a call has it. Nobody needs it while the call waits for a person."""

    __slots__ = ("_asking", "_bulkhead", "_taking", "held")

    def __init__(self, bulkhead: _Bulkhead) -> None:
        self.held = False
        self._bulkhead = bulkhead
        self._asking = 0
        self._taking: anyio.Lock | None = None

    async def __aenter__(self) -> Slot:
        await self._bulkhead.enter()
        self.held = True
        return self

    async def __aexit__(self, *failure: object) -> None:
        if self.held:
            self._bulkhead.free.release()

    def lent(self, client: Client | None) -> Client | None:
        """`client`, who is asked without the slot."""
        return None if client is None else _Patient(client, self)

    async def without(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What `ask` gives. The slot is free until the last of what a call asks at once is answered."""
        self._asking += 1
        self._taking = self._taking or anyio.Lock()
        if self.held:
            self.held = False
            self._bulkhead.free.release()
        try:
            answer = await ask()
        finally:
            self._asking -= 1
        async with self._taking:
            if not self._asking and not self.held:
                await self._bulkhead.free.acquire()
                self.held = True
        return answer


class _Patient:
    """Implements `Client`."""

    def __init__(self, client: Client, slot: Slot) -> None:
        self._client, self._slot = client, slot

    def takes(self, question: Question) -> bool:
        return self._client.takes(question)

    async def ask(self, questions: Sequence[Question]) -> Mapping[str, Mapping[str, Json]]:
        return await self._slot.without(lambda: self._client.ask(questions))

    async def log(self, level: str, data: Json, logger: str = "") -> None:
        await self._client.log(level, data, logger)


class _Bulkhead:
    __slots__ = ("connector", "free", "most", "running", "waiting")

    def __init__(self, connector: str, running: int, most: int) -> None:
        self.connector = connector
        self.running = running
        self.most = most  # that may wait
        self.free = anyio.Semaphore(running, fast_acquire=True)
        self.waiting = 0

    async def enter(self) -> None:
        if self.free.value == 0 and self.waiting >= self.most:
            raise JackfieldError(
                Code.OVERLOADED,
                f"{self.running} calls of '{self.connector}' are running and {self.most} are waiting.",
                f"Try again in {RETRY_AFTER_S:g} s.",
                {"connector": self.connector, "retry_after_s": RETRY_AFTER_S},
                transient=True,
            )
        self.waiting += 1
        try:
            await self.free.acquire()
        finally:
            self.waiting -= 1
