"""`lint-connector`: findings at their place in the text, the five principles, and the score of each tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...connectors.lint import lint
from ...connectors.model import Connector
from ...connectors.quality import quality
from ...connectors.reading import read_text
from ...graphs.findings import Finding, Severity
from ...graphs.model import Json
from ...nodes.blocking import in_thread
from .bench import Bench
from .drafts import SUBJECT, Draft, chosen
from .tool import PlatformTool, answer_of, hints, object_of

MOST_FINDINGS: Final = 50
PRINCIPLES: Final = (
    "Descriptions are contracts",
    "Results fit the context window",
    "Errors are actionable",
    "Every session is observable",
    "Secrets, addresses and rights stay with the operator",
)


async def run(bench: Bench, arguments: Mapping[str, Any], principal: str) -> dict[str, Json]:
    draft = chosen(bench, arguments)
    return report(draft, await linted(bench, draft))


async def linted(bench: Bench, draft: Draft) -> tuple[Finding, ...]:
    """All findings about a draft beside what is served, made in a thread: reading much SQL takes a while."""
    served = bench.app.catalog.connectors
    return await in_thread(lambda: lint(draft.text, path=draft.path, beside=served))


def report(draft: Draft, findings: Sequence[Finding]) -> dict[str, Json]:
    """What lint found about a draft, told as an agent reads it; each finding in the one shape."""
    counts = {severity: sum(finding.severity is severity for finding in findings) for severity in Severity}
    reading = read_text(draft.text, draft.path)
    connector = reading.connector if reading is not None else None
    return {
        "passed": not counts[Severity.ERROR],
        "errors": counts[Severity.ERROR],
        "warnings": counts[Severity.WARNING],
        "infos": counts[Severity.INFO],
        "findings": [_told(finding, draft) for finding in findings[:MOST_FINDINGS]],
        "more_findings": max(0, len(findings) - MOST_FINDINGS),
        "principles": principles(findings),
        "quality": None if connector is None else scored(connector),
    }


def scored(connector: Connector) -> dict[str, Json]:
    """The quality score, and of each tool that lacks something what it lacks."""
    told = quality(connector).as_json()
    return {**told, "tools": [tool for tool in told["tools"] if tool["issues"]]}


def principles(findings: Sequence[Finding]) -> list[Json]:
    """Each of the five principles, and whether something that serves it was found wanting."""
    return [
        {
            "principle": number,
            "name": name,
            "kept": not any(_fails(finding, number) for finding in findings),
            "findings": sorted({finding.code for finding in findings if finding.principle == number}),
        }
        for number, name in enumerate(PRINCIPLES, start=1)
    ]


def _fails(finding: Finding, principle: int) -> bool:
    return finding.principle == principle and finding.severity is not Severity.INFO


def _told(finding: Finding, draft: Draft) -> dict[str, Json]:
    """The finding, its file by its name alone: where the workspace lies is not for an agent."""
    return {**finding.as_json(), "file": draft.path.name}


LINT_ANSWER: Final[Mapping[str, Json]] = {
    "passed": {"type": "boolean", "description": "No finding is an error"},
    "errors": {"type": "integer"},
    "warnings": {"type": "integer"},
    "infos": {"type": "integer"},
    "findings": {"type": "array", "items": {"type": "object"}},
    "more_findings": {"type": "integer", "description": "How many are not shown here"},
    "principles": {"type": "array", "items": {"type": "object"}},
    "quality": {"type": ["object", "null"], "description": "score of 100, and what each tool lacks"},
}
LINT: Final = PlatformTool(
    name="lint-connector",
    title="Lint a connector",
    description=(
        "Check a connector's text, draft or served file: its whole schema, the SQL of every tool, secrets and paths, "
        "the five principles and a score. Returns findings with the line, the column and what would fix each."
    ),
    input_schema=object_of(SUBJECT),
    output_schema=answer_of(LINT_ANSWER),
    annotations=hints(reads=True),
    run=run,
)
