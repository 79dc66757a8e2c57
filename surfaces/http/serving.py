"""Serving a service over HTTP until it is told to stop: first gently, then at once."""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, cast

import anyio
import uvicorn
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from ..service import Service
from ..settings import Settings
from .application import application
from .connections import Connection, Patience, sweep
from .draining import Draining
from .listening import files_for_connections
from .principals import Authenticate, local_only
from .refusals import Refusals

ANSWER_S: Final = 1.0  # for the answers of calls that were stopped
LAST_S: Final = 2  # for connections to close
HEADERS: Final = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
]


class Serving:
    """A server under way. `stop` begins the drain; a second `stop` ends it at once."""

    def __init__(self, service: Service, server: _Server, draining: Draining, drain_s: float) -> None:
        self._service = service
        self._server = server
        self._draining = draining
        self._drain_s = drain_s
        self._asked = anyio.Event()
        self._hurried = anyio.Event()
        self.ended = anyio.Event()

    @property
    def connections(self) -> Collection[Any]:
        return self._server.server_state.connections

    def stop(self) -> None:
        (self._hurried if self._asked.is_set() else self._asked).set()

    async def drain(self) -> None:
        """Wait until asked to stop; then close the door, let calls end, cut off what is left."""
        await self._asked.wait()
        self._draining.begin()
        self._server.close_door()
        with anyio.move_on_after(self._drain_s):
            await self._idle_or_hurried()
        self._service.stop_calls()
        with anyio.move_on_after(ANSWER_S):
            await self._draining.idle()
        self._draining.cut_off()
        self._server.should_exit = True

    async def _idle_or_hurried(self) -> None:
        async with anyio.create_task_group() as tasks:

            async def first(wait: Callable[[], Awaitable[Any]]) -> None:
                await wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(first, self._hurried.wait)
            tasks.start_soon(first, self._draining.idle)


class _Server(uvicorn.Server):
    """uvicorn's, which leaves signals to us and gives a TLS handshake no more time than the head of a request."""

    def __init__(self, config: uvicorn.Config, handshake_s: float) -> None:
        super().__init__(config)
        self._handshake_s = handshake_s

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        config, loop = self.config, asyncio.get_running_loop()
        limit = None if config.ssl is None else self._handshake_s

        def connection() -> asyncio.Protocol:
            make = cast(Callable[..., asyncio.Protocol], config.http_protocol_class)
            return make(config=config, server_state=self.server_state, app_state={})

        self.servers = [
            await loop.create_server(
                connection, sock=sock, ssl=config.ssl, backlog=config.backlog, ssl_handshake_timeout=limit
            )
            for sock in sockets or ()
        ]
        self.started = True

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    def close_door(self) -> None:
        """No new connections; those that are open go on."""
        for server in self.servers:
            server.close()


@asynccontextmanager
async def serving(
    service: Service,
    sockets: list[socket.socket],
    *,
    authenticate: Authenticate = local_only,
    context: ssl.SSLContext | None = None,
    routes: Sequence[BaseRoute] = (),
) -> AsyncIterator[Serving]:
    """Serves the open `service` on bound `sockets` while the block lasts; leaving it drains."""
    settings = service.app.settings
    draining = Draining()
    refusals = Refusals(service.journal.record)
    app = application(service, authenticate=authenticate, routes=routes, draining=draining, refusals=refusals)
    patience = patience_of(settings)
    server = _Server(_config(app, patience, refusals, context), patience.head_s)
    under_way = Serving(service, server, draining, settings["serve.drain_s"])
    async with app.router.lifespan_context(app), anyio.create_task_group() as tasks:

        async def serve() -> None:
            try:
                await server.serve(sockets)
            finally:
                under_way.ended.set()
            tasks.cancel_scope.cancel()

        tasks.start_soon(serve)
        tasks.start_soon(under_way.drain)
        tasks.start_soon(sweep, server.server_state.connections, patience, refusals)
        try:
            yield under_way
        finally:
            under_way.stop()
            with anyio.CancelScope(shield=True):
                await under_way.ended.wait()


def patience_of(settings: Settings) -> Patience:
    return Patience(
        settings["serve.head_s"],
        settings["serve.body_s"],
        settings["serve.idle_s"],
        settings["serve.write_s"],
        min(settings["serve.connections"], files_for_connections()),
    )


def _config(app: ASGIApp, patience: Patience, refusals: Refusals, context: ssl.SSLContext | None) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http=cast(Any, functools.partial(Connection, patience=patience, refusals=refusals)),
        ws="none",
        lifespan="off",  # entered by `serving`, so that what fails there is raised there
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        headers=HEADERS,
        # Ours is longer, and looks at more; this one must not be in its way.
        timeout_keep_alive=int(patience.idle_s) + 60,
        timeout_graceful_shutdown=LAST_S,
    )
    config.load()
    config.ssl = context
    return config
