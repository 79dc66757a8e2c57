"""What is measured of a service, and the page that Prometheus reads it from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..engine.telemetry.metrics import OK, Gauge, Metrics, exposition
from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Severity
from .feed import Feed
from .served import LOCAL, PRINCIPAL, ServedCall
from .service import Service

UNKNOWN: Final = "(unknown)"  # every name that callers made up


class Measuring:
    """An observer of served calls."""

    def __init__(self) -> None:
        self.metrics = Metrics()

    def call_began(self, call: ServedCall) -> None:
        pass

    def call_ended(self, call: ServedCall) -> None:
        error = call.error
        is_unknown = not call.tool and error is not None and error.code is Code.TOOL_NOT_FOUND
        self.metrics.count(
            call.connector,
            UNKNOWN if is_unknown else call.tool or call.name,
            call.caller.era,
            OK if error is None else error.code.value,
            call.seconds,
            call.rows,
            call.bytes,
        )
        if call.trail is not None:
            self.metrics.pulled(call.connector, call.trail.told)


def metrics_route(service: Service, measuring: Measuring, feed: Feed) -> Route:
    """`/metrics`, for the operator alone: the names of connectors and tools are in it."""

    async def metrics(request: Request) -> Response:
        if request.scope.get(PRINCIPAL) != LOCAL:
            raise JackfieldError(Code.ACCESS_DENIED, "Only the local operator may read the metrics.")
        accept = request.headers.get("accept", "")
        text, media = exposition(measuring.metrics, gauges(service, feed), accept)
        return Response(text, headers={"content-type": media, "cache-control": "no-store"})

    return Route("/metrics", metrics)


def gauges(service: Service, feed: Feed) -> Iterator[Gauge]:
    """What is now."""
    depth = service.bulkheads.depth()
    yield Gauge("jackfield_calls_running", "Calls of a connector that run", ("connector",),
                {(name,): running for name, (running, _) in depth.items()})  # fmt: skip
    yield Gauge("jackfield_calls_waiting", "Calls of a connector that wait for their turn", ("connector",),
                {(name,): waiting for name, (_, waiting) in depth.items()})  # fmt: skip
    engine = service.app.engine
    counts = engine.pools.counts()
    yield Gauge("jackfield_pool_connections", "Connections to databases", ("state",),
                {("leased",): counts.leased, ("idle",): counts.idle})  # fmt: skip
    yield Gauge("jackfield_pool_waiting", "Nodes that wait for a connection", (), {(): counts.waiting})
    yield Gauge("jackfield_cache_bytes", "Bytes of rows that are kept for later calls", (), {(): engine.cache.size})
    yield Gauge("jackfield_audit_failures_total", "Calls that were refused because they could not be recorded", (),
                {(): service.unrecorded})  # fmt: skip
    catalog = service.app.catalog
    yield Gauge("jackfield_connectors", "Connectors that are served", (), {(): len(catalog.connectors)})
    yield Gauge("jackfield_tools", "Tools that agents are offered", (), {(): len(catalog.offer.tools)})
    found = [finding.severity for finding in catalog.findings]
    yield Gauge("jackfield_findings", "What reading the connectors found", ("severity",),
                {(severity.value,): found.count(severity) for severity in Severity})  # fmt: skip
    yield Gauge("jackfield_event_streams", "Streams of events that are open", (), {(): feed.watchers})
