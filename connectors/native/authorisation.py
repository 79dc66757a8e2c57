"""`auth` wherever a file has one, and the rule that no connector is served whose `secret_key` is a secret itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...graphs.findings import Severity
from ..secret_text import names_a_secret
from .rewriting import objects
from .validate import Report

NAMING_FIELDS: Final = ("secret_key", "user_secret_key", "pass_secret_key")


def authorisations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """(pointer, id of the source, tool or save, auth) of each `auth` in a document of the first spelling."""
    for name in ("sources", "tools", "saves"):
        for pointer, item in objects(document, name):
            holder = item.get("request") if name == "tools" else item
            if isinstance(holder, Mapping) and isinstance(holder.get("auth"), Mapping):
                inner = "/request" if name == "tools" else ""
                yield f"{pointer}{inner}/auth", str(item.get("id", "")), holder["auth"]


def refuse_literal_secrets(document: Mapping[str, Any], report: Report) -> None:
    """An error for each field that names a secret and holds something else: a literal is never sent, nor shown."""
    for pointer, owner, auth in authorisations(document):
        for field in NAMING_FIELDS:
            value = auth.get(field)
            if isinstance(value, str) and not names_a_secret(value):
                message = (
                    f"'{field}' of '{owner}' is not the name of an environment variable; what it holds is never sent."
                )
                hint = 'Write the name alone: "secret_key": "SHOP_TOKEN".'
                report("AUTH_LITERAL_SECRET", Severity.ERROR, f"{pointer}/{field}", message, hint)
