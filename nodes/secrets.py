"""Secrets of the process environment: `{{ env:VAR }}` in configured text, expanded once and right before use."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

from ..graphs.errors import Code, JackfieldError

ENV_REFERENCE: Final = re.compile(r"\{\{\s*env:([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
HIDDEN: Final = "***"
SHORTEST_HIDDEN: Final = 6  # shorter values would be found in ordinary words
_CONTROL: Final = re.compile(r"[\r\n\0]")


def references(text: str) -> tuple[str, ...]:
    """The variables that `text` names, in order, each once."""
    return tuple(dict.fromkeys(ENV_REFERENCE.findall(text)))


class EnvironmentSecrets:
    """Implements `base.Secrets` over environment variables, and remembers what it gave so that it can be hidden."""

    __slots__ = ("_given", "_variables")

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self._variables = os.environ if variables is None else variables
        self._given: dict[str, str] = {}

    def expand(self, text: str) -> str:
        """`text` with each reference replaced by its variable's value, which is not looked into again.

        Raises SECRET_MISSING, and CONFIG_INVALID for a value that holds a line break or NUL.
        """
        return ENV_REFERENCE.sub(lambda match: self.value(match.group(1)), text)

    def value(self, secret_key: str) -> str:
        value = self._variables.get(secret_key, "")
        if not value:
            found = "is empty" if secret_key in self._variables else "is not set"
            raise JackfieldError(
                Code.SECRET_MISSING,
                f"The environment variable '{secret_key}' {found}.",
                f"Set it before starting, for example: export {secret_key}=…",
                {"variable": secret_key},
            )
        if _CONTROL.search(value):
            raise JackfieldError(
                Code.CONFIG_INVALID,
                f"The value of the environment variable '{secret_key}' holds a line break or NUL.",
                "Remove it; a newline at the end often comes from reading the value out of a file.",
                {"variable": secret_key},
            )
        self._given[secret_key] = value
        return value

    def redact(self, text: str) -> str:
        """`text` without the values given so far, in any of their spellings."""
        return redacted(text, self._given.values())


def redacted(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret of at least six characters hidden: raw, URL-, base64-, JSON-escaped."""
    spellings = {form for secret in secrets if len(secret) >= SHORTEST_HIDDEN for form in _spellings(secret)}
    for form in sorted(spellings, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def _spellings(secret: str) -> Iterable[str]:
    raw = secret.encode()
    yield secret
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield from _base64_parts(raw)


def _base64_parts(raw: bytes) -> Iterable[str]:
    """How `raw` looks inside any base64 text, at each of the three offsets, without the ends that neighbours change."""
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + raw).decode()
        whole = len(b"\0" * offset + raw) // 3 * 4
        inner = encoded[(0, 2, 3)[offset] : whole]
        if len(inner) >= SHORTEST_HIDDEN:
            yield inner
            yield inner.replace("+", "-").replace("/", "_")
    yield base64.b64encode(raw).decode()
