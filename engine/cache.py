"""Rows pulled from sources, shared by runs: concurrent pulls of one key are one pull, kept as long as asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import anyio

from ..graphs.errors import JackfieldError
from ..nodes.table import Table

Tables = Mapping[str, Table]
Pull = Callable[[], Awaitable[Tables]]
SEPARATOR: Final = "|"


@dataclass(slots=True)
class _Pulling:
    """A pull under way. `result` stays None when the puller failed or was cancelled, and a waiter then pulls."""

    over: anyio.Event = field(default_factory=anyio.Event)
    result: Tables | None = None
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    tables: Tables
    until: float
    size: int


class TableCache:
    """Implements `base.SourceCache` within `max_bytes`; the least recently used goes first."""

    def __init__(self, max_bytes: int = 256 << 20) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._pulling: dict[str, _Pulling] = {}

    async def tables(self, key: str, ttl_s: float, pull: Pull) -> Tables:
        while True:
            kept = self._kept.get(key)
            if kept is not None:
                if anyio.current_time() < kept.until:
                    self._kept.move_to_end(key)
                    return kept.tables
                self._forget(key)
            under_way = self._pulling.get(key)
            if under_way is None:
                return await self._pull(key, ttl_s, pull)
            await under_way.over.wait()
            if isinstance(under_way.error, JackfieldError):
                raise replace(under_way.error)  # its own copy: the engine adds the node to it
            if under_way.error is not None:
                raise under_way.error
            if under_way.result is not None:
                return under_way.result

    async def _pull(self, key: str, ttl_s: float, pull: Pull) -> Tables:
        mine = self._pulling[key] = _Pulling()
        try:
            mine.result = await pull()
        except Exception as error:
            mine.error = error
            raise
        finally:
            mine.over.set()
            current = self._pulling.get(key) is mine  # else dropped meanwhile: what was pulled may be stale
            if current:
                del self._pulling[key]
        if current and ttl_s > 0:
            self._keep(key, mine.result, ttl_s)
        return mine.result

    def drop(self, connector: str) -> None:
        prefix = connector + SEPARATOR
        for key in [key for key in self._kept if key.startswith(prefix)]:
            self._forget(key)
        for key in [key for key in self._pulling if key.startswith(prefix)]:
            del self._pulling[key]

    @property
    def size(self) -> int:
        """Bytes kept."""
        return self._size

    def _keep(self, key: str, tables: Tables, ttl_s: float) -> None:
        size = sum(table.arrow().nbytes for table in tables.values())
        if size > self._max_bytes:
            return
        if key in self._kept:
            self._forget(key)
        self._kept[key] = _Kept(tables, anyio.current_time() + ttl_s, size)
        self._size += size
        while self._size > self._max_bytes:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: str) -> None:
        self._size -= self._kept.pop(key).size
