"""`rate_limit`: at most so many requests in so many seconds, over all runs of one source in this process."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final

import anyio
from pydantic import Field

from ..base import Configuration

_KEPT: Final = 1000  # sources whose limiters are remembered


class RateLimit(Configuration):
    """At most `requests` in any `per_s` seconds."""

    requests: int = Field(gt=0, description="Requests at most")
    per_s: float = Field(1, gt=0, description="in so many seconds")


class Limiter:
    """Takes of the last `requests` turns; the next waits until the oldest is `per_s` seconds ago."""

    def __init__(self, limit: RateLimit) -> None:
        self._per_s = limit.per_s
        self._turns: deque[float] = deque(maxlen=limit.requests)

    async def turn(self) -> None:
        """Wait for a turn. Turns are given in the order of asking; one whose waiter is cancelled is lost."""
        now = anyio.current_time()
        full = len(self._turns) == self._turns.maxlen
        start = max(now, self._turns[0] + self._per_s) if full else now
        self._turns.append(start)
        if start > now:
            await anyio.sleep(start - now)


_limiters: OrderedDict[tuple[str, ...], Limiter] = OrderedDict()


def limiter_of(limit: RateLimit | None, *key: str) -> Limiter | None:
    """The limiter that every run of this source shares."""
    if limit is None:
        return None
    place = (*key, f"{limit.requests}/{limit.per_s}")
    limiter = _limiters.pop(place, None) or Limiter(limit)
    _limiters[place] = limiter
    while len(_limiters) > _KEPT:
        _limiters.popitem(last=False)
    return limiter
