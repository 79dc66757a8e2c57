"""Results as JUnit XML, which every CI shows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from xml.etree import ElementTree

from .running import SuiteResult

# Characters that XML 1.0 has no way to write.
FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def junit(results: Iterable[SuiteResult]) -> str:
    """One <testsuite> a suite, one <testcase> a case, with its failure in words."""
    results = list(results)
    root = ElementTree.Element("testsuites")
    for result in results:
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=_clean(result.suite.name),
            tests=str(len(result.cases)),
            failures=str(result.count("failed")),
            skipped=str(result.count("skipped")),
            errors="0",
            time=f"{sum(case.latency_ms for case in result.cases) / 1000:.3f}",
            timestamp=result.run_at,
        )
        for case in result.cases:
            element = ElementTree.SubElement(
                suite,
                "testcase",
                name=_clean(case.case.id),
                classname=_clean(f"{result.suite.connector}.{case.case.tool}"),
                time=f"{case.latency_ms / 1000:.3f}",
            )
            if case.verdict == "failed":
                failure = ElementTree.SubElement(element, "failure", message=_clean(case.problems[0]))
                failure.text = _clean("\n".join(case.problems))
            elif case.verdict == "skipped":
                ElementTree.SubElement(element, "skipped", message=_clean("; ".join(case.problems)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)
