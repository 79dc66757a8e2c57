"""The ASGI application: MCP, the runtime API and health on one port, behind the guards of every route."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ...graphs.errors import JackfieldError
from ..mcp_server.direct import Direct
from ..mcp_server.server import build
from ..service import Service
from .bodies import Bodies
from .draining import Draining
from .gate import Gate
from .guards import Names
from .health import health_routes
from .numbers import Numbers
from .principals import Authenticate, local_only
from .refusal import MCP_PATHS, answer_of, of_error, refusal
from .refusals import Refusals


def application(
    service: Service,
    *,
    authenticate: Authenticate = local_only,
    routes: Sequence[BaseRoute] = (),
    draining: Draining | None = None,
    refusals: Refusals | None = None,
) -> Starlette:
    """Serves `service`, which is open while the application is. `routes` are further ones, behind the same guards.

    `authenticate` gives the principal of a request by its ASGI scope, or None: 401 everywhere but at /healthz.
    """
    settings = service.app.settings
    draining = draining or Draining()
    refusals = refusals or Refusals(service.journal.record)
    server = build(service)
    manager = StreamableHTTPSessionManager(server, max_request_body_size=settings["serve.max_body"])
    endpoint = StreamableHTTPASGIApp(manager)
    names = Names(
        frozenset(host.lower() for host in settings["serve.hosts"]),
        frozenset(origin.lower().rstrip("/") for origin in settings["serve.origins"]),
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        async with manager.run():
            yield {}
        refusals.settle(ended=True)

    async def not_served(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        found = refusal(
            error.status_code, "route", f"{request.method} {request.url.path[:200]} is not served here.",
            "MCP is at /mcp, the API at /api/, health at /healthz and /readyz.",
            headers=tuple((name.encode(), value.encode()) for name, value in (error.headers or {}).items()),
        )  # fmt: skip
        refusals.note(found, request.scope)
        return answer_of(found, request.scope)

    async def failed(request: Request, error: Exception) -> Response:
        assert isinstance(error, JackfieldError)
        return answer_of(of_error(error), request.scope)

    return Starlette(
        exception_handlers={HTTPException: not_served, JackfieldError: failed},
        routes=[*(Route(path, endpoint=endpoint) for path in MCP_PATHS), *health_routes(service, draining), *routes],
        lifespan=lifespan,
        middleware=[
            Middleware(Gate, names, authenticate, draining, refusals),
            Middleware(Bodies, settings["serve.max_body"], draining, refusals),
            Middleware(Numbers, refusals),
            Middleware(Direct, service, server),
        ],
    )
