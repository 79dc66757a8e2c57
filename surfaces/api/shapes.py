"""What several endpoints answer with: errors, findings, calls, pages of rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

from pydantic import Field

from ...connectors.masking import masked
from ...graphs.findings import Finding
from .endpoint import Told

Json = dict[str, Any]


class Error(Told):
    """The one error shape."""

    code: str = Field(description="One of the error codes; /api/errors says what each means")
    message: str = Field(description="What was found, and what was expected")
    hint: str = Field(description="What would fix it")
    details: Json = Field(description="JSON of this error's own; never a secret")


class ErrorAnswer(Told):
    error: Error


class FindingTold(Told):
    """What a check found, and where."""

    code: str
    severity: Literal["error", "warning", "info"]
    message: str
    hint: str
    principle: int | None = Field(description="Which of the five principles it serves")
    subject: str = Field(description="The tool, source, skill or node that it is about")
    file: str
    pointer: str
    line: int | None
    column: int | None

    @classmethod
    def of(cls, finding: Finding) -> Self:
        told = finding.as_json()
        return cls.model_validate({**told, "message": masked(told["message"]), "hint": masked(told["hint"])})

    @classmethod
    def of_all(cls, findings: Iterable[Finding]) -> list[Self]:
        return [cls.of(finding) for finding in findings]


class PageTold(Told):
    """Rows of a READ, a page of them; `next_cursor` goes on."""

    rows: list[Json]
    row_count: int
    truncated: bool
    total_rows: int | None
    truncation_reason: str | None
    next_cursor: str | None


class CallTold(Told):
    """A served call. What follows `arguments` is known when it has ended."""

    run: str
    name: str
    connector: str
    tool: str
    category: str
    principal: str
    client: str
    era: str
    session: str
    at: float = Field(description="Seconds since 1970")
    state: Literal["running", "done", "failed"]
    arguments: Any
    seconds: float | None = None
    rows: int | None = None
    bytes: int | None = None
    cached: bool | None = None
    pushed: int | None = None
    error: Error | None = None
