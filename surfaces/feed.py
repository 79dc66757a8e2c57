"""The feed: what is called now and was called last, and whoever watches it is told as it happens.

Nobody waits for a watcher: one that reads too slowly misses what is oldest, and is told how much. The events of nodes
are asked of the engine only while somebody watches them.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import anyio
import msgspec

from ..engine.audit.redaction import Redaction
from ..engine.events import Event
from ..nodes.secrets import HIDDEN
from ..nodes.secrets import redacted as redacted_text
from .faults import redacted, redacted_json
from .served import LOCAL, ServedCall

RECENT: Final = 500
HISTORY: Final = 2_000  # events that a watcher who was cut off can still be given
QUEUE: Final = 1_000  # of one watcher
MOST_EVENTS: Final = 10_000  # of one run that are kept; a longer one was watched live or not at all
SHORT: Final = 1_024  # characters of an argument that is kept as it is
PLAIN: Final = frozenset((int, float, bool, type(None)))

Redact = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """`kind` is call_began, call_ended, node, catalog_changed or gap. `data` makes its JSON when it is sent."""

    id: str
    kind: str
    principal: str  # whose call it is; empty: everybody's
    data: Callable[[], Mapping[str, Any]]


class Feed:
    """An observer of served calls. `redact` takes out the secrets that the app has resolved."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._redaction = Redaction(redact=redact)
        self._epoch = secrets.token_hex(4)
        self._count = 0
        self._live: dict[str, ServedCall] = {}
        self._recent: deque[ServedCall] = deque(maxlen=RECENT)
        self._history: deque[FeedEvent] = deque(maxlen=HISTORY)
        self._watchers: set[Watch] = set()

    def call_began(self, call: ServedCall) -> None:
        self._live[call.run] = call
        principal = call.caller.principal
        if any(watcher.nodes for watcher in self._watchers):
            cleaned = self._cleaner(call)
            call.listeners.append(lambda event: self._node(principal, event, cleaned))
        light = self._light(call)
        self._tell("call_began", principal, lambda: self._begun(light))

    def call_ended(self, call: ServedCall) -> None:
        self._live.pop(call.run, None)
        call.listeners.clear()
        if call.trail is not None:
            call.trail.let_go()
        light = self._light(call)
        if light.trail is not None and light.trail.count > MOST_EVENTS:
            light = replace(light, trail=None)
        self._recent.append(light)
        self._tell("call_ended", call.caller.principal, lambda: self._ended(light))

    def catalog_changed(self, connectors: int, tools: int, findings: int) -> None:
        facts = {"connectors": connectors, "tools": tools, "findings": findings}
        self._tell("catalog_changed", "", lambda: facts)

    def live(self, principal: str = LOCAL) -> list[dict[str, Any]]:
        """The calls under way that `principal` may see, the oldest first."""
        return [self._begun(call) for call in self._live.values() if may_see(principal, call.caller.principal)]

    def recent(self, principal: str = LOCAL, most: int = RECENT) -> list[dict[str, Any]]:
        """The calls that ended last and that `principal` may see, the newest first."""
        found: list[dict[str, Any]] = []
        for call in reversed(self._recent):
            if len(found) >= most:
                break
            if may_see(principal, call.caller.principal):
                found.append(self._ended(call))
        return found

    def run(self, run: str, principal: str = LOCAL) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
        """A call and the events of its run so far; None for a run that is not, or not any more, remembered."""
        live = self._live.get(run)
        call = live or next((one for one in reversed(self._recent) if one.run == run), None)
        if call is None or not may_see(principal, call.caller.principal):
            return None
        events = () if call.trail is None else call.trail.events()[-MOST_EVENTS:]
        shown = self._begun(call) if live else self._ended(call)
        return shown, list(map(self._cleaner(call), events))

    def watch(self, principal: str, *, nodes: bool = True, after: str = "") -> Watch:
        """Begin to listen. `after` is the id of the last event that was seen: what came since then is given first."""
        missed = self._since(after)
        watcher = Watch(self, principal, nodes, missed is not None)
        for event in missed or ():
            watcher.offer(event)
        self._watchers.add(watcher)
        return watcher

    def leave(self, watcher: Watch) -> None:
        self._watchers.discard(watcher)

    @property
    def watchers(self) -> int:
        return len(self._watchers)

    @property
    def position(self) -> str:
        """The id of the last event."""
        return f"{self._epoch}-{self._count}"

    def gap(self, missed: int) -> FeedEvent:
        return FeedEvent(self.position, "gap", "", lambda: {"missed": missed})

    def _since(self, after: str) -> list[FeedEvent] | None:
        """The events after that id; None when it is of another process, or too long ago."""
        epoch, _, number = after.partition("-")
        if epoch != self._epoch or not number.isdecimal():
            return None
        behind = self._count - int(number)
        if behind < 0 or behind > len(self._history):
            return None
        return list(self._history)[len(self._history) - behind :]

    def _node(self, principal: str, event: Event, cleaned: Callable[[Event], dict[str, Any]]) -> None:
        """Told to watchers alone: a run's own events are kept with the run."""
        told = FeedEvent(self.position, "node", principal, lambda: cleaned(event))
        for watcher in self._watchers:
            if watcher.nodes:
                watcher.offer(told)

    def _tell(self, kind: str, principal: str, data: Callable[[], Mapping[str, Any]]) -> None:
        self._count += 1
        event = FeedEvent(self.position, kind, principal, data)
        self._history.append(event)
        for watcher in self._watchers:
            watcher.offer(event)

    def _light(self, call: ServedCall) -> ServedCall:
        """The call to be held on to: itself, unless its arguments are large."""
        if all(is_short(value) for value in call.arguments.values()):
            return call
        return replace(call, arguments=self._arguments(call))

    def _arguments(self, call: ServedCall) -> Any:
        """As the audit shows them: without secrets, and cut where they are long."""
        shown, _ = self._redaction.arguments(call.arguments, call.sensitive)
        return msgspec.json.decode(shown) if isinstance(shown, msgspec.Raw) else shown

    def _begun(self, call: ServedCall) -> dict[str, Any]:
        caller = call.caller
        return {
            "run": call.run,
            "name": call.name[:256],
            "connector": call.connector,
            "tool": call.tool,
            "category": call.category,
            "principal": caller.principal,
            "client": caller.client,
            "era": caller.era,
            "session": caller.session_id,
            "at": call.at,
            "state": "running",
            "arguments": self._arguments(call),
        }

    def _ended(self, call: ServedCall) -> dict[str, Any]:
        return {
            **self._begun(call),
            "state": "done" if call.error is None else "failed",
            "seconds": call.seconds,
            "rows": call.rows,
            "bytes": call.bytes,
            "cached": call.cached,
            "pushed": call.pushed,
            "error": None if call.error is None else redacted(call.error, self._redact).as_json(),
        }

    def _cleaner(self, call: ServedCall) -> Callable[[Event], dict[str, Any]]:
        """Events as they may be shown: a failure holds its message as a node gave it, a scan the values it is for."""
        _, hidden = self._redaction.arguments(call.arguments, call.sensitive)
        values = bool(call.sensitive or hidden)

        def cleaned(event: Event) -> dict[str, Any]:
            told = event.as_json()
            if values and "scan" in told:
                told["scan"] = HIDDEN
            shown: dict[str, Any] = redacted_json(told, lambda text: redacted_text(self._redact(text), hidden))
            return shown

        return cleaned


