"""`deploy-connector`: lint, cases and a smoke call of every READ tool; then live, whole, before the answer.

When anything blocks it, every reason is told and what is served stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio

from ...connectors.evals import Suite, SuiteResult
from ...connectors.model import Connector
from ...connectors.offer import offer_of
from ...connectors.versions import changed_without_bump
from ...graphs.errors import Code, JackfieldError
from ...graphs.findings import Finding, Severity
from ...graphs.model import Json
from ...nodes.secrets import demands
from . import files
from .bench import Bench
from .drafts import (
    EVAL,
    SUBJECT,
    Draft,
    cases_file,
    cases_target,
    chosen,
    connector_of,
    draft_file,
    encoded,
    suites_for,
)
from .evaluate import judged
from .lint import linted, report
from .smoke import Smoked, smoked
from .tool import PlatformTool, answer_of, hints, object_of

MOST_TOLD: Final = 20
Block = dict[str, Json]


async def run(bench: Bench, arguments: Mapping[str, Any], principal: str) -> dict[str, Json]:
    async with bench.deploying:
        return await _deploy(bench, arguments, principal)


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found of a connector before it may go live."""

    blocks: list[Block]
    results: Sequence[SuiteResult] = ()
    smoke: Sequence[Smoked] = ()


async def _deploy(bench: Bench, arguments: Mapping[str, Any], principal: str) -> dict[str, Json]:
    draft = chosen(bench, arguments)
    findings = await linted(bench, draft)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        return _answer(draft, None, findings, Checked([_lint_errors(errors, draft)]))
    connector = connector_of(draft)
    target = bench.target(connector.slug)
    draft = Draft(draft.text, target, draft.is_draft, draft.cases)
    connector = connector_of(draft)
    suites = suites_for(draft, connector, arguments["eval"])
    checked = await _checked(bench, connector, target, suites, principal)
    if not checked.blocks:
        cases = arguments["eval"] if arguments["eval"] is not None else draft.cases
        with anyio.CancelScope(shield=True):  # half of it would leave other files than what is served
            blocked = await _go_live(bench, draft, connector, cases)
        if blocked is not None:
            checked.blocks.append(blocked)
        else:
            for place in (draft_file(bench, connector.slug), cases_file(bench, connector.slug)):
                files.remove(bench.workspace, place)
    return _answer(draft, connector, findings, checked)


async def _checked(
    bench: Bench, connector: Connector, target: Path, suites: Sequence[Suite], principal: str
) -> Checked:
    """All that may block, so that an agent can mend it in one go."""
    blocks = [*_conflicts(bench, connector, target)]
    missing = missing_secrets(bench, connector)
    if missing:
        hint = "Ask the person to set them where Jackfield runs, and to start it again."
        blocks.append(_block("missing_secrets", f"Not set: {', '.join(missing)}.", hint, variables=missing))
        return Checked(blocks)  # whatever is called now would fail for that alone
    try:
        results = await judged(bench, connector, suites, principal)
    except JackfieldError as refused:
        if refused.code is not Code.ACCESS_DENIED:
            raise
        blocks.append(_block("variables_not_allowed", refused.message, refused.hint, **refused.details))
        return Checked(blocks)
    blocks += _failed_cases(results)
    smoke = await smoked(bench, connector, suites, principal)
    blocks += _failed_calls(smoke)
    return Checked(blocks, results, smoke)


def _block(reason: str, message: str, hint: str = "", **details: Json) -> Block:
    return {"reason": reason, "message": message, "hint": hint, **details}


def _lint_errors(errors: Sequence[Finding], draft: Draft) -> Block:
    told = [{**finding.as_json(), "file": draft.path.name} for finding in errors[:MOST_TOLD]]
    message = f"Lint finds {len(errors)} error{'s' if len(errors) > 1 else ''}; the first: {errors[0].message}"
    return _block("lint_errors", message, errors[0].hint, findings=told)


def _conflicts(bench: Bench, connector: Connector, target: Path) -> Iterator[Block]:
    """What is served under this slug or these names already."""
    catalog = bench.app.catalog
    served = catalog.connectors.get(connector.slug)
    if served is not None and served.path is not None and served.path.resolve() != target.resolve():
        message = f"The slug '{connector.slug}' is served from another file, '{served.path.name}'."
        yield _block("slug_taken", message, "Choose another slug, or ask the person to move that file away.")
    if served is not None:
        for finding in changed_without_bump(served, connector):
            yield _block("version_not_bumped", finding.message, finding.hint, version=served.version)
    others = [one for one in catalog.connectors.values() if one.slug != connector.slug]
    offer = offer_of([*others, connector])
    taken = [f.message for f in offer.findings if f.place.file == str(target)]
    if taken:
        yield _block("name_taken", " ".join(taken), 'Set "prefix": true, or give the tools other ids.')


