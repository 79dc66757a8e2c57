"""The ASGI application: MCP, the runtime API and health on one port."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..mcp_server.server import build
from ..service import Service

MCP_PATHS = ("/mcp", "/v1/mcp")


def application(service: Service) -> Starlette:
    """Serves `service`, which is open while the application is."""
    manager = StreamableHTTPSessionManager(build(service))
    endpoint = StreamableHTTPASGIApp(manager)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[dict[str, Any]]:
        async with manager.run():
            yield {}

    async def healthy(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    routes = [*(Route(path, endpoint=endpoint) for path in MCP_PATHS), Route("/healthz", healthy)]
    return Starlette(routes=routes, lifespan=lifespan)
