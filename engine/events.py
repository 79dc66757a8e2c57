"""Events: the append-only facts of a run. Audit, progress, traces and `plan --analyze` all read this one stream.

What happens at every firing is kept as a short tuple and becomes an Event when somebody looks.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from ..graphs.model import EMPTY, Json

Listener = Callable[["Event"], None]
KEPT: Final = 100_000  # a map over many items would else fill memory with its events
clock: Final = time.perf_counter


class Paths(Protocol):
    """Names nodes: `parent/child` in a sub-graph."""

    def path(self, place: int) -> str: ...


@dataclass(frozen=True, slots=True)
class Event:
    """A fact: when (seconds since 1970), in which run, of which node (`parent/child` in a sub-graph; empty: the run).

    Kinds of the engine: run_started, started, finished, failed, retried, outcome_unknown, run_finished, run_failed.
    Others are what nodes note: pulled, pushed, saved … `facts` is JSON and never holds a secret.
    """

    at: float
    run: str
    node: str
    kind: str
    facts: Mapping[str, Json] = field(default_factory=lambda: EMPTY)

    def as_json(self) -> dict[str, Json]:
        return {"at": self.at, "run": self.run, "node": self.node, "kind": self.kind, **self.facts}


class Trail:
    """The events of one run, in the order they happened. With a listener each is told at once.

    `firings` holds (start, end, where, place, facts) of each completed firing, by `clock()`; `where.path(place)` is the
    node. Schedulers append to it directly. `told` holds all other events. Of either, the latest `KEPT` are kept.
    """

    __slots__ = ("_epoch", "firings", "listener", "run", "told")

    def __init__(self, run: str, listener: Listener | None) -> None:
        self.run = run
        self.listener = listener
        self.firings: deque[tuple[float, float, Paths, int, Mapping[str, Json]]] = deque(maxlen=KEPT)
        self.told: deque[Event] = deque(maxlen=KEPT)
        self._epoch = time.time() - clock()

    def tell(self, node: str, kind: str, facts: Mapping[str, Json] = EMPTY, *, at: float | None = None) -> None:
        """Add an event; `at` is a reading of `clock()`, now when absent."""
        event = Event(self._epoch + (clock() if at is None else at), self.run, node, kind, facts)
        self.told.append(event)
        if self.listener is not None:
            self.listener(event)

    def fired(self, began: float, where: Paths, place: int, facts: Mapping[str, Json]) -> None:
        """A firing that came to its end now. Its `started` has been told already if there is a listener."""
        ended = clock()
        if self.listener is None:
            self.firings.append((began, ended, where, place, facts))
        else:
            self.tell(where.path(place), "finished", {"seconds": ended - began, **facts}, at=ended)

    def show(self, node: str, kind: str, facts: Mapping[str, Json]) -> None:
        """Tell the listener only: progress is not kept."""
        if self.listener is not None:
            self.listener(Event(self._epoch + clock(), self.run, node, kind, facts))

    def let_go(self) -> None:
        """Of what ran keep the names of its nodes alone: for one who holds on to the trail and to nothing else."""
        self.listener = None
        named = [
            (began, ended, _Named(where.path(place)), 0, facts) for began, ended, where, place, facts in self.firings
        ]
        self.firings = deque(named, maxlen=KEPT)

    @property
    def count(self) -> int:
        """How many events there are."""
        return len(self.told) + 2 * len(self.firings)

    def events(self) -> tuple[Event, ...]:
        """All events so far, in order of time; a firing's `finished` carries its seconds."""
        epoch, run = self._epoch, self.run
        all_events = list(self.told)
        for start, end, where, place, facts in self.firings:
            node = where.path(place)
            all_events.append(Event(epoch + start, run, node, "started"))
            all_events.append(Event(epoch + end, run, node, "finished", {"seconds": end - start, **facts}))
        all_events.sort(key=_moment)
        return tuple(all_events)


class _Named:
    """A node that is known by its name alone."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def path(self, place: int) -> str:
        return self._name


def _moment(event: Event) -> Any:
    return event.at
