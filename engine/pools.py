"""Pools of long-lived resources by key: leased, given back, closed when idle too long, when old, and at the end.

Whether a resource is still healthy is for its user to know, who discards it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, NamedTuple, TypeVar

import anyio

from ..graphs.errors import Code, JackfieldError

R = TypeVar("R")


def _now() -> float:
    """`anyio.current_time()`, for less: every call asks."""
    return asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """`size` is a key's most resources at once; a resource idle for `idle_s`, or older than `age_s`, is closed."""

    size: int = 8
    idle_s: float = 60.0
    age_s: float = 1800.0
    wait_s: float = 10.0
    close_s: float = 2.0


class PoolCounts(NamedTuple):
    leased: int
    idle: int
    waiting: int


@dataclass(slots=True)
class Leased(Generic[R]):
    """Implements `base.Lease`."""

    value: R
    born: float
    discarded: bool = False

    def discard(self) -> None:
        self.discarded = True


@dataclass(slots=True)
class _Idle:
    value: Any
    born: float
    since: float
    close: Callable[[Any], Awaitable[None]]


@dataclass(slots=True)
class _Pool:
    """State of one key. `free` counts turns; a waiter owns the turn it was woken with."""

    free: int
    idle: deque[_Idle] = field(default_factory=deque)
    waiting: deque[anyio.Event] = field(default_factory=deque)


class _Leasing(AbstractAsyncContextManager[Leased[R]]):
    """One lease. A class, for a generator in its stead costs three times as much, with every look-up."""

    __slots__ = ("_close", "_leased", "_open", "_pool", "_pools")

    def __init__(
        self, pools: KeyedPools, pool: _Pool, open: Callable[[], Awaitable[R]], close: Callable[[R], Awaitable[None]]
    ) -> None:
        self._pools = pools
        self._pool = pool
        self._open = open
        self._close = close

    async def __aenter__(self) -> Leased[R]:
        pool = self._pool
        await self._pools.take_turn(pool)
        try:
            await self._pools.close_stale()
            if pool.idle:
                idle = pool.idle.pop()  # the most recent: the others may become idle enough to be closed
                leased = Leased(idle.value, idle.born)
            else:
                leased = Leased(await self._open(), _now())
        except BaseException:
            self._pools.pass_turn(pool)
            raise
        self._leased: Leased[R] = leased
        return leased

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and issubclass(kind, anyio.get_cancelled_exc_class()):
            self._leased.discard()  # cut off anywhere: its state is not known
        try:
            await self._pools.give_back(self._pool, self._leased, self._close)
        finally:
            self._pools.pass_turn(self._pool)


class KeyedPools:
    """Implements `base.Pools`. Close it with `aclose`."""

    def __init__(self, settings: PoolSettings | None = None) -> None:
        self._settings = settings or PoolSettings()
        self._pools: dict[str, _Pool] = {}
        self._closed = False

    def lease(
        self, key: str, open: Callable[[], Awaitable[R]], close: Callable[[R], Awaitable[None]]
    ) -> AbstractAsyncContextManager[Leased[R]]:
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = _Pool(self._settings.size)
        return _Leasing(self, pool, open, close)

    async def reap(self) -> None:
        """Close what is idle too long, for ever: a task of whoever owns the pools."""
        while True:
            await anyio.sleep(max(self._settings.idle_s / 2, 0.01))
            await self.close_stale()

    async def aclose(self) -> None:
        """Close all idle resources; those still leased are closed when they come back."""
        self._closed = True
        idle = [resource for pool in self._pools.values() for resource in pool.idle]
        for pool in self._pools.values():
            pool.idle.clear()
        for resource in idle:
            await self._shut(resource.close, resource.value)

    def counts(self) -> PoolCounts:
        """How many resources of all keys are leased and idle, and how many lessees wait."""
        size, pools = self._settings.size, self._pools.values()
        return PoolCounts(
            sum(size - pool.free for pool in pools),
            sum(len(pool.idle) for pool in pools),
            sum(len(pool.waiting) for pool in pools),
        )

    def idle(self, key: str) -> int:
        return len(self._pools[key].idle) if key in self._pools else 0

    async def take_turn(self, pool: _Pool) -> None:
        if pool.free and not pool.waiting:
            pool.free -= 1
            return
        woken = anyio.Event()
        pool.waiting.append(woken)
        try:
            with anyio.fail_after(self._settings.wait_s):
                await woken.wait()
        except BaseException as error:
            if woken.is_set():  # the turn came together with the cancellation
                self.pass_turn(pool)
            else:
                pool.waiting.remove(woken)
            if isinstance(error, TimeoutError):
                raise JackfieldError(
                    Code.OVERLOADED,
                    f"All {self._settings.size} connections to one source were in use for {self._settings.wait_s:g} s.",
                    "Try again; fewer calls at once, or shorter queries, would help.",
                    {"waited_s": self._settings.wait_s},
                    transient=True,
                ) from None
            raise

    def pass_turn(self, pool: _Pool) -> None:
        if pool.waiting:
            pool.waiting.popleft().set()
        else:
            pool.free += 1

    async def give_back(self, pool: _Pool, leased: Leased[R], close: Callable[[R], Awaitable[None]]) -> None:
        now = _now()
        if leased.discarded or self._closed or now - leased.born > self._settings.age_s:
            await self._shut(close, leased.value)
        else:
            pool.idle.append(_Idle(leased.value, leased.born, now, close))

    async def close_stale(self) -> None:
        now = _now()
        for pool in list(self._pools.values()):
            while pool.idle and now - pool.idle[0].since > self._settings.idle_s:
                stale = pool.idle.popleft()
                await self._shut(stale.close, stale.value)

    async def _shut(self, close: Callable[[Any], Awaitable[None]], value: Any) -> None:
        """Close, also under cancellation, but not for ever; a resource that fails to close is gone all the same."""
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + self._settings.close_s):
            try:
                await close(value)
            except Exception:
                return
