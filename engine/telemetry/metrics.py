"""Numbers of served calls, counted as plain numbers and given in the exposition formats of Prometheus when asked for.

Labels are bounded: names that callers make up are one label, and so is every series past the first `MOST_SERIES`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ..events import Event

if TYPE_CHECKING:
    from prometheus_client.core import Metric

OK: Final = "OK"
OTHER: Final = "(other)"
MOST_SERIES: Final = 2_000
BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
UPSTREAM: Final = frozenset(
    ("AUTH_FAILED", "SOURCE_UNREACHABLE", "SOURCE_BLOCKED", "SOURCE_TIMEOUT", "SOURCE_ERROR", "SOURCE_BAD_REPLY",
     "RATE_LIMITED", "SCHEMA_CHANGED")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number of the moment, with the labels of each of its values."""

    name: str
    meaning: str
    labels: tuple[str, ...]
    values: Mapping[tuple[str, ...], float]


@dataclass(slots=True)
class _Tool:
    """What the calls of one tool came to."""

    rows: int = 0
    bytes: int = 0
    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))


@dataclass(slots=True)
class _Source:
    """What was pulled for one connector."""

    kept: int = 0
    pulled: int = 0
    rows: int = 0
    bytes: int = 0
    requests: int = 0


class Metrics:
    """Counts each call as it ends."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[str, str, str, str], int] = {}
        self._tools: dict[tuple[str, str], _Tool] = {}
        self._sources: dict[str, _Source] = {}
        self._failures: dict[tuple[str, str], int] = {}

    def count(
        self, connector: str, tool: str, era: str, outcome: str, seconds: float, rows: int | None, size: int | None
    ) -> None:
        """One call. `outcome` is OK or the code of its error."""
        held = self._tools.get((connector, tool))
        if held is None:
            if len(self._tools) >= MOST_SERIES:
                connector = tool = OTHER
            held = self._tools.setdefault((connector, tool), _Tool())
        held.rows += rows or 0
        held.bytes += size or 0
        held.seconds += seconds
        held.buckets[bisect_left(BUCKETS, seconds)] += 1
        key = (connector, tool, era, outcome)
        self._outcomes[key] = self._outcomes.get(key, 0) + 1

    def pulled(self, connector: str, told: Iterable[Event]) -> None:
        """What the events of a run tell of its sources."""
        for event in told:
            if event.kind == "pulled":
                self._add(connector, event.facts)
            elif event.kind in ("failed", "retried") and (code := str(event.facts.get("code"))) in UPSTREAM:
                self._failures[(connector, code)] = self._failures.get((connector, code), 0) + 1

    def _add(self, connector: str, facts: Mapping[str, Any]) -> None:
        held = self._sources.get(connector)
        if held is None:
            held = self._sources.setdefault(connector if len(self._sources) < MOST_SERIES else OTHER, _Source())
        if facts.get("cached"):
            held.kept += 1
            return
        held.pulled += 1
        held.rows += facts.get("rows") or 0
        held.bytes += facts.get("bytes") or 0
        held.requests += facts.get("requests") or 0

    def families(self) -> Iterator[Metric]:
        """What was counted, as Prometheus has it."""
        from prometheus_client.core import HistogramMetricFamily

        yield _counter("jackfield_calls", "Served calls by outcome: OK, or the code of the error",
                       ("connector", "tool", "era", "outcome"), self._outcomes)  # fmt: skip
        latency = HistogramMetricFamily(
            "jackfield_call_seconds", "Seconds that served calls took", labels=["connector", "tool"]
        )
        for labels, held in self._tools.items():
            latency.add_metric(labels, list(_cumulative(held.buckets)), held.seconds)
        yield latency
        tools = self._tools.items()
        by_tool = ("connector", "tool")
        yield _counter("jackfield_answer_rows", "Rows in answers", by_tool, {key: held.rows for key, held in tools})
        yield _counter("jackfield_answer_bytes", "Bytes of answers", by_tool, {key: held.bytes for key, held in tools})
        sources = self._sources.items()
        pulls = {(name, "hit"): held.kept for name, held in sources}
        pulls |= {(name, "miss"): held.pulled for name, held in sources}
        yield _counter("jackfield_source_pulls", "Pulls of sources; hit: answered from what was kept",
                       ("connector", "cache"), pulls)  # fmt: skip
        for name, meaning, attribute in (
            ("jackfield_source_rows", "Rows that sources gave", "rows"),
            ("jackfield_source_bytes", "Bytes that sources gave", "bytes"),
            ("jackfield_source_requests", "HTTP requests to sources", "requests"),
        ):
            yield _counter(name, meaning, ("connector",), {(key,): getattr(held, attribute) for key, held in sources})
        yield _counter("jackfield_upstream_errors", "Failures of sources, those that were tried again too",
                       ("connector", "code"), self._failures)  # fmt: skip


def exposition(metrics: Metrics, gauges: Iterable[Gauge], accept: str) -> tuple[bytes, str]:
    """All of it as text, and its media type: OpenMetrics where that is accepted."""
    from prometheus_client import CollectorRegistry, ProcessCollector
    from prometheus_client.exposition import choose_encoder

    registry = CollectorRegistry(auto_describe=False)
    ProcessCollector(registry=registry)
    registry.register(_Collector(metrics, tuple(gauges)))
    encode, media = choose_encoder(accept)
    return encode(registry), media


class _Collector:
    def __init__(self, metrics: Metrics, gauges: tuple[Gauge, ...]) -> None:
        self._metrics = metrics
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        yield from self._metrics.families()
        for gauge in self._gauges:
            # A name that ends so is a counter's, by the convention that Prometheus checks.
            family = CounterMetricFamily if gauge.name.endswith("_total") else GaugeMetricFamily
            shown = family(gauge.name.removesuffix("_total"), gauge.meaning, labels=gauge.labels)
            for labels, value in gauge.values.items():
                shown.add_metric(labels, value)
            yield shown


def _counter(name: str, meaning: str, labels: tuple[str, ...], values: Mapping[Any, float]) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(name, meaning, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _cumulative(buckets: list[int]) -> Iterator[tuple[str, float]]:
    total = 0
    for bound, count in zip((*BUCKETS, float("inf")), buckets, strict=True):
        total += count
        yield ("+Inf" if bound == float("inf") else str(bound)), total
