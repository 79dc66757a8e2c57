"""Evals: cases that say what a connector's tools must answer, read from files, run, judged and reported."""

from __future__ import annotations

from .junit import junit
from .reading import fitting, read_suite, suite_in, suite_of, suites_of
from .running import CaseResult, SuiteResult, run_suite
from .suite import Case, Expectation, Match, Suite

__all__ = [
    "Case",
    "CaseResult",
    "Expectation",
    "Match",
    "Suite",
    "SuiteResult",
    "fitting",
    "junit",
    "read_suite",
    "run_suite",
    "suite_in",
    "suite_of",
    "suites_of",
]
