"""What is under way, and how it ends: new work is refused, work is waited for, what is left is cut off."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...graphs.errors import Code
from .refusal import CLOSE, Refusal, refusal, send_refusal

KEY: Final = "jackfield.request"
ALWAYS: Final = frozenset({"/healthz", "/readyz", "/metrics"})
READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
STREAM: Final = b"text/event-stream"
FLUSH_S: Final = 1.0


@dataclass(eq=False, slots=True)
class _Request:
    """A request under way. `is_stream`: it ends when somebody ends it, not when work is done."""

    is_stream: bool
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    has_begun: bool = False
    is_answered: bool = False


class Draining:
    """The requests of one server. Until `begin` it only counts."""

    def __init__(self) -> None:
        self.is_on = False
        self._requests: set[_Request] = set()
        self._idle = anyio.Event()

    def begin(self) -> None:
        """Refuse new work from now on."""
        self.is_on = True
        self._look()

    async def idle(self) -> None:
        """Wait, after `begin`, until no work is under way; streams are no work."""
        await self._idle.wait()

    def cut_off(self) -> None:
        """End every request that is left, its answer complete as far as it went."""
        for request in self._requests:
            request.scope.cancel()

    def tell_stream(self, scope: Scope) -> None:
        """The request of `scope` has proved to be a stream."""
        request: _Request | None = scope.get(KEY)
        if request is not None:
            request.is_stream = True
            self._look()

    def refusal(self, scope: Scope, document: Any = None) -> Refusal | None:
        """Of work that would begin now. What an MCP client tells of work under way, in `document`, is let through."""
        if not self.is_on or scope["path"] in ALWAYS:
            return None
        is_work = scope["method"] not in READS if document is None else is_request(document)
        if not is_work:
            return None
        found = refusal(
            503, "draining", "This server is shutting down.", "Ask the one that comes after it, in a few seconds.",
            Code.OVERLOADED, ((b"retry-after", b"1"), CLOSE),
        )  # fmt: skip
        return found if document is None else replace(found, rpc_id=document["id"])

    async def follow(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Run `app` for one request, counted."""
        request = scope[KEY] = _Request(_asks_for_stream(scope))
        self._requests.add(request)

        async def told(message: Message) -> None:
            if not request.has_begun:
                request.has_begun = True
                if scope["method"] == "GET" and _is_stream(message):
                    self.tell_stream(scope)
            request.is_answered = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        try:
            with request.scope:
                await app(scope, receive, told)
        finally:
            self._requests.discard(request)
            self._look()
        if request.scope.cancelled_caught and not request.is_answered:
            with anyio.move_on_after(FLUSH_S):
                if request.has_begun:
                    await send({"type": "http.response.body", "body": b""})
                else:
                    await send_refusal(_CUT_OFF, scope, send)

    def _look(self) -> None:
        if self.is_on and all(request.is_stream for request in self._requests):
            self._idle.set()


_CUT_OFF: Final = refusal(
    503, "cut_off", "This server was shut down before it could answer.", "Ask the one that comes after it.",
    Code.OVERLOADED, ((b"retry-after", b"1"), CLOSE),
)  # fmt: skip


def is_request(document: Any) -> bool:
    """Whether this JSON-RPC message asks for an answer: a notification does not, and an answer itself does not."""
    return isinstance(document, dict) and "method" in document and "id" in document


def _is_stream(start: Message) -> bool:
    return any(name == b"content-type" and STREAM in value for name, value in start.get("headers", ()))


def _asks_for_stream(scope: Scope) -> bool:
    return scope["method"] == "GET" and any(name == b"accept" and STREAM in value for name, value in scope["headers"])
