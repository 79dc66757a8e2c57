"""Who is on the other side of an MCP request."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from ..served import LOCAL, PRINCIPAL, Caller

SESSION_HEADER: Final = "mcp-session-id"
_SALT: Final = secrets.token_bytes(16)

Context = ServerRequestContext[Any, Any]


def caller_of(ctx: Context) -> Caller:
    """The caller of this request; over stdio, where there is no HTTP request, the local one."""
    request = ctx.request if isinstance(ctx.request, Request) else None
    principal = LOCAL if request is None else str(request.scope.get(PRINCIPAL, ""))
    stateless = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
    info = ctx.session.client_params
    client = "" if info is None else f"{info.client_info.name}/{info.client_info.version}"
    session = "" if request is None or stateless else request.headers.get(SESSION_HEADER, "")
    traceparent, tracestate = _trace(ctx.meta, request)
    return Caller(
        principal=principal,
        client=client[:200],
        era="stateless" if stateless else "handshake",
        session_id=session or session_of_connection(None if request is None else request.scope, principal),
        traceparent=traceparent,
        tracestate=tracestate,
    )


def _trace(meta: Mapping[str, Any] | None, request: Request | None) -> tuple[str, str]:
    """W3C Trace Context as `_meta` has it (SEP-414), else as the HTTP request does."""
    if meta and isinstance(parent := meta.get("traceparent"), str):
        return parent, str(meta.get("tracestate") or "")
    if request is None:
        return "", ""
    return request.headers.get("traceparent", ""), request.headers.get("tracestate", "")


def session_of_connection(scope: Any, principal: str) -> str:
    """A stateless client has no session: one name per connection and principal stands for it."""
    client = None if scope is None else scope.get("client")
    return _session("stdio" if scope is None else client and tuple(client), principal)


@lru_cache(maxsize=4096)
def _session(peer: object, principal: str) -> str:
    return hashlib.blake2b(f"{peer}|{principal}".encode(), key=_SALT, digest_size=8).hexdigest()
