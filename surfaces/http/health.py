"""Whether this process lives, and whether it should be asked."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ...graphs.errors import JackfieldError
from ..service import Service
from .draining import Draining


def health_routes(service: Service, draining: Draining) -> list[Route]:
    """`/healthz`: alive. `/readyz`: 503 with the reasons while calls would be refused."""

    async def alive(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(request: Request) -> Response:
        reasons = reasons_not_ready(service, draining)
        if reasons:
            return JSONResponse({"status": "not ready", "reasons": reasons}, 503, {"retry-after": "1"})
        return JSONResponse({"status": "ready", "tools": len(service.offer.tools)})

    return [Route("/healthz", alive), Route("/readyz", ready)]


def reasons_not_ready(service: Service, draining: Draining) -> list[str]:
    reasons = ["It is shutting down."] if draining.is_on else []
    try:
        service.journal.require()
    except JackfieldError as error:
        reasons.append(error.message)
    return reasons
