"""The audit of a workspace: where its settings put it, and the line that a served call becomes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..engine.audit.line import Line
from ..engine.audit.log import AuditLog
from ..engine.audit.redaction import no_secrets
from ..graphs.errors import Code, JackfieldError
from .served import ServedCall
from .settings import Settings

MOST_BESIDE: Final = 64
BESIDE: Final = re.compile(r"audit-(\d{1,6})$")
# What ends a call before anything of it has run.
REFUSALS: Final = frozenset(
    (Code.TOOL_NOT_FOUND, Code.VALIDATION_INVALID_PARAMS, Code.VALIDATION_MISSING_FIELD, Code.ACCESS_DENIED,
     Code.AUTH_REQUIRED, Code.OVERLOADED, Code.AUDIT_UNAVAILABLE)
)  # fmt: skip


def audit_folder(settings: Settings) -> Path:
    return settings.state / "audit"


def audit_folders(settings: Settings, only: str = "") -> dict[str, Path]:
    """The audits that there are, by name: `audit`, and those that other processes wrote beside it, `audit-2` and so on.

    Raises VALIDATION_INVALID_PARAMS where `only` names none of them. With none at all it is `audit`, which is to be.
    """
    first = audit_folder(settings)
    beside = {int(name[1]): path for path in first.parent.glob("audit-*") if (name := BESIDE.match(path.name))}
    folders = [path for path in (first, *(beside[number] for number in sorted(beside))) if path.is_dir()]
    found = {path.name: path for path in folders} or {first.name: first}
    if not only:
        return found
    if only not in found:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS, f"There is no audit '{only}'.", f"There is {', '.join(found)}."
        )
    return {only: found[only]}


def audit_log(settings: Settings, redact: Callable[[str], str] = no_secrets, folder: Path | None = None) -> AuditLog:
    """The log that records this workspace's calls, not opened yet; `redact` hides the secrets that the app resolved."""
    return AuditLog(
        folder or audit_folder(settings),
        max_bytes=settings["audit.max_bytes"],
        read_without=settings["audit.read_without"],
        fsync=settings["audit.fsync"],
        redact=redact,
    )


def open_beside(settings: Settings, redact: Callable[[str], str] = no_secrets) -> AuditLog:
    """An open log: the workspace's, or where other processes of it write already, `audit-2` beside it, and so on.

    Each agent that speaks over stdio starts a process of its own, beside a server; a file has one writer. Raises what
    `open` does; CONFIG_INVALID where all are taken.
    """
    folder = audit_folder(settings)
    for number in range(2, MOST_BESIDE + 1):
        try:
            return audit_log(settings, redact, folder).open()
        except JackfieldError as error:
            if error.code is not Code.CONFIG_INVALID:
                raise
        folder = audit_folder(settings).with_name(f"audit-{number}")
    return audit_log(settings, redact, folder).open()


class AuditJournal:
    """A service's journal that is the audit. Whoever makes it opens and closes `log`."""

    def __init__(self, log: AuditLog) -> None:
        self.log = log

    def require(self) -> None:
        """Before a call that changes something. Raises AUDIT_UNAVAILABLE when it could not be recorded."""
        self.log.require("WRITE")

    def record(self, call: ServedCall) -> None:
        """Write the call's line. Raises AUDIT_UNAVAILABLE when a call that succeeded must not be answered without."""
        self.log.append(line_of(call))


def line_of(call: ServedCall) -> Line:
    """The line of a call that has ended, under the name by which it was called."""
    caller, error = call.caller, call.error
    return Line(
        tool=call.name,
        args=call.arguments,
        rows=call.rows,
        bytes=call.bytes,
        duration_ms=call.seconds * 1000,
        error=None if error is None else error.code.value,
        session_id=caller.session_id or None,
        run=call.run,
        connector=call.connector or None,
        category=call.category or None,
        principal=caller.principal,
        client=caller.client or None,
        era=caller.era or None,
        cache=None if call.cached is None else "hit" if call.cached else "miss",
        pushed=call.pushed,
        decision="denied" if error is not None and error.code in REFUSALS else "allowed",
        message=None if error is None else error.message,
        trace=call.trace_id,
        sensitive=call.sensitive,
    )