class Watch:
    """One watcher's events. `resumed`: it goes on from where it was cut off, and needs no snapshot."""

    def __init__(self, feed: Feed, principal: str, nodes: bool, resumed: bool) -> None:
        self.nodes = nodes
        self.resumed = resumed
        self._feed = feed
        self._principal = principal
        self._held: deque[FeedEvent] = deque()
        self._missed = 0
        self._there = anyio.Event()

    def offer(self, event: FeedEvent) -> None:
        if event.principal and not may_see(self._principal, event.principal):
            return
        if len(self._held) >= QUEUE:
            self._held.popleft()
            self._missed += 1
        self._held.append(event)
        self._there.set()

    async def next(self, patience_s: float) -> list[FeedEvent]:
        """What there is, waited for at most that long. A `gap` first, where some of it was missed."""
        with anyio.move_on_after(patience_s):
            await self._there.wait()
        self._there = anyio.Event()
        held = [] if not self._missed else [self._feed.gap(self._missed)]
        held += self._held
        self._missed = 0
        self._held.clear()
        return held

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *failure: object) -> None:
        self._feed.leave(self)


def may_see(principal: str, owner: str) -> bool:
    """The operator sees all calls, everybody else their own."""
    return principal in (LOCAL, owner)


def is_short(value: Any) -> bool:
    kind = type(value)
    return kind in PLAIN or (kind is str and len(value) <= SHORT)
