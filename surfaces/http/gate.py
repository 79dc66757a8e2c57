"""The gate: every request is counted, looked at by its head, and known by a principal, before anything serves it."""

from __future__ import annotations

import logging
import secrets
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...graphs.errors import Code, JackfieldError
from .draining import Draining
from .guards import Names, refused
from .principals import Authenticate, identify
from .refusal import CLOSE, Refusal, send_refusal
from .refusals import Refusals

logger: Final = logging.getLogger(__name__)


class Gate:
    """The outermost of the application. A failure that nobody foresaw is answered with an id, and logged with it."""

    def __init__(
        self, app: ASGIApp, names: Names, authenticate: Authenticate, draining: Draining, refusals: Refusals
    ) -> None:
        self._app = app
        self._names = names
        self._authenticate = authenticate
        self._draining = draining
        self._refusals = refusals

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._draining.follow(self._enter, scope, receive, send)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = refused(scope, self._names) or identify(scope, self._authenticate)
        if found is not None:
            await self._refusals.answer(found, scope, send)
            return
        status = 0

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif status >= 400:
                self._refusals.heard(scope, status, message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            name = secrets.token_hex(4)
            logger.exception("Request %s %s failed by a bug [%s]", scope["method"], scope["path"], name)
            if status:
                raise  # the connection is closed: half an answer must not look like a whole one
            await send_refusal(_bug(error, name), scope, send)


def _bug(error: Exception, name: str) -> Refusal:
    failure = JackfieldError(
        Code.INTERNAL_ERROR,
        f"The request failed by a bug: {type(error).__name__} [{name}].",
        "Please report it with this id; the log of the server has more.",
        {"id": name},
    )
    return Refusal(500, "bug", failure, (CLOSE,), rpc_code=-32603)
