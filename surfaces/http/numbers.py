"""Numbers of requests: within a session, no two under way may have the same.

The SDK's transport would give the answers of both to the later one, and let the first wait for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from .bodies import DOCUMENT
from .refusal import refusal
from .refusals import Refusals

SESSION: Final = b"mcp-session-id"


class Numbers:
    """Middleware behind what reads bodies."""

    def __init__(self, app: ASGIApp, refusals: Refusals) -> None:
        self._app = app
        self._refusals = refusals
        self._under_way: set[tuple[bytes, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = _key(scope)
        if key is None:
            await self._app(scope, receive, send)
        elif key in self._under_way:
            await self._refusals.answer(_TWICE, scope, send)
        else:
            self._under_way.add(key)
            try:
                await self._app(scope, receive, send)
            finally:
                self._under_way.discard(key)


def _key(scope: Scope) -> tuple[bytes, str] | None:
    """Session and number of a request in a session."""
    document: Mapping[str, Any] | None = scope.get(DOCUMENT)
    if type(document) is not dict or "method" not in document or type(document.get("id")) not in (str, int):
        return None
    session = next((value for name, value in scope["headers"] if name == SESSION), None)
    return None if session is None else (session, str(document["id"]))  # the transport takes 1 and "1" for one


_TWICE: Final = refusal(
    400,
    "id_under_way",
    "Another request of this session with the same id is under way.",
    "Give each request of a session an id of its own.",
)
