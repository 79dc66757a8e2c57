"""Connections: uvicorn's HTTP protocol, with an end to whatever a client may do slowly, or too much of.

uvicorn waits for ever for the rest of a request, and for a client that reads nothing. Here each connection knows since
when it waits for what, and `sweep` closes those that have waited too long: one look a second at all of them costs less
than a timer for each step of each request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import anyio
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .draining import KEY
from .refusal import CLOSE, Refusal, body_of, refusal, send_refusal
from .refusals import Refusals

MAX_HEAD: Final = 32 * 2**10
MAX_HEADERS: Final = 100
MAX_PIPELINED: Final = 16  # requests that are read before the first of them is answered
SWEEP_S: Final = 1.0
ENDS_WITH_CLIENT: Final = "jackfield.ends_with_client"  # key of the scope: work for nobody but the client
REPLY: Final = "jackfield.reply"  # key of the scope: `Connection.reply`
OK: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"


class Waiting(Enum):
    """What a connection waits for."""

    REQUEST = "request"
    HEAD = "head"
    BODY = "body"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds for each kind of waiting, and how many connections there may be."""

    head_s: float
    body_s: float
    idle_s: float
    write_s: float
    connections: int


class Connection(HttpToolsProtocol):
    """One connection of a client."""

    def __init__(self, *, patience: Patience, refusals: Refusals, **rest: Any) -> None:
        super().__init__(**rest)
        self.patience = patience
        self.refusals = refusals
        self.waits_for = Waiting.HEAD  # the first request must come at once
        self.since = self.loop.time()
        self.unread_since: float | None = None  # the client does not read
        self.closing_since: float | None = None
        self._unfinished: list[Any] = []  # cycles of requests that are not answered yet, the oldest first
        self.to_say: Refusal | None = None  # of what came after a request that is still being answered
        self._head_bytes = 0
        self._default_headers: object = None
        self._head = b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.patience.connections:
            _make_room(self.connections)

    def connection_lost(self, exc: Exception | None) -> None:
        self.pipeline.clear()  # what has not begun never will
        super().connection_lost(exc)
        for cycle in self._unfinished:
            cycle.disconnected = True
            cycle.message_event.set()
            request = cycle.scope.get(KEY)
            if request is not None and cycle.scope.get(ENDS_WITH_CLIENT):
                request.scope.cancel()
        self._unfinished.clear()

    def reply(self, scope: Scope, body: bytes) -> bool:
        """Answer the request of `scope` with this JSON at once, as two messages of ASGI do; False: those are needed."""
        cycle = self.cycle
        if cycle.disconnected or cycle.scope is not scope or self.flow.write_paused:
            return False
        cycle.response_started = cycle.response_complete = True
        close = b"" if cycle.keep_alive else b"connection: close\r\n"
        self.transport.write(b"%s%scontent-length: %d\r\n%s\r\n%s" % (OK, self._fixed(), len(body), close, body))
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()
        return True

    def _fixed(self) -> bytes:
        """The headers that every answer has."""
        headers = self.server_state.default_headers
        if headers is not self._default_headers:  # uvicorn makes them anew each second, for the date
            self._default_headers = headers
            self._head = b"".join(b"%s: %s\r\n" % header for header in headers)
        return self._head

    def data_received(self, data: bytes) -> None:
        if self.to_say is not None:
            return
        if self.waits_for in (Waiting.REQUEST, Waiting.HEAD):
            before = self._head_bytes
            super().data_received(data)
            # A line end alone begins no request, so it does not stop the clock of an idle connection either.
            if self.waits_for in (Waiting.REQUEST, Waiting.HEAD) and self._head_bytes == before:
                self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD and self.waits_for is Waiting.HEAD and not self.transport.is_closing():
                self._refuse(_HEAD_TOO_LARGE)
            return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = 0
        self._wait(Waiting.HEAD)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._head_bytes += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value.rstrip(b" \t"))  # not of the value, says RFC 9110, and the parser leaves it
        self._head_bytes += len(name) + len(value)

    def on_headers_complete(self) -> None:
        self._wait(Waiting.BODY)
        refused = None
        if self._head_bytes > MAX_HEAD or len(self.headers) > MAX_HEADERS:
            refused = _HEAD_TOO_LARGE
        elif not self.url.startswith(b"/") and self.url != b"*":
            refused = _NOT_A_PATH
        if refused is None:
            scope: Any = self.scope
            scope[REPLY] = self.reply
            super().on_headers_complete()
            self._queued()
            return
        self.url = b"/"
        served, self.app = self.app, _Refusing(refused, self.refusals)
        try:
            super().on_headers_complete()
        finally:
            self.app = served
        self._queued()

    def _queued(self) -> None:
        self._unfinished.append(self.cycle)
        if self.pipeline and len(self._unfinished) <= MAX_PIPELINED:
            # uvicorn stops reading here, and would not see that the client of a call that runs has gone.
            self.flow.resume_reading()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._wait(Waiting.ANSWER)
        if self.cycle.response_complete:
            self._wait(Waiting.REQUEST)

    def on_response_complete(self) -> None:
        self._unfinished = [cycle for cycle in self._unfinished if not cycle.response_complete]
        self._go_on()
        if self.to_say is not None and not self._unfinished and not self.transport.is_closing():
            self._say(self.to_say)
        else:
            is_done = self.waits_for is Waiting.ANSWER and self.cycle.response_complete
            self._wait(Waiting.REQUEST if is_done else self.waits_for)

    def _go_on(self) -> None:
        """As uvicorn does, without its timer: `sweep` closes what is idle, and a timer would hold what was called."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread_since = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.unread_since = None

    def send_400_response(self, msg: str) -> None:
        """What the parser refuses."""
        self._refuse(_NOT_HTTP)

    def look(self, now: float) -> None:
        """Close this connection if the client has kept it waiting for too long."""
        patience = self.patience
        if self.transport.is_closing():
            if self.closing_since is None:
                self.closing_since = now
            elif now - self.closing_since > patience.write_s:
                self.transport.abort()
        elif self.unread_since is not None and now - self.unread_since > patience.write_s:
            self.transport.abort()
        elif self.is_answering:
            self.since = now  # the client waits for us
        elif self.waits_for is Waiting.REQUEST:
            if now - self.since > patience.idle_s:
                self.transport.close()
        elif self.waits_for is Waiting.HEAD:
            if now - self.since > patience.head_s:
                self._refuse(_HEAD_TOO_SLOW)
        elif self.waits_for is Waiting.BODY and now - self.since > patience.body_s:
            self._refuse(_BODY_TOO_SLOW)

    def _wait(self, what: Waiting) -> None:
        self.waits_for = what
        self.since = self.loop.time()

    @property
    def is_answering(self) -> bool:
        """Whether a whole request is not answered yet."""
        return len(self._unfinished) > (self.waits_for is Waiting.BODY)

    def _refuse(self, refused: Refusal) -> None:
        """Refuse what is being sent, if nothing was said of it yet, and close. What came before is answered first."""
        if self.is_answering:
            self.to_say = refused
            if self.waits_for is Waiting.BODY:
                self._unfinished.remove(self.cycle)
                self.pipeline.popleft()  # the latest: it must not begin
            self._wait(Waiting.ANSWER)
            self.flow.resume_reading()  # the end of the connection is seen only while it is read from
        elif not self._unfinished or not self.cycle.response_started:
            self._say(refused)
        else:
            self.transport.close()

    def _say(self, refused: Refusal) -> None:
        body = body_of(refused, "")
        head = f"HTTP/1.1 {refused.status} Refused\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.refusals.note(refused)
        self.transport.close()


def _make_room(connections: Iterable[Any]) -> None:
    """Close the connection that has sent nothing whole for the longest time, if there is any such."""
    idle = [
        held
        for held in connections
        if isinstance(held, Connection) and not held.is_answering and not held.transport.is_closing()
    ]
    if idle:
        min(idle, key=lambda held: held.since).transport.abort()


async def sweep(connections: Iterable[Any], patience: Patience, refusals: Refusals) -> None:
    """Look at every connection, and at what was refused, again and again, until cancelled."""
    pause = min(SWEEP_S, min(patience.head_s, patience.body_s, patience.idle_s, patience.write_s) / 4)
    loop = asyncio.get_running_loop()
    while True:
        await anyio.sleep(pause)
        refusals.settle()
        now = loop.time()
        for held in list(connections):
            if isinstance(held, Connection):
                held.look(now)


class _Refusing:
    """An application that refuses."""

    def __init__(self, refused: Refusal, refusals: Refusals) -> None:
        self._refused = refused
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._refusals.note(self._refused, scope)
        await send_refusal(self._refused, scope, send)


_HEAD_TOO_LARGE: Final = refusal(
    431, "head_too_large", f"The head of this request has more than {MAX_HEAD:,} bytes or {MAX_HEADERS} headers.",
    "Send less of it.", headers=(CLOSE,),
)  # fmt: skip
_NOT_A_PATH: Final = refusal(
    400, "target", "The target of this request is no path.", "Ask for a path that begins with '/'.", headers=(CLOSE,)
)
_NOT_HTTP: Final = refusal(400, "not_http", "This is no HTTP/1.1 request.", "Look at its framing and its headers.")
_HEAD_TOO_SLOW: Final = refusal(408, "head_too_slow", "The head of the request took too long.", "Send it at once.")
_BODY_TOO_SLOW: Final = refusal(408, "body_too_slow", "The body of the request took too long.", "Send it at once.")
