"""Bodies: read whole, of limited size, and strict JSON where JSON is what they are said to be."""

from __future__ import annotations

from typing import Final

from mcp_types import PARSE_ERROR
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...graphs.errors import Code
from .draining import Draining
from .messages import SHAPE, wrong_with
from .refusal import CLOSE, MCP_PATHS, Refusal, refusal
from .refusals import Refusals
from .strict_json import NotStrictError, loads

WITHOUT: Final = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})
HELD: Final = 256 * 2**20  # of all requests together; one holds its body until it is answered
LISTEN: Final = "subscriptions/listen"
DOCUMENT: Final = "jackfield.document"  # key of the scope: the body of an MCP request, read


class Bodies:
    """Reads each body before `app` sees the request, which then gets it in one piece.

    `most` is the limit of one body, `held` that of all requests together.
    """

    def __init__(self, app: ASGIApp, most: int, draining: Draining, refusals: Refusals, held: int = HELD) -> None:
        self._app = app
        self._most = most
        self._draining = draining
        self._refusals = refusals
        self._free = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if scope["method"] in WITHOUT and b"content-length" not in headers and b"transfer-encoding" not in headers:
            await self._app(scope, receive, send)
            return
        taken = 0
        try:
            body = bytearray()
            said = int(headers.get(b"content-length", b"0"))
            found = self._too_large(said, said)
            while found is None:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                chunk = message.get("body", b"")
                taken += len(chunk)
                self._free -= len(chunk)
                body += chunk
                found = self._too_large(taken, len(chunk))
                if not message.get("more_body", False):
                    break
            if found is None:
                found = self._unreadable(scope, headers.get(b"content-type", b""), bytes(body))
            if found is not None:
                await self._refusals.answer(found, scope, send)
                return
            await self._app(scope, _replaying(bytes(body), receive), send)
        finally:
            self._free += taken

    def _too_large(self, size: int, more: int) -> Refusal | None:
        if size > self._most:
            return refusal(
                413, "body_too_large", f"The body of this request is larger than {self._most:,} bytes.",
                "Send less; the setting `serve.max_body` is the limit.", Code.BUDGET_EXCEEDED, (CLOSE,),
            )  # fmt: skip
        if more > 0 and self._free < 0:
            return refusal(
                503, "bodies_too_large", "The bodies of all requests together take too much memory.",
                "Try again in 1 s.", Code.OVERLOADED, ((b"retry-after", b"1"), CLOSE),
            )  # fmt: skip
        return None

    def _unreadable(self, scope: Scope, kind: bytes, body: bytes) -> Refusal | None:
        kind = kind.partition(b";")[0].strip().lower()
        is_mcp = scope["path"] in MCP_PATHS and scope["method"] == "POST"
        is_json = kind == b"application/json" or kind.endswith(b"+json")
        if is_mcp and not is_json:
            return refusal(
                415, "content_type", "MCP is spoken in JSON.", "Send `Content-Type: application/json`.",
            )  # fmt: skip
        if not is_mcp and (not is_json or not body):
            return self._draining.refusal(scope)
        try:
            document = loads(body)
        except NotStrictError as error:
            return refusal(
                400, "not_strict_json", f"The body cannot be read as JSON: {error}.",
                "Send UTF-8 JSON (RFC 8259), each key once.", rpc_code=PARSE_ERROR,
            )  # fmt: skip
        if not is_mcp:
            return self._draining.refusal(scope)
        if (wrong := wrong_with(document)) is not None:
            return refusal(400, "no_message", f"The body is no JSON-RPC message: {wrong}.", SHAPE)
        scope[DOCUMENT] = document
        if isinstance(document, dict) and document.get("method") == LISTEN:
            self._draining.tell_stream(scope)
        return self._draining.refusal(scope, document)


def _replaying(body: bytes, receive: Receive) -> Receive:
    """`receive` with the whole body first, and then whatever comes: a disconnect."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return first.pop() if first else await receive()

    return replay
