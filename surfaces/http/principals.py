"""Who asks: `authenticate` is given the ASGI scope of a request and answers a principal, or None."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import Scope

from ...graphs.errors import Code
from ..served import LOCAL, PRINCIPAL
from .refusal import Refusal, refusal

Authenticate = Callable[[Scope], str | None]
OPEN: Final = frozenset({"/healthz"})


def local_only(scope: Scope) -> str | None:
    """Whoever is on this machine is `local`; nobody else is anybody."""
    client = scope.get("client")
    return LOCAL if client is not None and is_loopback(client[0]) else None


def identify(scope: Scope, authenticate: Authenticate) -> Refusal | None:
    """Put the principal into `scope`, also as the user to whom the SDK binds a session. None: go on."""
    if scope["path"] in OPEN:
        return None
    principal = authenticate(scope)
    if principal is None:
        return refusal(
            401, "unknown_caller", "This server does not know who is asking.", "Send credentials that it knows.",
            Code.AUTH_REQUIRED, ((b"www-authenticate", b'Bearer realm="jackfield"'),),
        )  # fmt: skip
    scope[PRINCIPAL] = principal
    scope["user"] = _user(principal)
    return None


@lru_cache(maxsize=1024)
def _user(principal: str) -> AuthenticatedUser:
    return AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[], subject=principal))


@lru_cache(maxsize=1024)
def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
