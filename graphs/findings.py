"""What a check found, and where: the one shape that lint, graph checks and parsers report in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file: JSON pointer (RFC 6901) and, where the text is known, 1-based line and column."""

    file: str = ""
    pointer: str = ""
    line: int | None = None
    column: int | None = None
    end_column: int | None = None

    def __str__(self) -> str:
        if self.line is None:
            return f"{self.file or '<document>'}#{self.pointer}"
        return f"{self.file or '<document>'}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check. `principle` is 1 to 5 where the check serves one of the five principles."""

    code: str
    severity: Severity
    message: str
    place: Place = Place()
    hint: str = ""
    principle: int | None = None
    subject: str = ""  # the tool, source, skill or node that it is about

    def as_json(self) -> dict[str, Any]:
        return {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "hint": self.hint,
            "principle": self.principle,
            "subject": self.subject,
            "file": self.place.file,
            "pointer": self.place.pointer,
            "line": self.place.line,
            "column": self.place.column,
        }


def has_errors(findings: tuple[Finding, ...] | list[Finding]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)
