"""Who calls, and one served call: what is known of it at its end. Audit, metrics and the feed read the same record."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

import msgspec

from ..engine.events import Event, Listener, Trail
from ..graphs.errors import JackfieldError
from ..graphs.model import Json

if TYPE_CHECKING:
    from .answers import CallResult

__all__ = ["LOCAL", "PRINCIPAL", "Answer", "Caller", "Listener", "Observer", "ServedCall", "told"]

LOCAL = "local"
TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")
LONGEST_TRACE = 1_024
LONGEST_NAME = 256
PRINCIPAL = "jackfield.principal"  # key of the ASGI scope under which the HTTP surface says who calls


@dataclass(frozen=True, slots=True)
class Caller:
    """`era` is `handshake`, `stateless` (both MCP) or `api`; `client` is what the client calls itself.

    `traceparent` and `tracestate` are those of W3C Trace Context, as the client sent them; longer ones are none.
    """

    principal: str = LOCAL
    client: str = ""
    era: str = ""
    session_id: str = ""
    traceparent: str = ""
    tracestate: str = ""

    def __post_init__(self) -> None:
        if len(self.traceparent) > LONGEST_TRACE or len(self.tracestate) > LONGEST_TRACE:
            object.__setattr__(self, "traceparent", "")
            object.__setattr__(self, "tracestate", "")
        if len(self.client) > LONGEST_NAME or len(self.session_id) > LONGEST_NAME:
            object.__setattr__(self, "client", self.client[:LONGEST_NAME])
            object.__setattr__(self, "session_id", self.session_id[:LONGEST_NAME])


@dataclass(slots=True)
class ServedCall:
    """One call. `rows`, `bytes` and what follows are known at its end; `error` is None when it went well.

    An observer that is told of its beginning may add to `listeners`: they hear the events of its run as they happen.
    `trail` holds those events, once there is a run. `trace` is the id of the trace that is made of it.
    """

    caller: Caller
    name: str
    arguments: Mapping[str, Any]
    run: str
    began: float = field(default_factory=time.perf_counter)
    at: float = field(default_factory=time.time)  # seconds since 1970
    connector: str = ""
    tool: str = ""
    category: str = ""
    sensitive: frozenset[str] = frozenset()
    seconds: float = 0.0
    rows: int | None = None
    bytes: int | None = None
    cached: bool | None = None
    pushed: int | None = None
    error: JackfieldError | None = None
    trace: str = ""
    listeners: list[Listener] = field(default_factory=list)
    trail: Trail | None = None

    @property
    def trace_id(self) -> str | None:
        """The W3C trace that it is part of: ours, else the caller's."""
        found = TRACEPARENT.fullmatch(self.caller.traceparent) if not self.trace else None
        return self.trace or (None if found is None else found[1])

    def follow(self, listener: Listener | None) -> None:
        """Begin the trail of its run, heard by `listener` and by those that observers added."""
        if listener is not None:
            self.listeners.append(listener)
        self.trail = Trail(self.run, _together(self.listeners))


@dataclass(frozen=True)
class Answer:
    """What a call gave, as JSON text, encoded once for whoever sends it. `result`: of a tool's run."""

    text: str
    result: CallResult | None = None

    @cached_property
    def body(self) -> Json:
        """The JSON itself, for the few who look into it; None where there is no text."""
        value: Json = msgspec.json.decode(self.text) if self.text else None
        return value

    @classmethod
    def of(cls, body: Json) -> Self:
        return cls(msgspec.json.encode(body).decode())


def _together(every: Sequence[Listener]) -> Listener | None:
    """One listener that tells all of them; None when there is none."""
    if len(every) < 2:
        return every[0] if every else None

    def tell(event: Event) -> None:
        for each in every:
            each(event)

    return tell


def told(trail: Trail) -> tuple[bool | None, int | None]:
    """What a run said of its sources: whether all rows came out of the cache, and how many predicates were sent."""
    cached: bool | None = None
    pushed: int | None = None
    for event in trail.told:
        if event.kind == "pulled":
            cached = (cached is not False) and bool(event.facts.get("cached"))
        elif event.kind == "pushed":
            predicates = event.facts.get("predicates")
            pushed = (pushed or 0) + (len(predicates) if isinstance(predicates, list) else 1)
    return cached, pushed


class Observer(Protocol):
    """Told of each served call as it begins and ends. It must not raise, nor take long."""

    def call_began(self, call: ServedCall) -> None: ...

    def call_ended(self, call: ServedCall) -> None: ...
