"""`jackfield eval`: run a connector's cases; exit 1 when one fails."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import click

from ...connectors.evals import SuiteResult, junit, run_suite, suite_of, suites_of
from ...connectors.quality import GATE, Quality, quality
from ...graphs.errors import Code, JackfieldError
from .failures import errors_as_json
from .target import locate

MARKS = {"passed": ("ok", "green"), "failed": ("FAILED", "red"), "skipped": ("skipped", "yellow")}


@click.command("eval")
@click.argument("connector")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--junit", "junit_file", type=click.Path(dir_okay=False, path_type=Path), help="Write JUnit XML as well.")
@click.option("--format", "format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(connector: str, files: tuple[Path, ...], junit_file: Path | None, format: str) -> int:
    """Run the cases of CONNECTOR: those it names, those beside it, or those of FILES.

    Also tells the quality score of its tools. Exit code 1 when a case fails.
    """
    errors_as_json(format == "json")
    app, owner = locate(connector)
    suites = [suite_of(file, owner) for file in files] or list(suites_of(owner))
    if not suites:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Connector '{owner.slug}' has no cases.",
            f"Write them into {owner.slug}.eval.yaml beside it, or name a file.",
        )

    async def main() -> list[SuiteResult]:
        async with app:

            async def call(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
                answer: Mapping[str, Any] = (await app.call(owner.slug, tool, arguments)).as_json()
                return answer

            return [await run_suite(suite, call) for suite in suites]

    results = anyio.run(main)
    score = quality(owner)
    if junit_file is not None:
        junit_file.parent.mkdir(parents=True, exist_ok=True)
        junit_file.write_text(junit(results), "utf-8")
    if format == "json":
        document = {"quality": round(score.score, 1), "suites": [result.as_json() for result in results]}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2, default=str))
    else:
        _tell(results, score)
    return int(not all(result.passed for result in results))


def _tell(results: Sequence[SuiteResult], score: Quality) -> None:
    for result in results:
        click.echo(result.suite.name)
        for case in result.cases:
            word, colour = MARKS[case.verdict]
            click.echo(f"  {click.style(word, fg=colour)}  {case.case.id}  {case.latency_ms:.1f} ms")
            for problem in case.problems:
                click.echo(f"      {problem}")
    passed = sum(result.count("passed") for result in results)
    failed = sum(result.count("failed") for result in results)
    skipped = sum(result.count("skipped") for result in results)
    told = f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")
    click.echo(f"{told}; quality {score.score:.0f} of 100 (at least {GATE:.0f} is asked)")
