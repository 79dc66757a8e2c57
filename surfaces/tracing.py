"""Traces of a service's calls, where its settings say that they are exported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from ..nodes.blocking import in_thread
from .served import ServedCall
from .settings import Settings

if TYPE_CHECKING:
    from ..engine.telemetry.tracing import Tracing
    from .service import Service


class Traces:
    """An observer of served calls."""

    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    def call_began(self, call: ServedCall) -> None:
        caller = call.caller
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name[:128],
            "jackfield.run": call.run,
            "jackfield.connector": call.connector,
            "jackfield.category": call.category,
            "jackfield.era": caller.era,
            "jackfield.client": caller.client,
            "session.id": caller.session_id,
        }
        trace = self._tracing.begin(call.run, call.name[:128], attributes, caller.traceparent, caller.tracestate)
        call.trace = trace.id
        call.listeners.append(trace.listen)

    def call_ended(self, call: ServedCall) -> None:
        attributes: dict[str, Any] = {
            "jackfield.rows": call.rows,
            "jackfield.bytes": call.bytes,
            "jackfield.cached": call.cached,
            "jackfield.pushed": call.pushed,
        }
        self._tracing.end(call.run, attributes, None if call.error is None else call.error.code.value)


@asynccontextmanager
async def traced(service: Service) -> AsyncIterator[Traces | None]:
    """What traces the open `service` while the block lasts; None where nothing is to be exported.

    Raises CONFIG_INVALID where the extra is missing, SECRET_MISSING for a variable that is not set.
    """
    settings = service.app.settings
    if not settings["telemetry.otlp_url"]:
        yield None
        return
    from ..engine.telemetry.exporting import provider
    from ..engine.telemetry.tracing import Tracing

    made = provider(exporting_of(settings, service))
    tracing = Tracing(made.get_tracer("jackfield"), frozenset(host.lower() for host in settings["telemetry.propagate"]))
    service.app.engine.send_through(tracing.around)
    try:
        yield Traces(tracing)
    finally:
        await in_thread(made.shutdown)


def exporting_of(settings: Settings, service: Service) -> Any:
    from ..engine.telemetry.exporting import Exporting

    key = settings["telemetry.secret_key"]
    return Exporting(
        url=settings["telemetry.otlp_url"],
        service=settings["telemetry.service"],
        share=settings["telemetry.share"],
        token=service.app.secrets.value(key) if key else "",
    )
