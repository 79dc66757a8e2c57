"""A real HTTP server on a free loopback port, in a thread: routes given by the test, and a log of what it was asked.

    with HttpServer({"/items": {"items": [1, 2]}, "POST /items": lambda seen: Reply({"id": 1}, 201)}) as server:
        ...server.url, server.requests...

A route is `"[METHOD ]/path/{name}"` (GET where no method is named) to a JSON value, a `Reply`, or a function of
`Seen` that gives either, or a Starlette response; it may be async.
"""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from servers.threaded import ThreadedServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


@dataclass(frozen=True)
class Reply:
    """`body` bytes or text goes out as it is, anything else as JSON."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def response(self) -> Response:
        if isinstance(self.body, bytes | str):
            return Response(self.body, self.status, dict(self.headers))
        headers = {"content-type": "application/json", **self.headers}
        return Response(json.dumps(self.body).encode(), self.status, headers)


@dataclass(frozen=True)
class Seen:
    """One request as the server saw it. `raw_path` is as it came over the wire, percent-encoding included."""

    method: str
    path: str
    raw_path: str
    query: Mapping[str, str]
    pairs: tuple[tuple[str, str], ...]
    headers: Mapping[str, str]
    body: bytes
    params: Mapping[str, str]
    request: Request

    def json(self) -> Any:
        return json.loads(self.body)

    async def disconnected(self) -> None:
        """Wait until the client has closed the connection."""
        while (await self.request.receive())["type"] != "http.disconnect":
            pass


Handler = Callable[[Seen], Any | Awaitable[Any]]


class Hang:
    """A handler that never answers: `arrived` when a request came, `closed` when its client went away."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.closed = threading.Event()

    async def __call__(self, seen: Seen) -> Response:
        self.arrived.set()
        await seen.disconnected()
        self.closed.set()
        return Response()


class HttpServer(ThreadedServer):
    def __init__(self, routes: Mapping[str, Any]) -> None:
        self.requests: list[Seen] = []
        super().__init__()
        app = Starlette(routes=[self._route(place, answer) for place, answer in routes.items()])
        config = uvicorn.Config(app, http="h11", ws="none", lifespan="off", log_config=None, access_log=False)
        self._server = uvicorn.Server(config)

    @property
    def last(self) -> Seen:
        return self.requests[-1]

    def _route(self, place: str, answer: Any) -> Route:
        method, _, path = place.rpartition(" ")

        async def endpoint(request: Request) -> Response:
            seen = Seen(
                request.method,
                request.url.path,
                request.scope["raw_path"].decode("latin-1"),
                dict(request.query_params),
                tuple(request.query_params.multi_items()),
                dict(request.headers),
                await request.body(),
                request.path_params,
                request,
            )
            self.requests.append(seen)
            value = answer(seen) if callable(answer) else answer
            if inspect.isawaitable(value):
                value = await value
            if isinstance(value, Response):
                return value
            return (value if isinstance(value, Reply) else Reply(value)).response()

        return Route(path, endpoint, methods=[method or "GET"])

    async def begin(self) -> None:
        self._server.config.load()
        self._server.lifespan = self._server.config.lifespan_class(self._server.config)
        await self._server.startup(sockets=[self.socket])

    async def end(self) -> None:
        self._server.force_exit = True  # a test may leave a request hanging; its task ends with the loop
        await self._server.shutdown(sockets=[self.socket])
