"""Spans of served calls: call → run → node → request to an upstream, made from the events of runs.

Only what is configured to be exported makes any: without a tracer no listener is added and no request is wrapped.
Attributes hold names, counts and codes; never arguments, rows, addresses with their queries, or messages of errors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx2
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ...graphs.errors import JackfieldError
from ...nodes.base import Egress, Request, Response
from ..context import current
from ..events import Event

MOST_SPANS: Final = 1_000  # of one call; a map over many items would else make more than any reader takes
W3C: Final = TraceContextTextMapPropagator()
EVERYWHERE: Final = "*"
FACTS: Final = ("rows", "bytes", "requests", "cached", "streamed", "limit", "affected")


class Tracing:
    """Makes the spans of calls. `told` are the hosts that may see our trace context in requests; `*` is any."""

    def __init__(self, tracer: Tracer, told: frozenset[str] = frozenset()) -> None:
        self._tracer = tracer
        self._told = told
        self._live: dict[str, CallTrace] = {}

    def begin(self, run: str, name: str, attributes: Mapping[str, Any], traceparent: str, tracestate: str) -> CallTrace:
        """The trace of a call, as a part of the caller's own where that sent its context."""
        carrier = {"traceparent": traceparent, "tracestate": tracestate} if traceparent else {}
        outer = W3C.extract(carrier, Context())
        span = self._tracer.start_span(
            f"execute_tool {name}", outer, SpanKind.SERVER, attributes, start_time=time.time_ns()
        )
        trace = self._live[run] = CallTrace(self._tracer, span)
        return trace

    def end(self, run: str, attributes: Mapping[str, Any], code: str | None) -> None:
        trace = self._live.pop(run, None)
        if trace is not None:
            trace.end(attributes, code)

    def around(self, egress: Egress) -> Egress:
        """The way out, with a span for each request of a traced call."""
        return _Traced(egress, self)

    def of(self, run: str) -> CallTrace | None:
        return self._live.get(run)

    def request(self, parent: Span, request: Request) -> tuple[Span, Request]:
        """The span of a request, and the request with its context where the host may see it."""
        url = httpx2.URL(request.url)
        attributes: dict[str, Any] = {
            "http.request.method": request.method,
            "url.scheme": url.scheme,
            "server.address": url.host,
        }
        if url.port is not None:
            attributes["server.port"] = url.port
        span = self._tracer.start_span(request.method, set_span_in_context(parent), SpanKind.CLIENT, attributes)
        if EVERYWHERE not in self._told and url.host.lower() not in self._told:
            return span, request
        carrier: dict[str, str] = {}
        W3C.inject(carrier, set_span_in_context(span))
        named = {name.lower() for name, _ in request.headers}
        more = tuple((name, value) for name, value in carrier.items() if name not in named)
        return span, Request(
            request.method, request.url, (*request.headers, *more), request.query, request.body, request.timeout_s,
            request.max_bytes,
        )  # fmt: skip


class CallTrace:
    """The spans of one call. `listen` hears the events of its run."""

    def __init__(self, tracer: Tracer, span: Span) -> None:
        self.span = span
        self._tracer = tracer
        self._run: Span | None = None
        self._open: dict[str, list[Span]] = {}  # nodes that are firing, by their path
        self._count = 0

    @property
    def id(self) -> str:
        """The trace's id, as hexadecimal text."""
        return f"{self.span.get_span_context().trace_id:032x}"

    def listen(self, event: Event) -> None:
        handle = HANDLERS.get(event.kind) if event.node else RUN_HANDLERS.get(event.kind)
        if handle is not None:
            handle(self, event)
        elif event.node in self._open and event.kind != "progress":
            self._note(event)

    def above(self, node: str) -> Span:
        """The span that a request of `node` is part of."""
        while node:
            if opened := self._open.get(node):
                return opened[-1]
            node = node.rpartition("/")[0]
        return self._run or self.span

    def end(self, attributes: Mapping[str, Any], code: str | None) -> None:
        for opened in self._open.values():
            for span in opened:
                span.end()
        if self._run is not None:
            self._run.end()
        self.span.set_attributes({name: value for name, value in attributes.items() if value is not None})
        _close(self.span, code, None)

    def _run_began(self, event: Event) -> None:
        self._run = self._tracer.start_span("run", set_span_in_context(self.span), start_time=_ns(event))

    def _run_ended(self, event: Event) -> None:
        if self._run is not None:
            run, self._run = self._run, None
            _close(run, _code(event), _ns(event))

    def _began(self, event: Event) -> None:
        if self._count >= MOST_SPANS:
            return
        self._count += 1
        parent = set_span_in_context(self.above(event.node.rpartition("/")[0]))
        attributes = {"jackfield.node": event.node}
        name = event.node.rpartition("/")[2]
        span = self._tracer.start_span(f"node {name}", parent, attributes=attributes, start_time=_ns(event))
        self._open.setdefault(event.node, []).append(span)

    def _ended(self, event: Event) -> None:
        opened = self._open.get(event.node)
        if not opened:
            return
        span = opened.pop()
        if not opened:
            del self._open[event.node]
        rows = event.facts.get("rows")
        if isinstance(rows, Mapping):
            counts = [count for count in rows.values() if isinstance(count, int)]
            if counts:
                span.set_attribute("jackfield.rows", sum(counts))
        _close(span, _code(event), _ns(event))

    def _note(self, event: Event) -> None:
        """What a node says of itself, as an event of its span: counts and codes alone."""
        facts = {f"jackfield.{name}": event.facts[name] for name in FACTS if _plain(event.facts.get(name))}
        if event.kind == "retried":
            facts["error.type"] = str(event.facts.get("code"))
        self._open[event.node][-1].add_event(event.kind, facts, _ns(event))


Handler = Callable[[CallTrace, Event], None]
HANDLERS: Final[Mapping[str, Handler]] = {
    "started": CallTrace._began,
    "finished": CallTrace._ended,
    "failed": CallTrace._ended,
}
RUN_HANDLERS: Final[Mapping[str, Handler]] = {
    "run_started": CallTrace._run_began,
    "run_finished": CallTrace._run_ended,
    "run_failed": CallTrace._run_ended,
}


class _Traced:
    """Implements `base.Egress`."""

    __slots__ = ("_egress", "_tracing")

    def __init__(self, egress: Egress, tracing: Tracing) -> None:
        self._egress = egress
        self._tracing = tracing

    async def send(self, request: Request) -> Response:
        try:
            node = current()
        except LookupError:
            return await self._egress.send(request)
        trace = self._tracing.of(node.run_id)
        if trace is None:
            return await self._egress.send(request)
        try:
            span, request = self._tracing.request(trace.above(node.node), request)
        except httpx2.InvalidURL:
            return await self._egress.send(request)  # which says what is wrong with it
        code: str | None = "CANCELLED"
        try:
            response = await self._egress.send(request)
            code = None if response.status < 400 else str(response.status)
            span.set_attribute("http.response.status_code", response.status)
            return response
        except JackfieldError as error:
            code = error.code.value
            raise
        finally:
            _close(span, code, None)


def _close(span: Span, code: str | None, at: int | None) -> None:
    if code is not None:
        span.set_attribute("error.type", code)
        span.set_status(StatusCode.ERROR, code)
    span.end(at)


def _code(event: Event) -> str | None:
    return str(event.facts.get("code")) if event.kind in ("failed", "run_failed") else None


def _ns(event: Event) -> int:
    return int(event.at * 1e9)


def _plain(value: Any) -> bool:
    return isinstance(value, (int, float, bool))
