"""Secrets of the process environment: `{{ env:VAR }}` in configured text, expanded once and right before use."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, quote_plus

from ..graphs.errors import Code, JackfieldError

ENV_REFERENCE: Final = re.compile(r"\{\{\s*env:([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
HIDDEN: Final = "***"
SHORTEST_HIDDEN: Final = 6  # shorter values would be found in ordinary words
_PUBLIC: Final = re.compile(  # an address without user and query; a word such as eu-west-1 or production
    r"[a-z+]{2,12}://[^\s@?#]+|([A-Za-z0-9-]+\.)+[a-z]{2,12}(:\d+)?|localhost(:\d+)?|(?=.{,16}$)[a-z]+([-_][a-z]+)*[-_]?\d{0,2}"
)
_CONTROL: Final = re.compile(r"[\r\n\0]")


def references(text: str) -> tuple[str, ...]:
    """The variables that `text` names, in order, each once."""
    return tuple(dict.fromkeys(ENV_REFERENCE.findall(text)))


def demands(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """(field, variable) for each variable that a configuration asks for, in order; `auth.secret_key` is a field."""
    if isinstance(value, str):
        for name in references(value):
            yield field, name
        if field.endswith("secret_key") and VARIABLE.fullmatch(value):
            yield field, value
    elif isinstance(value, Mapping):
        for name, held in value.items():
            yield from demands(held, f"{field}.{name}" if field else str(name))
    elif isinstance(value, list | tuple):
        for held in value:
            yield from demands(held, field)


class EnvironmentSecrets:
    """Implements `base.Secrets` over environment variables, and remembers what it gave so that it can be hidden."""

    __slots__ = ("_given", "_keys", "_variables")

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self._variables = os.environ if variables is None else variables
        self._given: dict[str, str] = {}
        self._keys: set[str] = set()

    def expand(self, text: str) -> str:
        """`text` with each reference replaced by its variable's value, which is not looked into again.

        Raises SECRET_MISSING, and CONFIG_INVALID for a value that holds a line break or NUL.
        """
        return ENV_REFERENCE.sub(lambda match: self._value(match.group(1)), text)

    def value(self, secret_key: str) -> str:
        self._keys.add(secret_key)
        return self._value(secret_key)

    def _value(self, secret_key: str) -> str:
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
        """`text` of our own without the values given so far, in any of their spellings."""
        return redacted(text, self._given.values())

    def is_echoed(self, body: bytes) -> bool:
        return any(form in body for form in _forms(self._worth_hiding()))

    def conceal(self, text: str) -> str:
        """As `redact`, but for data: the address of a service and a plain word, such as a region, stay in it."""
        worth = self._worth_hiding()
        return _pattern(worth, False).sub(HIDDEN, text) if worth else text

    def _worth_hiding(self) -> tuple[str, ...]:
        given = {
            value
            for name, value in self._given.items()
            if len(value) >= SHORTEST_HIDDEN and (name in self._keys or not _PUBLIC.fullmatch(value))
        }
        return tuple(sorted(given))


def redacted(text: str, secrets: Iterable[str]) -> str:
    """`text` with every secret of at least six characters hidden, in any case: raw, URL-, base64-, JSON-escaped."""
    known = tuple(sorted({secret for secret in secrets if len(secret) >= SHORTEST_HIDDEN}))
    if not known or not _may_hold(text, known):
        return text
    return _pattern(known, True).sub(HIDDEN, text)


def _may_hold(text: str, secrets: tuple[str, ...]) -> bool:
    """False only where the pattern finds nothing. Each call's arguments are looked at, and the pattern is slow."""
    forms = _lowered(secrets)
    if not forms or not text.isascii():
        return True
    lowered = text.lower()
    return any(form in lowered for form in forms)


@lru_cache(maxsize=32)
def _pattern(secrets: tuple[str, ...], is_any_case: bool) -> re.Pattern[str]:
    forms = sorted({form for secret in secrets for form in _spellings(secret)}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, forms)), re.IGNORECASE if is_any_case else 0)


@lru_cache(maxsize=32)
def _lowered(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """Every spelling in small letters, without those that hold another; none where a secret has more than ASCII."""
    if not all(secret.isascii() for secret in secrets):
        return ()
    forms = sorted({form.lower() for secret in secrets for form in _spellings(secret)}, key=len)
    return tuple(form for at, form in enumerate(forms) if not any(part in form for part in forms[:at]))


@lru_cache(maxsize=32)
def _forms(secrets: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple({form.encode() for secret in secrets for form in _spellings(secret)})


def _spellings(secret: str) -> Iterable[str]:
    raw = secret.encode()
    yield secret
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
    yield json.dumps(secret)[1:-1]
    yield json.dumps(json.dumps(secret)[1:-1])[1:-1]  # as in JSON text that is a value of JSON
    yield json.dumps(secret)[1:-1].replace("/", "\\/")
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
