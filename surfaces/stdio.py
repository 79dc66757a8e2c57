"""MCP over stdin and stdout: a JSON-RPC message a line, both ways; whatever else is printed goes to stderr.

Two daemon threads read and write, so that neither a client that sends nothing nor one that reads nothing can keep the
server from ending.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final

import anyio
import anyio.from_thread
import anyio.lowlevel
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from .http.strict_json import NotStrictError, loads
from .mcp_server.server import build
from .service import Service

ANSWER_S: Final = 1.0  # for the answers of calls that were stopped
_OVER: Final = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, RuntimeError, CancelledError)


async def serve_stdio(service: Service, stop: anyio.Event) -> None:
    """Serve until stdin ends, stdout breaks or `stop` is set. Requests that were read get time to be answered."""
    settings = service.app.settings
    server = build(service)
    with _wire() as (source, sink):
        talk = _Talk(source, sink, settings["serve.max_body"])
        async with anyio.create_task_group() as tasks:

            async def run() -> None:
                await server.run(talk.incoming, talk.outgoing, server.create_initialization_options())
                tasks.cancel_scope.cancel()

            async def stopped() -> None:
                await stop.wait()
                talk.over.set()

            tasks.start_soon(run)
            tasks.start_soon(stopped)
            talk.begin()
            await talk.over.wait()
            server.subscriptions.close()  # who listens has a request open, which nothing else would answer
            with anyio.move_on_after(settings["serve.drain_s"]):
                await talk.answered()
            service.stop_calls()
            with anyio.move_on_after(ANSWER_S):
                await talk.answered()
            tasks.cancel_scope.cancel()


@contextmanager
def _wire() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The real stdin and stdout as files of our own; meanwhile 0 reads nothing, and 1 is stderr."""
    sys.stdout.flush()
    held_in, held_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    # Not closed: a thread may still be blocked in them, and their numbers must not become those of other files.
    source, sink = os.fdopen(held_in, "rb", closefd=False), os.fdopen(held_out, "wb", buffering=0, closefd=False)
    try:
        yield source, sink
    finally:
        sys.stdout.flush()
        os.dup2(held_in, 0)
        os.dup2(held_out, 1)


class _Talk:
    """The streams that a server is run on, and what of its requests is unanswered."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, most: int) -> None:
        self._source = source
        self._sink = sink
        self._most = most
        self._put, self.incoming = create_context_streams[SessionMessage | Exception](0)
        self.outgoing, self._take = create_context_streams[SessionMessage](0)
        self._token = anyio.lowlevel.current_token()
        self._unanswered: set[RequestId] = set()
        self._quiet = anyio.Event()
        self._is_broken = False
        self.over = anyio.Event()  # nothing more will be read, or can be written

    def begin(self) -> None:
        for work, end in ((self._read, self.over.set), (self._write, self._break_off)):
            threading.Thread(target=self._until_over, args=(work, end), name="jackfield-stdio", daemon=True).start()

    async def answered(self) -> None:
        """Wait until every request that was read has been answered, or none can be."""
        while self._unanswered and not self._is_broken:
            self._quiet = anyio.Event()
            await self._quiet.wait()

    def _until_over(self, work: Callable[[], None], end: Callable[[], None]) -> None:
        with suppress(*_OVER):
            with suppress(OSError):  # the client went away
                work()
            anyio.from_thread.run_sync(end, token=self._token)

    def _break_off(self) -> None:
        self._is_broken = True
        self._quiet.set()
        self.over.set()

    def _read(self) -> None:
        while line := self._source.readline(self._most + 1):
            if len(line) > self._most:
                self._say(_error(INVALID_REQUEST, f"The line is longer than {self._most:,} bytes."))
                while line and not line.endswith(b"\n"):
                    line = self._source.readline(self._most)
            elif line.strip():
                self._hear(line)

    def _hear(self, line: bytes) -> None:
        try:
            loads(line)
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except NotStrictError as error:
            self._say(_error(PARSE_ERROR, f"The line cannot be read as JSON: {error}."))
            return
        except ValidationError:
            self._say(_error(INVALID_REQUEST, "The line is no JSON-RPC message."))
            return

        async def give() -> None:
            if isinstance(message, JSONRPCRequest):
                self._unanswered.add(message.id)
            elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                self._answered((message.params or {}).get("requestId"))  # what is cancelled need not be answered
            await self._put.send(SessionMessage(message))

        anyio.from_thread.run(give, token=self._token)

    def _say(self, error: JSONRPCError) -> None:
        anyio.from_thread.run(self.outgoing.send, SessionMessage(error), token=self._token)

    def _write(self) -> None:
        while True:
            message = anyio.from_thread.run(self._take.receive, token=self._token).message
            self._sink.write(message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            if isinstance(message, (JSONRPCResponse, JSONRPCError)) and message.id is not None:
                anyio.from_thread.run_sync(self._answered, message.id, token=self._token)

    def _answered(self, name: RequestId | None) -> None:
        if name is not None:
            self._unanswered.discard(name)
        if not self._unanswered:
            self._quiet.set()


def _error(code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message))
