"""Sessions: who called what, session by session, with signals that say where a tool or its description is weak.

| signal | a call that |
|---|---|
| errors | failed |
| contract_miss | asked for no tool of ours, or gave arguments that do not fit |
| retry | calls a tool again after that tool's last call in this session failed |
| redundant | repeats a call of the same tool with the same arguments that had gone well |
| slow | took more than 3 s |
| large_result | gave more than 500 tokens, at four bytes a token |

They are kept in memory, the latest of them, and begin with what the audit remembers.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from ..graphs.errors import Code
from .served import Caller, ServedCall
from .watchers import may_see

KEPT: Final = 1_000
CALLS: Final = 200  # of a session that are kept one by one
REMEMBERED: Final = 1_000  # different calls of a session that a repeat is noticed of
SLOW_S: Final = 3.0
LARGE_TOKENS: Final = 500
BYTES_A_TOKEN: Final = 4
SIGNALS: Final = ("errors", "contract_miss", "retry", "redundant", "slow", "large_result")
MISSES: Final = frozenset((Code.TOOL_NOT_FOUND, Code.VALIDATION_INVALID_PARAMS, Code.VALIDATION_MISSING_FIELD))


@dataclass(frozen=True, slots=True)
class Noted:
    """A call of a session."""

    run: str
    name: str
    at: float
    seconds: float
    rows: int | None
    bytes: int | None
    error: str | None
    signals: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Session:
    """One session. `signals` counts each; `calls` are the latest."""

    id: str
    caller: Caller
    began: float
    last: float
    count: int = 0
    signals: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    calls: deque[Noted] = field(default_factory=lambda: deque(maxlen=CALLS))
    failed: set[str] = field(default_factory=set)  # tools whose last call failed
    done: OrderedDict[bytes, None] = field(default_factory=OrderedDict)  # calls that went well, as name and arguments

    def note(self, call: ServedCall) -> None:
        signals = tuple(self._signals(call))
        self.count += 1
        self.last = call.at + call.seconds
        self.signals.update(signals)
        name = call.name[:256]
        if name in self.tools or len(self.tools) < REMEMBERED:
            self.tools[name] += 1
        error = None if call.error is None else call.error.code.value
        self.calls.append(Noted(call.run, name, call.at, call.seconds, call.rows, call.bytes, error, signals))

    def _signals(self, call: ServedCall) -> Iterator[str]:
        name = call.name[:256]
        if call.error is not None and call.error.code is Code.INPUT_REQUIRED and call.caller.era == "stateless":
            return  # a question to the person, whose answer comes with the next call
        if name in self.failed:
            yield "retry"
        if call.error is not None:
            yield "errors"
            if call.error.code in MISSES:
                yield "contract_miss"
            if len(self.failed) < REMEMBERED:
                self.failed.add(name)
        else:
            self.failed.discard(name)
            if self._is_repeated(name, call):
                yield "redundant"
        if call.seconds > SLOW_S:
            yield "slow"
        if (call.bytes or 0) > LARGE_TOKENS * BYTES_A_TOKEN:
            yield "large_result"

    def _is_repeated(self, name: str, call: ServedCall) -> bool:
        """Whether this very call went well before; a write after which everything may differ makes all forgotten."""
        if call.category != "READ":
            self.done.clear()
            return False
        try:
            written = msgspec.json.encode([name, call.arguments], order="sorted")
        except (TypeError, ValueError, RecursionError):
            return False
        if len(written) > 256:
            written = hash(written).to_bytes(8, "little", signed=True)
        if written in self.done:
            return True
        self.done[written] = None
        if len(self.done) > REMEMBERED:
            self.done.popitem(last=False)
        return False

    def as_json(self) -> dict[str, Any]:
        return {
            "session": self.id,
            "principal": self.caller.principal,
            "client": self.caller.client,
            "era": self.caller.era,
            "began": self.began,
            "last": self.last,
            "calls": self.count,
            "signals": {name: self.signals[name] for name in SIGNALS},
            "tools": dict(self.tools.most_common(20)),
        }


class Sessions:
    """An observer of served calls. The session that was longest without a call is forgotten first."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, str], Session] = OrderedDict()

    def call_began(self, call: ServedCall) -> None:
        pass

    def call_ended(self, call: ServedCall) -> None:
        caller = call.caller
        session_id = caller.session_id or f"{caller.era or 'none'}:{caller.client[:80]}"
        key = (caller.principal, session_id)
        session = self._held.get(key)
        if session is None:
            session = self._held[key] = Session(session_id, caller, call.at, call.at)
            if len(self._held) > KEPT:
                self._held.popitem(last=False)
        else:
            self._held.move_to_end(key)
        session.note(call)

    def list(self, principal: str) -> list[Session]:
        """The sessions that `principal` may see, the last used first."""
        return [one for (owner, _), one in reversed(self._held.items()) if may_see(principal, owner)]

    def find(self, id: str, principal: str) -> Session | None:
        return next((one for one in self.list(principal) if one.id == id), None)
