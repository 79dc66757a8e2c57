"""Runs the cases of a suite through whatever calls tools, one after the other, and judges each answer."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from ...graphs.errors import JackfieldError
from .judging import problems, rows_of
from .suite import Case, Suite

# Calls a tool or a skill, and gives its result object, or the error, raised or returned.
Call = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any] | JackfieldError]]
Verdict = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """`problems` says what was not as expected; of a skipped case, why it was not run."""

    case: Case
    verdict: Verdict
    problems: tuple[str, ...]
    rows: int | None
    latency_ms: float
    error: JackfieldError | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "case_id": self.case.id,
            "tool_id": self.case.tool,
            "verdict": self.verdict,
            "passed": self.verdict == "passed",
            "problems": list(self.problems),
            "actual_rows": self.rows,
            "latency_ms": round(self.latency_ms, 1),
            "error": None if self.error is None else self.error.as_json(),
        }


@dataclass(frozen=True, slots=True)
class SuiteResult:
    suite: Suite
    run_at: str
    cases: tuple[CaseResult, ...]

    def count(self, verdict: Verdict) -> int:
        return sum(case.verdict == verdict for case in self.cases)

    @property
    def passed(self) -> bool:
        return self.count("failed") == 0

    @property
    def score(self) -> float:
        """The share of passed cases among those that ran, 0 to 1; 1 where none could."""
        ran = self.count("passed") + self.count("failed")
        return self.count("passed") / ran if ran else 1.0

    def as_json(self) -> dict[str, Any]:
        return {
            "suite_id": self.suite.name,
            "connector": self.suite.connector,
            "run_at": self.run_at,
            "score": round(self.score, 4),
            "passed": self.count("passed"),
            "failed": self.count("failed"),
            "skipped": self.count("skipped"),
            "cases": [case.as_json() for case in self.cases],
        }


async def run_suite(suite: Suite, call: Call) -> SuiteResult:
    """Run every case. A failure of a call is judged, never raised; anything else that `call` raises passes through."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    return SuiteResult(suite, started, tuple([await _run(case, call) for case in suite.cases]))


async def _run(case: Case, call: Call) -> CaseResult:
    if case.prompt:
        return CaseResult(case, "skipped", ("a prompt needs an agent to choose the tool",), None, 0.0)
    began = time.perf_counter()
    answer: Mapping[str, Any] | JackfieldError
    try:
        answer = await call(case.tool, case.arguments)
    except JackfieldError as failure:
        answer = failure
    latency = (time.perf_counter() - began) * 1000
    found = tuple(problems(case.expect, answer))
    error = answer if isinstance(answer, JackfieldError) else None
    rows = None if isinstance(answer, JackfieldError) else len(rows_of(answer))
    return CaseResult(case, "failed" if found else "passed", found, rows, latency, error)
