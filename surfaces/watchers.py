"""Watchers of the feed: each has a bounded queue of its own, and is told of what it missed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec

from .served import LOCAL

if TYPE_CHECKING:
    from .feed import Feed

QUEUE: Final = 1_000  # events of one watcher


@dataclass(frozen=True)
class FeedEvent:
    """`kind` is call_began, call_ended, node, catalog_changed or gap. `data` makes its JSON when it is sent."""

    id: str
    kind: str
    principal: str  # whose call it is; empty: everybody's
    data: Callable[[], Mapping[str, Any]]

    @cached_property
    def sent(self) -> bytes:
        """As a stream of server-sent events has it: made once, for all who watch."""
        return server_sent(self.id, self.kind, self.data())


class Watch:
    """One watcher's events. `resumed`: it goes on from where it was cut off, and needs no snapshot."""

    def __init__(self, feed: Feed, principal: str, nodes: bool, resumed: bool) -> None:
        self.nodes = nodes
        self.resumed = resumed
        self._feed = feed
        self._principal = principal
        self.held: deque[FeedEvent] = deque()
        self._missed = 0
        self._there = anyio.Event()

    @property
    def is_behind(self) -> bool:
        """It reads so slowly that it is to be told of calls alone."""
        return len(self.held) >= QUEUE // 2

    def miss(self, principal: str) -> None:
        """Count an event of a call of `principal` that it would have been told if it were not behind."""
        self._missed += may_see(self._principal, principal)

    def offer(self, event: FeedEvent) -> None:
        if event.principal and not may_see(self._principal, event.principal):
            return
        if len(self.held) >= QUEUE:
            self.held.popleft()
            self._missed += 1
        self.held.append(event)
        self._there.set()

    async def next(self, patience_s: float) -> list[FeedEvent]:
        """What there is, waited for at most that long. A `gap` first, where some of it was missed."""
        with anyio.move_on_after(patience_s):
            await self._there.wait()
        self._there = anyio.Event()
        held = [] if not self._missed else [self._feed.gap(self._missed)]
        held += self.held
        self._missed = 0
        self.held.clear()
        return held

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *failure: object) -> None:
        self._feed.leave(self)


def server_sent(id: str, kind: str, data: Mapping[str, Any]) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (id.encode(), kind.encode(), msgspec.json.encode(data, enc_hook=str))


def may_see(principal: str, owner: str) -> bool:
    """The operator sees all calls, everybody else their own."""
    return principal in (LOCAL, owner)
