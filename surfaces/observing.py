"""Who observes a service while it is served over HTTP, and the routes that show what they saw."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..nodes.blocking import in_thread
from .auditing import audit_folder
from .feed import Feed
from .measuring import Measuring, metrics_route
from .replaying import last_calls
from .sessions import Sessions
from .tracing import traced

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from ..connectors.catalog import Catalog
    from .service import Service


@dataclass(frozen=True, slots=True)
class Observing:
    """What observes one service."""

    service: Service
    feed: Feed
    sessions: Sessions
    measuring: Measuring

    def routes(self) -> tuple[BaseRoute, ...]:
        """The runtime API and /metrics."""
        from .api.routes import routes

        return (
            *routes(self.service, self.feed, self.sessions),
            metrics_route(self.service, self.measuring, self.feed),
        )


@asynccontextmanager
async def observed(service: Service) -> AsyncIterator[Observing]:
    """Observers of the open `service` while the block lasts. They begin with what the audit remembers."""
    found = Observing(service, Feed(service.app.secrets.redact), Sessions(), Measuring())

    async def changed(catalog: Catalog) -> None:
        found.feed.catalog_changed(len(catalog.connectors), len(catalog.offer.tools), len(catalog.findings))

    for call in await in_thread(lambda: last_calls(audit_folder(service.app.settings))):
        found.sessions.call_ended(call)
        found.feed.call_ended(call)
    before = service.observers
    async with traced(service) as traces:
        first = () if traces is None else (traces,)
        service.observers = (*before, *first, found.measuring, found.sessions, found.feed)
        service.follow(changed)
        try:
            yield found
        finally:
            service.observers = before
