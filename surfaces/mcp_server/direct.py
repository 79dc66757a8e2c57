"""tools/call of the stateless era, straight from the request to the answer: the SDK takes longer than most queries.

Only the plain case: a well-formed call of a tool that only reads, whose client asks for no progress and no log.
Whatever is not so, or looks odd, goes to the SDK, which knows every case and says what is wrong. A test holds that both
give the same answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)
from starlette.types import ASGIApp, Receive, Scope, Send

from ...connectors.model import Tool
from ...connectors.offer import Offer, OfferedTool
from ...graphs.errors import JackfieldError
from ..served import PRINCIPAL, Caller, ServedCall
from ..service import Service
from .answers import RESULT_URI, all_rows
from .callers import session_of_connection
from .fitting import fitted, whole_link
from .server import JackfieldServer

VERSION: Final = "2026-07-28"
METHOD: Final = "tools/call"
DOCUMENT: Final = "jackfield.document"
REPLY: Final = "jackfield.reply"
ENDS_WITH_CLIENT: Final = "jackfield.ends_with_client"
AT_ONCE: Final = 65_536  # bytes; a client that does not read must hold up those who write more
# The members that a plain call has, and that its params and its _meta may have. Any other is for the SDK.
CALL: Final = frozenset({"jsonrpc", "id", "method", "params"})
PARAMS: Final = frozenset({"name", "arguments", "_meta"})
TRACE: Final = ("traceparent", "tracestate")
META: Final = frozenset({PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, *TRACE})
ROUTING: Final = (b"mcp-protocol-version", b"mcp-method", b"mcp-name")
encode: Final = msgspec.json.Encoder().encode


class Direct:
    """An ASGI application before `app`, the SDK's over `server`, which serves everything else."""

    def __init__(self, app: ASGIApp, service: Service, server: JackfieldServer) -> None:
        self._app = app
        self._service = service
        self._keep = server.keep
        stamp = encode({SERVER_INFO_META_KEY: server.server_info_stamp})
        self._tail = b',"resultType":"complete","_meta":' + stamp + b"}}"
        self._offer: Offer | None = None
        self._plain: dict[str, OfferedTool] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._plain_call(scope)
        if found is None:
            await self._app(scope, receive, send)
            return
        scope[ENDS_WITH_CLIENT] = True
        body = await self._answered(*found, scope)
        reply = scope.get(REPLY)
        if reply is not None and len(body) <= AT_ONCE and reply(scope, body):
            return
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _answered(self, offered: OfferedTool, document: Mapping[str, Any], scope: Scope) -> bytes:
        params = document["params"]
        caller = _caller(params["_meta"], scope)
        arguments = params.get("arguments") or {}
        call = ServedCall(caller, offered.name, arguments, secrets.token_hex(8))
        try:
            answer = await self._service.perform(call, offered.connector, offered.tool)
        except JackfieldError as error:
            text = encode({"error": error.as_json()})
            content = b'{"type":"text","text":' + encode(text.decode()) + b"}"
            return self._reply(document["id"], content, text, b"true")
        fit = fitted(answer, offered.tool, arguments)
        content = b'{"type":"text","text":' + encode(fit.text) + b"}"
        link = all_rows(answer)
        if fit.whole is not None:
            link = whole_link(RESULT_URI + await self._keep(caller, fit.whole), "The whole answer, uncut.")
        if link is not None:
            content += b"," + encode(link.model_dump(mode="json", by_alias=True, exclude_none=True))
        return self._reply(document["id"], content, fit.text.encode(), b"false")

    def _reply(self, id: str | int, content: bytes, structured: bytes, is_error: bytes) -> bytes:
        head = b'{"jsonrpc":"2.0","id":' + encode(id) + b',"result":{"content":[' + content
        return head + b'],"structuredContent":' + structured + b',"isError":' + is_error + self._tail

    def _plain_call(self, scope: Scope) -> tuple[OfferedTool, Mapping[str, Any]] | None:
        """The tool and the request, of a plain call."""
        document = scope.get(DOCUMENT)
        if type(document) is not dict or document.get("method") != METHOD or document.keys() != CALL:
            return None
        params = document["params"]
        if document["jsonrpc"] != "2.0" or type(document["id"]) not in (str, int) or type(params) is not dict:
            return None
        meta = params.get("_meta")
        if not params.keys() <= PARAMS or type(meta) is not dict or not _is_plain_meta(meta):
            return None
        if type(params.get("arguments")) not in (dict, type(None)) or type(params.get("name")) is not str:
            return None
        if not _has_plain_headers(scope["headers"], params["name"]):
            return None
        offered = self._offered().get(params["name"])
        return None if offered is None else (offered, document)

    def _offered(self) -> Mapping[str, OfferedTool]:
        offer = self._service.offer
        if self._offer is not offer:
            self._plain = {name: one for name, one in offer.tools.items() if is_plain(one.tool)}
            self._offer = offer
        return self._plain


def is_plain(tool: Tool) -> bool:
    """Whether a call of it neither asks its caller anything, nor writes, nor has a header for an argument."""
    return tool.sql is not None and tool.category == "READ" and "x-mcp-header" not in str(tool.input_schema)


def _is_plain_meta(meta: Mapping[str, Any]) -> bool:
    if not meta.keys() <= META or meta.get(PROTOCOL_VERSION_META_KEY) != VERSION:
        return False
    capabilities = meta.get(CLIENT_CAPABILITIES_META_KEY)
    if type(capabilities) is not dict or not all(type(each) is dict for each in capabilities.values()):
        return False
    info = meta.get(CLIENT_INFO_META_KEY, {"name": "", "version": ""})
    if type(info) is not dict or not {"name", "version"} <= info.keys():
        return False
    return all(type(each) is str for each in info.values()) and all(type(meta.get(key, "")) is str for key in TRACE)


def _has_plain_headers(headers: Iterable[tuple[bytes, bytes]], name: str) -> bool:
    """The headers that route a call, each once and as the body says; none for an argument."""
    wanted = dict(zip(ROUTING, (VERSION, METHOD, name), strict=True))
    accepted = ""
    for key, value in headers:
        if key in ROUTING:
            if wanted.pop(key, None) != value.decode("latin-1"):
                return False
        elif key.startswith(b"mcp-param-"):
            return False
        elif key == b"accept":
            accepted += value.decode("latin-1")
    return not wanted and "application/json" in accepted and "text/event-stream" in accepted


def _caller(meta: Mapping[str, Any], scope: Scope) -> Caller:
    info = meta.get(CLIENT_INFO_META_KEY)
    client = "" if info is None else f"{info['name']}/{info['version']}"
    principal = str(scope.get(PRINCIPAL, ""))
    traceparent, tracestate = (meta.get(key, "") for key in TRACE)
    if not traceparent:
        headers = dict(scope["headers"])
        traceparent, tracestate = (headers.get(key.encode(), b"").decode("latin-1") for key in TRACE)
    return Caller(
        principal, client[:200], "stateless", session_of_connection(scope, principal), traceparent, tracestate
    )
