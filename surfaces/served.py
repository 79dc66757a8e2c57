"""Who calls, and one served call: what is known of it at its end. Audit, metrics and the feed read the same record."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ..graphs.errors import JackfieldError
from ..graphs.model import Json

if TYPE_CHECKING:
    from .answers import CallResult

LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Caller:
    """`era` is `handshake`, `stateless` (both MCP) or `api`; `client` is what the client calls itself."""

    principal: str = LOCAL
    client: str = ""
    era: str = ""
    session_id: str = ""


@dataclass(slots=True)
class ServedCall:
    """One call. `rows`, `bytes` and what follows are known at its end; `error` is None when it went well."""

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


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call gave: its JSON, and that JSON as text, encoded once for all. `result`: of a tool's run."""

    body: Json
    text: str
    result: CallResult | None = None


class Observer(Protocol):
    """Told of each served call as it begins and ends. It must not raise, nor take long."""

    def call_began(self, call: ServedCall) -> None: ...

    def call_ended(self, call: ServedCall) -> None: ...
