"""The one error shape and the one code list: what a person, an agent or a pipeline is told when something fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple


class Code(StrEnum):
    """Every code an answer may carry. `STATUS` gives each its HTTP status and its exit code."""

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


STATUS: Final[Mapping[Code, Status]] = {
    Code.VALIDATION_INVALID_PARAMS: Status(422, 2),
    Code.VALIDATION_MISSING_FIELD: Status(422, 2),
    Code.TOOL_NOT_FOUND: Status(404, 2),
    Code.CONFIG_INVALID: Status(422, 1),
    Code.INVALID_SKILL: Status(422, 1),
    Code.QUERY_INVALID: Status(422, 1),
    Code.SCHEMA_NOT_FOUND: Status(404, 2),
    Code.RESULT_EXPIRED: Status(410, 2),
    Code.SECRET_MISSING: Status(424, 2),
    Code.INPUT_REQUIRED: Status(428, 2),
    Code.AUTH_REQUIRED: Status(401, 4),
    Code.AUTH_FAILED: Status(502, 4),
    Code.ACCESS_DENIED: Status(403, 4),
    Code.SOURCE_UNREACHABLE: Status(502, 3),
    Code.SOURCE_BLOCKED: Status(502, 3),
    Code.SOURCE_TIMEOUT: Status(504, 3),
    Code.SOURCE_ERROR: Status(502, 3),
    Code.SOURCE_BAD_REPLY: Status(502, 3),
    Code.RATE_LIMITED: Status(429, 3),
    Code.SCHEMA_CHANGED: Status(502, 3),
    Code.TYPE_MISMATCH: Status(502, 3),
    Code.QUERY_TIMEOUT: Status(504, 5),
    Code.BUDGET_EXCEEDED: Status(413, 5),
    Code.OVERLOADED: Status(503, 5),
    Code.OUTCOME_UNKNOWN: Status(502, 5),
    Code.AUDIT_UNAVAILABLE: Status(503, 5),
    Code.INTERNAL_ERROR: Status(500, 5),
    Code.CANCELLED: Status(499, 130),
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
        """`{code, message, hint, details}`, the shape every surface renders."""
        return {"code": self.code.value, "message": self.message, "hint": self.hint, "details": dict(self.details)}

    @property
    def exit_code(self) -> int:
        return STATUS[self.code].exit

    @property
    def http_status(self) -> int:
        return STATUS[self.code].http