def missing_secrets(bench: Bench, connector: Connector) -> list[str]:
    """The variables that the connector names and that are not set."""
    held: list[Any] = [*(source.configuration for source in connector.sources.values()), *connector.saves.values()]
    held += [node.configuration for tool in connector.tools.values() for node in tool.graph.nodes]
    names = dict.fromkeys(name for value in held for _, name in demands(value))
    return [name for name in names if not _is_set(bench, name)]


def _is_set(bench: Bench, name: str) -> bool:
    try:
        bench.app.secrets.value(name)
    except JackfieldError:
        return False
    return True


def _failed_cases(results: Sequence[SuiteResult]) -> Iterator[Block]:
    failed = [case for result in results for case in result.cases if case.verdict == "failed"]
    if failed:
        message = f"{len(failed)} case{'s' if len(failed) > 1 else ''} failed; the first, '{failed[0].case.id}': "
        message += "; ".join(failed[0].problems)
        told = [{"case": c.case.id, "tool": c.case.tool, "problems": list(c.problems)} for c in failed[:MOST_TOLD]]
        yield _block("evals_failed", message, "Mend the tool, or the case if it asks for the wrong thing.", cases=told)


def _failed_calls(smoke: Sequence[Smoked]) -> Iterator[Block]:
    failed = [one for one in smoke if one.error is not None]
    if failed:
        first = failed[0]
        assert first.error is not None
        message = f"{len(failed)} of {len(smoke)} READ tools fail; the first, '{first.tool}': {first.error.message}"
        told = [one.as_json() for one in failed[:MOST_TOLD]]
        yield _block("smoke_failed", message, first.error.hint, tools=told)


async def _go_live(bench: Bench, draft: Draft, connector: Connector, cases: str | None) -> Block | None:
    """Write the files and serve them; when they are not served then, all is as it was before."""
    wanted: dict[Path, bytes] = {}
    if cases is not None:
        wanted[cases_target(connector, cases)] = encoded(cases)
    wanted[draft.path] = encoded(draft.text)
    before = {place: files.read(bench.workspace, place) for place in wanted}
    try:
        for place, content in wanted.items():
            files.write(bench.workspace, place, content)
        await bench.publish()
        if _is_live(bench, connector):
            return None
    except Exception:
        _put_back(bench, before)
        raise
    _put_back(bench, before)
    await bench.publish()
    return _block(
        "not_served",
        "This server does not serve the files of the workspace's connectors/, so the connector would not be live.",
        "Start it without paths, or with the folder connectors/ among them.",
    )


def _is_live(bench: Bench, connector: Connector) -> bool:
    served = bench.app.catalog.connectors.get(connector.slug)
    return served is not None and served.digest == connector.digest


def _put_back(bench: Bench, before: Mapping[Path, bytes | None]) -> None:
    for place, content in before.items():
        if content is None:
            files.remove(bench.workspace, place)
        else:
            files.write(bench.workspace, place, content)


def _answer(
    draft: Draft, connector: Connector | None, findings: Sequence[Finding], checked: Checked
) -> dict[str, Json]:
    told = report(draft, findings)
    deployed = not checked.blocks
    return {
        "deployed": deployed,
        "connector": connector.slug if connector is not None else None,
        "version": connector.version if connector is not None else None,
        "path": f"connectors/{draft.path.name}" if deployed else None,
        "tools": [tool.name for tool in connector.tools.values()] if connector is not None else [],
        "blocks": list(checked.blocks),
        "smoke": [one.as_json() for one in checked.smoke],
        "evals": [_counted(result) for result in checked.results],
        "warnings": [finding for finding in told["findings"] if finding["severity"] == "warning"],
    }


def _counted(result: SuiteResult) -> dict[str, Json]:
    counts: dict[str, Json] = {verdict: result.count(verdict) for verdict in ("passed", "failed", "skipped")}
    return {"suite": result.suite.name, **counts}


DEPLOY: Final = PlatformTool(
    name="deploy-connector",
    title="Deploy a connector",
    description=(
        "Load a draft or a connector's text into service: checked by lint, its cases run, every READ tool called "
        "once; then served from the next call on, whole. Returns every reason when something blocks it, and what is "
        "served stays."
    ),
    input_schema=object_of({**SUBJECT, **EVAL}),
    output_schema=answer_of(
        {
            "deployed": {"type": "boolean", "description": "It is live now"},
            "connector": {"type": ["string", "null"]},
            "version": {"type": ["string", "null"]},
            "path": {"type": ["string", "null"]},
            "tools": {"type": "array", "items": {"type": "string"}, "description": "Names to call"},
            "blocks": {
                "type": "array",
                "items": {"type": "object"},
                "description": "reason: lint_errors, missing_secrets, variables_not_allowed, evals_failed, "
                "smoke_failed, slug_taken, name_taken, version_not_bumped or not_served; message, hint and details",
            },
            "smoke": {"type": "array", "items": {"type": "object"}},
            "evals": {"type": "array", "items": {"type": "object"}},
            "warnings": {"type": "array", "items": {"type": "object"}},
        }
    ),
    annotations=hints(destroys=True, outside=True),
    run=run,
)
