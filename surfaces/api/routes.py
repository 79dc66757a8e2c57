"""The endpoints of the runtime API, and the routes that serve them."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..feed import Feed
from ..service import Service
from ..sessions import Sessions
from . import audit, checking, connectors, events, facts, results, runs, sessions, skills, sources, tools
from .answering import handler
from .endpoint import Endpoint, World
from .openapi import document

PREFIX: Final = "/api"
ENDPOINTS: Final[tuple[Endpoint, ...]] = (
    *connectors.ENDPOINTS,
    *checking.ENDPOINTS,
    *sources.ENDPOINTS,
    *tools.ENDPOINTS,
    *skills.ENDPOINTS,
    *runs.ENDPOINTS,
    *results.ENDPOINTS,
    *events.ENDPOINTS,
    *sessions.ENDPOINTS,
    *audit.ENDPOINTS,
    *facts.ENDPOINTS,
)


def routes(service: Service, feed: Feed, sessions: Sessions) -> tuple[Route, ...]:
    """Every route of `/api`; `feed` and `sessions` are observers of `service`."""
    world = World(service, feed, sessions)

    async def described(request: Request) -> Response:
        return Response(document(ENDPOINTS, PREFIX), media_type="application/json")

    return (
        Route(f"{PREFIX}/openapi.json", described),
        *(Route(PREFIX + each.path, handler(world, each), name=each.name, methods=[each.method]) for each in ENDPOINTS),
    )
