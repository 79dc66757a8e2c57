"""`run-eval`: the cases of a connector, run against its draft or its served version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...connectors.evals import Suite, SuiteResult, run_suite
from ...connectors.model import Connector
from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Json
from .bench import Bench
from .drafts import EVAL, SUBJECT, chosen, connector_of, suites_for
from .lint import scored
from .tool import PlatformTool, answer_of, hints, object_of
from .variables import require_trusted

MOST_CASES: Final = 50


async def run(bench: Bench, arguments: Mapping[str, Any], principal: str) -> dict[str, Json]:
    draft = chosen(bench, arguments)
    connector = connector_of(draft)
    suites = suites_for(draft, connector, arguments["eval"])
    if not suites:
        raise JackfieldError(
            Code.VALIDATION_MISSING_FIELD,
            f"Connector '{connector.slug}' has no cases.",
            "Give them as 'eval': {connector, cases: [{id, tool_id, arguments, expect: {min_rows, …}}]}.",
            {"parameter": "eval"},
        )
    results = await judged(bench, connector, suites, principal)
    return {
        "connector": connector.slug,
        "passed": all(result.passed for result in results),
        "suites": [_told(result) for result in results],
        "quality": scored(connector),
    }


def _told(result: SuiteResult) -> dict[str, Json]:
    """The result with its first cases, those that failed before the others."""
    told = result.as_json()
    cases = sorted(told["cases"], key=lambda case: case["verdict"] != "failed")
    return {**told, "cases": cases[:MOST_CASES], "more_cases": max(0, len(cases) - MOST_CASES)}


async def judged(bench: Bench, connector: Connector, suites: Sequence[Suite], principal: str) -> list[SuiteResult]:
    """Run suites against `connector`, whether it is served or not. Raises ACCESS_DENIED as `require_trusted` does."""
    require_trusted(bench, connector)
    app = bench.app.rehearsing(connector)

    async def call(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        answer = await app.call(connector.slug, tool, arguments, principal=principal)
        told: Mapping[str, Any] = answer.as_json()
        return told

    return [await run_suite(suite, call) for suite in suites]


RUN_EVAL: Final = PlatformTool(
    name="run-eval",
    title="Run a connector's cases",
    description=(
        "Run the cases of a draft or a served connector, or cases that you give, and return which passed and what the "
        "others lacked. Calls its tools for real: a case that calls a WRITE or ACTION tool changes things."
    ),
    input_schema=object_of({**SUBJECT, **EVAL}),
    output_schema=answer_of(
        {
            "connector": {"type": "string"},
            "passed": {"type": "boolean", "description": "No case failed"},
            "suites": {"type": "array", "items": {"type": "object"}},
            "quality": {"type": "object"},
        }
    ),
    annotations=hints(destroys=True, repeats=False, outside=True),
    run=run,
)
