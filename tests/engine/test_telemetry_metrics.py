"""Metrics as Prometheus reads them: parsed by its own parser, bounded whatever callers do."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse

from jackfield.engine.events import Event
from jackfield.engine.telemetry.metrics import BUCKETS, MOST_SERIES, OTHER, Gauge, Metrics, exposition

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def samples(metrics: Metrics, *gauges: Gauge) -> Samples:
    text, _ = exposition(metrics, gauges, "text/plain")
    families = parse(text.decode())
    return {(one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples}


def of(found: Samples, name: str, **labels: str) -> float:
    return found[(name, frozenset(labels.items()))]


def test_calls_are_counted_by_tool_and_outcome() -> None:
    metrics = Metrics()
    metrics.count("shop", "find", "stateless", "OK", 0.02, 3, 120)
    metrics.count("shop", "find", "stateless", "OK", 0.2, 4, 80)
    metrics.count("shop", "find", "stateless", "SOURCE_TIMEOUT", 30.5, None, None)
    found = samples(metrics)
    labels = {"connector": "shop", "tool": "find"}
    assert of(found, "jackfield_calls_total", era="stateless", outcome="OK", **labels) == 2
    assert of(found, "jackfield_calls_total", era="stateless", outcome="SOURCE_TIMEOUT", **labels) == 1
    assert of(found, "jackfield_answer_rows_total", **labels) == 7
    assert of(found, "jackfield_answer_bytes_total", **labels) == 200
    assert of(found, "jackfield_call_seconds_count", **labels) == 3
    assert of(found, "jackfield_call_seconds_sum", **labels) == pytest.approx(30.72)
    assert of(found, "jackfield_call_seconds_bucket", le="0.025", **labels) == 1
    assert of(found, "jackfield_call_seconds_bucket", le="0.25", **labels) == 2
    assert of(found, "jackfield_call_seconds_bucket", le="60.0", **labels) == 3


@pytest.mark.parametrize("bound", BUCKETS)
def test_a_call_of_just_a_bounds_seconds_is_within_it(bound: float) -> None:
    metrics = Metrics()
    metrics.count("shop", "find", "api", "OK", bound, 0, 0)
    found = samples(metrics)
    assert of(found, "jackfield_call_seconds_bucket", le=str(bound), connector="shop", tool="find") == 1


def test_what_sources_gave_is_counted_out_of_the_events_of_runs() -> None:
    metrics = Metrics()
    metrics.pulled("shop", [
        Event(0, "run", "orders", "pulled", {"rows": 5, "bytes": 500, "requests": 2}),
        Event(0, "run", "orders", "pulled", {"rows": 5, "cached": True}),
        Event(0, "run", "orders", "retried", {"code": "RATE_LIMITED"}),
        Event(0, "run", "orders", "failed", {"code": "SOURCE_ERROR"}),
        Event(0, "run", "sql", "failed", {"code": "QUERY_INVALID"}),
    ])  # fmt: skip
    found = samples(metrics)
    assert of(found, "jackfield_source_pulls_total", connector="shop", cache="hit") == 1
    assert of(found, "jackfield_source_pulls_total", connector="shop", cache="miss") == 1
    assert of(found, "jackfield_source_rows_total", connector="shop") == 5
    assert of(found, "jackfield_source_requests_total", connector="shop") == 2
    assert of(found, "jackfield_upstream_errors_total", connector="shop", code="RATE_LIMITED") == 1
    assert of(found, "jackfield_upstream_errors_total", connector="shop", code="SOURCE_ERROR") == 1
    assert not [key for key in found if key[0] == "jackfield_upstream_errors_total" and "QUERY_INVALID" in str(key)]


def test_series_are_bounded() -> None:
    metrics = Metrics()
    for number in range(MOST_SERIES + 50):
        metrics.count("shop", f"tool{number}", "api", "OK", 0.1, 1, 1)
    found = samples(metrics)
    assert of(found, "jackfield_answer_rows_total", connector=OTHER, tool=OTHER) == 50
    assert len([key for key in found if key[0] == "jackfield_answer_rows_total"]) == MOST_SERIES + 1


def test_the_page_is_openmetrics_where_that_is_accepted_and_tells_of_the_process() -> None:
    metrics = Metrics()
    metrics.count('sh"op\n', "find\\", "api", "OK", 0.1, 1, 1)
    gauges = (Gauge("jackfield_calls_running", "Calls that run", ("connector",), {("shop",): 2}),
              Gauge("jackfield_audit_failures_total", "Refused", (), {(): 1}))  # fmt: skip
    text, media = exposition(metrics, gauges, "application/openmetrics-text; version=1.0.0")
    assert media.startswith("application/openmetrics-text")
    families = {family.name: family for family in parse_openmetrics(text.decode())}  # type: ignore[no-untyped-call]
    assert families["jackfield_calls"].samples[0].labels["connector"] == 'sh"op\n'
    assert families["jackfield_calls_running"].samples[0].value == 2
    assert families["jackfield_audit_failures"].type == "counter"
    assert "process_cpu_seconds" in families
