"""The audit of a workspace: where its settings put it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..engine.audit.log import AuditLog
from ..engine.audit.redaction import no_secrets
from .settings import Settings


def audit_folder(settings: Settings) -> Path:
    return settings.state / "audit"


def audit_log(settings: Settings, redact: Callable[[str], str] = no_secrets) -> AuditLog:
    """The log that records this workspace's calls, not opened yet; `redact` hides the secrets that the app resolved."""
    return AuditLog(
        audit_folder(settings),
        max_bytes=settings["audit.max_bytes"],
        read_without=settings["audit.read_without"],
        fsync=settings["audit.fsync"],
        redact=redact,
    )
