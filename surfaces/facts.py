"""What a run's events say of each node: seconds, rows, bytes, and what a source was asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..engine.events import Event


@dataclass(slots=True)
class NodeFacts:
    """One node of one run. `pulled`: a source that gave rows; `asked`: the facts of its pushed and pulled events."""

    node: str
    firings: int = 0
    seconds: float = 0.0
    rows: int | None = None
    bytes: int | None = None
    requests: int | None = None
    cached: bool = False
    pulled: bool = False
    failed: bool = False
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def amount(self) -> str:
        """Rows, or what is known of them where they streamed: `45`, `3.1 kB`."""
        return f"{self.rows:,}" if self.rows is not None else size(self.bytes or 0)

    def words(self) -> str:
        """`45 rows, 3.1 kB, 1 request, 12.3 ms`."""
        parts = []
        if self.rows is not None:
            parts.append(f"{self.rows:,} row{'s' * (self.rows != 1)}")
        if self.bytes:
            parts.append(size(self.bytes))
        if self.requests:
            parts.append(f"{self.requests} request{'s' * (self.requests != 1)}")
        if self.cached:
            parts.append("cached")
        if self.firings > 1:
            parts.append(f"{self.firings} times")
        if self.firings:
            parts.append(duration(self.seconds))
        return ", ".join(parts)


def by_node(events: Iterable[Event]) -> dict[str, NodeFacts]:
    """Facts by node id, in the order in which nodes were first heard of."""
    facts: dict[str, NodeFacts] = {}
    for event in events:
        if not event.node:
            continue
        node = facts.setdefault(event.node, NodeFacts(event.node))
        if event.kind == "finished":
            node.firings += 1
            node.seconds += float(event.facts.get("seconds", 0))
            given = event.facts.get("rows")  # by output port
            counts = [count for count in given.values() if isinstance(count, int)] if isinstance(given, Mapping) else []
            if node.rows is None and counts:  # not of a stream, whose rows nobody had counted yet
                node.rows = sum(counts)
        elif event.kind == "failed":
            node.failed = True
        elif event.kind in ("pulled", "pushed", "saved", "queried"):
            _add(node, event)
    return facts


def _add(node: NodeFacts, event: Event) -> None:
    node.asked |= event.facts
    for name in ("rows", "bytes", "requests"):
        count = event.facts.get(name)
        if isinstance(count, int) and not isinstance(count, bool):
            setattr(node, name, (getattr(node, name) or 0) + count)
    node.pulled = node.pulled or event.kind == "pulled"
    node.cached = node.cached or bool(event.facts.get("cached"))


def seconds_of(events: Iterable[Event]) -> float | None:
    """How long the run took, with the reading of what it streamed; None when it is not over."""
    return next((float(event.facts["seconds"]) for event in events if event.kind == "run_finished"), None)


def duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def size(count: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"
