"""Findings as text with caret frames, JSON, GitHub annotations or SARIF 2.1.0."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

from ...graphs.findings import Finding, Severity
from ...graphs.positions import caret

Texts = Mapping[str, str]  # what the checked files hold, by the file name that findings carry
PRINCIPLES: Final = {
    1: "descriptions are contracts",
    2: "results fit the context window",
    3: "errors can be acted on",
    4: "every session is observable",
    5: "secrets, addresses and rights stay with the operator",
}
SARIF_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def as_text(findings: Sequence[Finding], texts: Texts) -> str:
    """One block a finding, then how many of each severity."""
    blocks = [_block(finding, texts.get(finding.place.file, "")) for finding in findings]
    return "\n\n".join([*blocks, summary(findings, len(texts))])


def _block(finding: Finding, text: str) -> str:
    frame = caret(finding, text)
    if finding.principle is not None:
        frame += f"\n   = principle {finding.principle}: {PRINCIPLES[finding.principle]}"
    return frame


def summary(findings: Sequence[Finding], files: int) -> str:
    counts = {severity: sum(f.severity is severity for f in findings) for severity in Severity}
    found = [f"{count} {severity.value}{'s' * (count != 1)}" for severity, count in counts.items() if count]
    return f"{files} file{'s' * (files != 1)} checked: {', '.join(found) or 'nothing found'}"


def as_json(findings: Sequence[Finding], texts: Texts) -> str:
    return json.dumps({"findings": [finding.as_json() for finding in findings]}, ensure_ascii=False, indent=2)


def as_github(findings: Sequence[Finding], texts: Texts) -> str:
    """Workflow commands, which GitHub shows at the lines of a change."""
    kinds = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
    lines = []
    for finding in findings:
        place = {"file": finding.place.file, "line": finding.place.line, "col": finding.place.column}
        fields = ",".join(f"{name}={_escaped(str(value), ',:')}" for name, value in place.items() if value)
        message = _escaped(f"{finding.message} {finding.hint}".strip())
        lines.append(f"::{kinds[finding.severity]} {fields},title={_escaped(finding.code, ',:')}::{message}")
    return "\n".join(lines)


def _escaped(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def as_sarif(findings: Sequence[Finding], texts: Texts) -> str:
    rules = sorted({finding.code for finding in findings})
    driver = {
        "name": "jackfield",
        "version": version("jackfield"),
        "rules": [{"id": code, "shortDescription": {"text": code.replace("_", " ").capitalize()}} for code in rules],
    }
    results = [_sarif_result(finding, rules.index(finding.code)) for finding in findings]
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2)


def _sarif_result(finding: Finding, rule: int) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": {"uri": finding.place.file}}
    if finding.place.line is not None:
        region = {"startLine": finding.place.line, "startColumn": finding.place.column or 1}
        if finding.place.end_column is not None:
            region["endColumn"] = finding.place.end_column
        physical["region"] = region
    location: dict[str, Any] = {"physicalLocation": physical}
    if finding.place.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.place.pointer}]
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": SARIF_LEVELS[finding.severity],
        "message": {"text": f"{finding.message} {finding.hint}".strip()},
        "locations": [location],
        "properties": {"principle": finding.principle, "subject": finding.subject},
    }


FORMATS: Final[Mapping[str, Callable[[Sequence[Finding], Texts], str]]] = {
    "text": as_text,
    "json": as_json,
    "github": as_github,
    "sarif": as_sarif,
}
