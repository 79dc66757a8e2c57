"""Spans: call → run → node → request, out of what runs tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from servers.http import HttpServer, Reply

from jackfield.engine.engine import Engine
from jackfield.engine.events import Trail
from jackfield.engine.telemetry.tracing import MOST_SPANS, Tracing
from jackfield.graphs.bgl import from_json
from jackfield.graphs.errors import JackfieldError
from jackfield.nodes import NODE_TYPES

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Spans:
    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def tracing(self, *told: str) -> Tracing:
        return Tracing(self.provider.get_tracer("test"), frozenset(told))

    def __getitem__(self, name: str) -> ReadableSpan:
        found = [span for span in self.exporter.get_finished_spans() if span.name == name]
        assert len(found) == 1, [span.name for span in self.exporter.get_finished_spans()]
        return found[0]


@pytest.fixture
def spans() -> Iterator[Spans]:
    made = Spans()
    yield made
    made.provider.shutdown()


def board(url: str) -> Any:
    return from_json({
        "nodes": [{"id": "animals", "type": "rest", "configuration": {"url": f"{url}/animals?key=of-a-secret"}},
                  {"id": "output", "type": "output"}],
        "edges": [{"from": "animals", "out": "rows", "to": "output", "in": "rows"}],
    })  # fmt: skip


async def traced_run(tracing: Tracing, url: str, parent: str = "") -> None:
    """One run under the trace of a call, as a service makes it."""
    async with Engine(NODE_TYPES) as engine:
        engine.send_through(tracing.around)
        trace = tracing.begin(
            "run1", "list_animals", {"jackfield.connector": "zoo"}, parent, "vendor=1" if parent else ""
        )
        code = None
        try:
            await engine.run(board(url), {}, trail=Trail("run1", trace.listen))
        except JackfieldError as error:
            code = error.code.value
            raise
        finally:
            tracing.end("run1", {"jackfield.rows": 2}, code)


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


@pytest.mark.anyio
async def test_a_call_is_a_tree_of_spans_down_to_the_request(spans: Spans) -> None:
    with HttpServer({"/animals": [{"id": 1}, {"id": 2}]}) as server:
        await traced_run(spans.tracing(), server.url, PARENT)
    call, run, node, request = spans["execute_tool list_animals"], spans["run"], spans["node animals"], spans["GET"]
    assert parent_of(request) == node.context.span_id
    assert parent_of(node) == run.context.span_id
    assert parent_of(run) == call.context.span_id
    assert f"{parent_of(call):016x}" == PARENT.split("-")[2]
    assert {f"{span.context.trace_id:032x}" for span in (call, run, node, request)} == {PARENT.split("-")[1]}
    assert request.attributes is not None
    assert request.attributes["http.response.status_code"] == 200
    assert request.attributes["server.port"] == server.port
    assert node.attributes is not None
    assert node.attributes["jackfield.rows"] == 2
    assert [event.name for event in node.events] == ["pulled"]
    for outer, inner in ((call, run), (run, node), (node, request)):
        assert outer.start_time is not None
        assert inner.start_time is not None
        assert outer.end_time is not None
        assert inner.end_time is not None
        assert outer.start_time <= inner.start_time
        assert inner.end_time <= outer.end_time + 1_000_000  # events have their own clock


@pytest.mark.anyio
async def test_no_span_holds_an_address_with_its_query_or_the_message_of_an_error(spans: Spans) -> None:
    with HttpServer({"/animals": Reply({"reason": "of-a-secret"}, 500)}) as server, pytest.raises(JackfieldError):
        await traced_run(spans.tracing(), server.url)
    text = "".join(span.to_json() for span in spans.exporter.get_finished_spans())
    assert "of-a-secret" not in text
    for name in ("execute_tool list_animals", "run", "node animals"):
        assert spans[name].status.status_code is StatusCode.ERROR
        assert (spans[name].attributes or {})["error.type"] == "SOURCE_ERROR"


@pytest.mark.anyio
async def test_only_hosts_that_the_operator_names_are_sent_the_trace_context(spans: Spans) -> None:
    with HttpServer({"/animals": []}) as server:
        await traced_run(spans.tracing(), server.url, PARENT)
        assert "traceparent" not in server.last.headers
        await traced_run(spans.tracing("another.test"), server.url, PARENT)
        assert "traceparent" not in server.last.headers
        for told in ("127.0.0.1", "*"):
            spans.exporter.clear()
            await traced_run(spans.tracing(told), server.url, PARENT)
            sent = server.last.headers["traceparent"].split("-")
            assert sent[1] == PARENT.split("-")[1]
            assert sent[2] == f"{spans['GET'].context.span_id:016x}"
            assert server.last.headers["tracestate"] == "vendor=1"


@pytest.mark.anyio
async def test_a_caller_who_sends_no_or_a_bad_context_gets_a_trace_of_its_own(spans: Spans) -> None:
    with HttpServer({"/animals": []}) as server:
        for parent in ("", "00-zz-1-1", PARENT[:-4], "00-" + "0" * 32 + "-b7ad6b7169203331-01"):
            spans.exporter.clear()
            await traced_run(spans.tracing(), server.url, parent)
            assert spans["execute_tool list_animals"].parent is None


@pytest.mark.anyio
async def test_spans_of_one_call_are_bounded(spans: Spans) -> None:
    tracing = spans.tracing()
    many = {
        "nodes": [
            {"id": "input", "type": "input"},
            {
                "id": "map",
                "type": "map",
                "configuration": {"$board": "#each", "items": [{"n": n} for n in range(1_500)]},
            },
            {"id": "output", "type": "output"},
        ],
        "edges": [{"from": "input", "to": "map"}, {"from": "map", "out": "list", "to": "output", "in": "list"}],
        "graphs": {
            "each": {
                "nodes": [{"id": "input", "type": "input"}, {"id": "output", "type": "output"}],
                "edges": [{"from": "input", "out": "*", "to": "output"}],
            }
        },
    }
    async with Engine(NODE_TYPES) as engine:
        trace = tracing.begin("run1", "many", {}, "", "")
        await engine.run(from_json(many), {}, trail=Trail("run1", trace.listen))
        tracing.end("run1", {}, None)
    assert len(spans.exporter.get_finished_spans()) == MOST_SPANS + 2
