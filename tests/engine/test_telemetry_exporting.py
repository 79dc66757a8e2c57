"""Where spans go, and what is said where they cannot go there."""

from __future__ import annotations

import logging
import sys

import pytest
from servers.http import HttpServer, Reply, Seen

from jackfield.engine.telemetry.exporting import Exporting, provider
from jackfield.graphs.errors import Code, JackfieldError


@pytest.mark.parametrize("url", ["nonsense", "ftp://host", "http://", "https:///v1/traces", "http://me:word@host:4318"])
def test_what_is_no_address_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(JackfieldError) as caught:
        provider(Exporting(url))
    assert caught.value.code is Code.CONFIG_INVALID
    assert "me:word" not in str(caught.value)


@pytest.mark.parametrize(("path", "asked"), [("", "/v1/traces"), ("/", "/v1/traces"), ("/otlp/spans", "/otlp/spans")])
def test_a_bare_address_is_asked_where_collectors_listen(path: str, asked: str) -> None:
    seen: list[str] = []

    def collect(request: Seen) -> Reply:
        seen.append(request.path)
        return Reply(b"", 200, {"content-type": "application/x-protobuf"})

    with HttpServer({"POST /v1/traces": collect, "POST /otlp/spans": collect}) as server:
        made = provider(Exporting(server.url + path))
        made.get_tracer("test").start_span("one").end()
        made.shutdown()
    assert seen == [asked]


def test_only_the_share_of_traces_that_is_asked_for_is_sent() -> None:
    bodies: list[bytes] = []

    def collect(request: Seen) -> Reply:
        bodies.append(request.body)
        return Reply(b"", 200, {"content-type": "application/x-protobuf"})

    with HttpServer({"POST /v1/traces": collect}) as server:
        made = provider(Exporting(server.url, share=0.0))
        assert not made.get_tracer("test").start_span("one").is_recording()
        made.shutdown()
    assert bodies == []


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(JackfieldError) as caught:
        provider(Exporting("http://127.0.0.1:4318"))
    assert "jackfield[otel]" in caught.value.hint


def test_a_collector_that_is_away_is_told_of_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    made = provider(Exporting("http://127.0.0.1:4318"))
    made.shutdown()
    log = logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    for number in range(5):
        log.warning("try %s", number)
        log.error("failed %s", number)
    assert len([record for record in caplog.records if record.name == log.name]) <= 1
