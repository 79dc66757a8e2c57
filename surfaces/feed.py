"""The feed: what is called now and was called last, and whoever watches it is told as it happens.

Nobody waits for a watcher: one that reads too slowly misses what is oldest, and is told how much. The events of nodes
are asked of the engine only while somebody watches them.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from ..engine.audit.redaction import Redaction
from ..engine.events import Event, Trail
from ..graphs.errors import JackfieldError
from ..nodes.secrets import HIDDEN
from ..nodes.secrets import redacted as redacted_text
from .facts import NodeFacts, by_node
from .faults import redacted, redacted_json
from .served import LOCAL, Caller, ServedCall
from .watchers import FeedEvent, Watch, may_see

RECENT: Final = 500
HISTORY: Final = 2_000  # events that a watcher who was cut off can still be given
MOST_EVENTS: Final = 100_000  # of all runs together; what a longer run did was watched live, or not at all
MOST_SHOWN: Final = 10_000  # of one run, the latest
SHORT: Final = 1_024  # characters of an argument that is kept as it is
MOST_ARGUMENTS: Final = 4_096  # bytes of all of a call
MOST_TOLD: Final = 2**20  # bytes of the calls that are shown at once
PLAIN: Final = frozenset((int, float, bool, type(None)))

Redact = Callable[[str], str]


class Begun(NamedTuple):
    """A call as it begins. Large arguments are cut already."""

    run: str
    name: str
    connector: str
    tool: str
    category: str
    caller: Caller
    at: float
    arguments: Any
    sensitive: frozenset[str]


class Ended(NamedTuple):
    """A call at its end."""

    begun: Begun
    seconds: float
    rows: int | None
    bytes: int | None
    cached: bool | None
    pushed: int | None
    error: JackfieldError | None


class SeenRun(NamedTuple):
    call: dict[str, Any]
    events: list[dict[str, Any]]
    nodes: dict[str, NodeFacts]


class Feed:
    """An observer of served calls. `redact` takes out the secrets that the app has resolved."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._redaction = Redaction(redact=redact, max_args_bytes=MOST_ARGUMENTS)
        self._epoch = secrets.token_hex(4)
        self._count = 0
        self._live: dict[str, tuple[ServedCall, Begun]] = {}
        self._recent: OrderedDict[str, Ended] = OrderedDict()
        self._trails: OrderedDict[str, Trail] = OrderedDict()  # of those of the recent calls whose events are kept
        self._events = 0  # in all those trails
        self._history: deque[FeedEvent] = deque(maxlen=HISTORY)
        self._watchers: set[Watch] = set()

    def call_began(self, call: ServedCall) -> None:
        begun = self._begun(call)
        self._live[call.run] = call, begun
        if any(watcher.nodes and not watcher.is_behind for watcher in self._watchers):
            call.listeners.append(self._listener(begun))
        self._tell("call_began", begun.caller.principal, lambda: self._running(begun))

    def call_ended(self, call: ServedCall) -> None:
        held = self._live.pop(call.run, None)
        begun = self._begun(call) if held is None else held[1]
        call.listeners.clear()
        # An exception holds the frames that it passed through, and with them tables: a copy does not.
        # Secrets go first: of one that is cut in two, a part would be seen.
        error = None if call.error is None else redacted(call.error, self._redact).bounded()
        ended = Ended(begun, call.seconds, call.rows, call.bytes, call.cached, call.pushed, error)
        self._recent[call.run] = ended
        if call.trail is not None:
            call.trail.let_go()
            self._trails[call.run] = call.trail
            self._events += call.trail.count
        self._bound()
        self._tell("call_ended", call.caller.principal, lambda: self._over(ended))

    def catalog_changed(self, connectors: int, tools: int, findings: int) -> None:
        facts = {"connectors": connectors, "tools": tools, "findings": findings}
        self._tell("catalog_changed", "", lambda: facts)

    def live(self, principal: str = LOCAL) -> list[dict[str, Any]]:
        """The calls under way that `principal` may see, the oldest first."""
        seen = (begun for _, begun in self._live.values() if may_see(principal, begun.caller.principal))
        return _fitting(map(self._running, islice(seen, RECENT)))

    def recent(self, principal: str = LOCAL, most: int = RECENT) -> list[dict[str, Any]]:
        """The calls that ended last and that `principal` may see, the newest first, and no more than `MOST_TOLD`."""
        seen = (one for one in reversed(self._recent.values()) if may_see(principal, one.begun.caller.principal))
        return _fitting(map(self._over, islice(seen, most)))

    def run(self, run: str, principal: str = LOCAL) -> SeenRun | None:
        """A call, the events of its run so far and what its nodes came to; None for one that is not remembered."""
        live, ended = self._live.get(run), self._recent.get(run)
        if live is not None:
            begun, trail = live[1], live[0].trail
            shown = self._running(begun)
        elif ended is not None:
            begun, trail = ended.begun, self._trails.get(run)
            shown = self._over(ended)
        else:
            return None
        if not may_see(principal, begun.caller.principal):
            return None
        events = () if trail is None else trail.events()[-MOST_SHOWN:]
        return SeenRun(shown, list(map(self._cleaner(begun), events)), by_node(events))

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

    def _listener(self, begun: Begun) -> Callable[[Event], None]:
        """Tells the events of a run to watchers alone: the run keeps its own."""
        principal, cleaned = begun.caller.principal, self._cleaner(begun)

        def listen(event: Event) -> None:
            told: FeedEvent | None = None
            for watcher in self._watchers:
                if watcher.nodes and watcher.is_behind:
                    watcher.miss(principal)
                elif watcher.nodes:
                    told = told or FeedEvent(self.position, "node", principal, lambda: cleaned(event))
                    watcher.offer(told)

        return listen

    def _tell(self, kind: str, principal: str, data: Callable[[], Mapping[str, Any]]) -> None:
        self._count += 1
        event = FeedEvent(self.position, kind, principal, data)
        self._history.append(event)
        for watcher in self._watchers:
            watcher.offer(event)

    def _bound(self) -> None:
        """Forget what is more than is kept, the oldest first."""
        if len(self._recent) > RECENT:
            run, _ = self._recent.popitem(last=False)
            self._forget(run)
        while self._events > MOST_EVENTS:
            self._forget(next(iter(self._trails)))

    def _forget(self, run: str) -> None:
        trail = self._trails.pop(run, None)
        if trail is not None:
            self._events -= trail.count

    def _begun(self, call: ServedCall) -> Begun:
        arguments = call.arguments
        if not are_short(arguments):
            arguments = self._shown(arguments, call.sensitive)
        return Begun(
            call.run, call.name[:256], call.connector, call.tool, call.category, call.caller, call.at, arguments,
            call.sensitive,
        )  # fmt: skip

    def _shown(self, arguments: Mapping[str, Any], sensitive: frozenset[str]) -> Any:
        """As the audit shows them: without secrets, and cut where they are long."""
        shown, _ = self._redaction.arguments(arguments, sensitive)
        return msgspec.json.decode(shown) if isinstance(shown, msgspec.Raw) else shown

    def _running(self, begun: Begun) -> dict[str, Any]:
        caller = begun.caller
        return {
            "run": begun.run,
            "name": begun.name,
            "connector": begun.connector,
            "tool": begun.tool,
            "category": begun.category,
            "principal": caller.principal,
            "client": caller.client,
            "era": caller.era,
            "session": caller.session_id,
            "at": begun.at,
            "state": "running",
            "arguments": self._shown(begun.arguments, begun.sensitive),
        }

    def _over(self, ended: Ended) -> dict[str, Any]:
        error = ended.error
        return {
            **self._running(ended.begun),
            "state": "done" if error is None else "failed",
            "seconds": ended.seconds,
            "rows": ended.rows,
            "bytes": ended.bytes,
            "cached": ended.cached,
            "pushed": ended.pushed,
            "error": None if error is None else redacted(error, self._redact).as_json(),
        }

    def _cleaner(self, begun: Begun) -> Callable[[Event], dict[str, Any]]:
        """Events as they may be shown: a failure holds its message as a node gave it, a scan the values it is for."""
        _, hidden = self._redaction.arguments(begun.arguments, begun.sensitive)
        values = bool(begun.sensitive or hidden)

        def cleaned(event: Event) -> dict[str, Any]:
            told = event.as_json()
            if values and "scan" in told:
                told["scan"] = HIDDEN
            shown: dict[str, Any] = redacted_json(told, lambda text: redacted_text(self._redact(text), hidden))
            return shown

        return cleaned


def are_short(arguments: Mapping[str, Any]) -> bool:
    """Whether a call's arguments may be kept as they are: plain values, of no more text than is kept of a call."""
    if len(arguments) > MOST_ARGUMENTS // 64:
        return False
    size = 0
    for name, value in arguments.items():
        kind = type(value)
        if kind is str:
            if len(value) > SHORT:
                return False
            size += len(value)
        elif kind not in PLAIN or (kind is int and value.bit_length() > SHORT):
            return False
        size += len(name)
    return size <= MOST_ARGUMENTS


def _fitting(calls: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first of them, of no more than `MOST_TOLD` bytes."""
    kept: list[dict[str, Any]] = []
    left = MOST_TOLD
    for call in calls:
        left -= len(msgspec.json.encode(call, enc_hook=str))
        if left < 0 and kept:
            break
        kept.append(call)
    return kept
