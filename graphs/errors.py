"""The one error shape and the one code list: what a person, an agent or a pipeline is told when something fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple

from .error_size import Parts, fitted


class Code(StrEnum):
    """Every code an answer may carry. `STATUS` gives each its HTTP status, its exit code and what it means."""

    VALIDATION_INVALID_PARAMS = "VALIDATION_INVALID_PARAMS"
    VALIDATION_MISSING_FIELD = "VALIDATION_MISSING_FIELD"
    TOOL_NOT_FOUND = "TOOL_NOT_FOUND"
    CONFIG_INVALID = "CONFIG_INVALID"
    INVALID_SKILL = "INVALID_SKILL"
    QUERY_INVALID = "QUERY_INVALID"
    SCHEMA_NOT_FOUND = "SCHEMA_NOT_FOUND"
    RESULT_EXPIRED = "RESULT_EXPIRED"
    SECRET_MISSING = "SECRET_MISSING"
    INPUT_REQUIRED = "INPUT_REQUIRED"
    AUTH_REQUIRED = "AUTH_REQUIRED"
    AUTH_FAILED = "AUTH_FAILED"
    ACCESS_DENIED = "ACCESS_DENIED"
    SOURCE_UNREACHABLE = "SOURCE_UNREACHABLE"
    SOURCE_BLOCKED = "SOURCE_BLOCKED"
    SOURCE_TIMEOUT = "SOURCE_TIMEOUT"
    SOURCE_ERROR = "SOURCE_ERROR"
    SOURCE_BAD_REPLY = "SOURCE_BAD_REPLY"
    RATE_LIMITED = "RATE_LIMITED"
    SCHEMA_CHANGED = "SCHEMA_CHANGED"
    TYPE_MISMATCH = "TYPE_MISMATCH"
    QUERY_TIMEOUT = "QUERY_TIMEOUT"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    OVERLOADED = "OVERLOADED"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    AUDIT_UNAVAILABLE = "AUDIT_UNAVAILABLE"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    CANCELLED = "CANCELLED"


class Status(NamedTuple):
    http: int
    exit: int
    meaning: str


STATUS: Final[Mapping[Code, Status]] = {
    Code.VALIDATION_INVALID_PARAMS: Status(422, 2, "An argument or option does not fit, or there is none of that name"),
    Code.VALIDATION_MISSING_FIELD: Status(422, 2, "A required argument or option is not given"),
    Code.TOOL_NOT_FOUND: Status(404, 2, "There is no connector, tool, skill or save of that name"),
    Code.CONFIG_INVALID: Status(422, 1, "A connector, graph or setting is wrong, as `lint` says too"),
    Code.INVALID_SKILL: Status(422, 1, "A skill names a tool or a step that is not there"),
    Code.QUERY_INVALID: Status(
        422, 1, "The SQL does not parse, does not only read, or compares what cannot be compared"
    ),
    Code.SCHEMA_NOT_FOUND: Status(404, 2, "A table or column is not there"),
    Code.RESULT_EXPIRED: Status(410, 2, "The cursor's rows are not kept any more"),
    Code.SECRET_MISSING: Status(424, 2, "A variable that holds a secret is not set"),
    Code.INPUT_REQUIRED: Status(428, 2, "A node asks the caller something, who has not answered or cannot be asked"),
    Code.AUTH_REQUIRED: Status(401, 4, "The caller has to sign in first"),
    Code.AUTH_FAILED: Status(502, 4, "A source refuses the credentials that it was given"),
    Code.ACCESS_DENIED: Status(403, 4, "The caller, or the source's user, may not do this"),
    Code.SOURCE_UNREACHABLE: Status(502, 3, "A source cannot be reached, or a file is not there"),
    Code.SOURCE_BLOCKED: Status(502, 3, "The address of a source may not be reached from here"),
    Code.SOURCE_TIMEOUT: Status(504, 3, "A source did not answer in its time"),
    Code.SOURCE_ERROR: Status(502, 3, "A source, a target or an author's function failed"),
    Code.SOURCE_BAD_REPLY: Status(502, 3, "What a source gave is not what its format says"),
    Code.RATE_LIMITED: Status(429, 3, "A source asks for fewer requests"),
    Code.SCHEMA_CHANGED: Status(502, 3, "A source's columns are not those that its contract fixes"),
    Code.TYPE_MISMATCH: Status(502, 3, "A value does not fit the type it should have"),
    Code.QUERY_TIMEOUT: Status(504, 5, "The call took longer than its time limit"),
    Code.BUDGET_EXCEEDED: Status(413, 5, "The call used more rows, bytes, memory or nodes than it may"),
    Code.OVERLOADED: Status(503, 5, "Too many calls are under way"),
    Code.OUTCOME_UNKNOWN: Status(502, 5, "A write was cut off: it may have happened, or not"),
    Code.AUDIT_UNAVAILABLE: Status(503, 5, "The call could not be recorded, and was not made"),
    Code.INTERNAL_ERROR: Status(500, 5, "A bug of Jackfield or of a library"),
    Code.CANCELLED: Status(499, 130, "Whoever called ended it; after SIGTERM the exit code is 143"),
}


@dataclass(eq=False)
class JackfieldError(Exception):
    """A failure with a stable code, what was found and expected, and what would fix it.

    `transient` says that the same call may succeed if made again: only nodes that read are retried for it.
    `details` is JSON and reaches the caller, so it never holds a secret or an internal address.
    """

    code: Code
    message: str
    hint: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    transient: bool = False

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def as_json(self) -> dict[str, Any]:
        """`{code, message, hint, details}`, the shape every surface renders, cut where it is too large to send."""
        message, hint, details = fitted(Parts(self.message, self.hint, self.details))
        return {"code": self.code.value, "message": message, "hint": hint, "details": dict(details)}

    def bounded(self) -> JackfieldError:
        """This error as `as_json` shows it: a copy, which holds nothing large and none of the frames it passed."""
        message, hint, details = fitted(Parts(self.message, self.hint, self.details))
        return replace(self, message=message, hint=hint, details=details)

    @property
    def exit_code(self) -> int:
        return STATUS[self.code].exit

    @property
    def http_status(self) -> int:
        return STATUS[self.code].http
