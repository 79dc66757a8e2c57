"""No secret stands in a file. A finding names the field and the kind of secret, and never repeats the value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from ...graphs.findings import Finding
from ..native.authorisation import NAMING_FIELDS, authorisations
from ..secret_text import HARMLESS_FIELDS, KINDS, SECRET_FIELD, random_looking
from .subject import Subject, texts

LOOKS_LIKE_A_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]*")
REFERENCE: Final = re.compile(r"\{\{\s*env:[A-Za-z_][A-Za-z0-9_]*\s*\}\}")
# What is never a name in an `auth`, whichever field of the same meaning the author thought of.
LITERAL_FIELDS: Final = frozenset(("token", "bearer", "password", "secret", "api_key", "apikey"))

ENVIRONMENT_HINT: Final = "Put it into an environment variable and write its name, or {{ env:NAME }}."


def secrets(subject: Subject) -> Iterator[Finding]:
    document = subject.parts.document
    for pointer, text in texts(document, ""):
        yield from _literal(subject, pointer, text)
    for pointer, owner, auth in authorisations(document):
        yield from _oauth2(subject, pointer, owner, auth)
    for index, source in enumerate(_dicts(document.get("sources"))):
        yield from _in_url(subject, f"/sources/{index}", source)
    yield from _exposed(subject)


def _literal(subject: Subject, pointer: str, text: str) -> Iterator[Finding]:
    holder, field = pointer.split("/")[-2:]
    if field in NAMING_FIELDS:
        return  # checked when the file is read: such a connector is not served
    in_url = field in ("url", "base_url")
    for kind, pattern in KINDS:
        if pattern.search(text):
            code = "SECRET_IN_URL" if in_url else "SECRET_LITERAL"
            message = f"'{field}' holds {kind} in the open."
            yield subject.finding(code, pointer, message, ENVIRONMENT_HINT, owner_of(pointer))
            return
    secret_field = SECRET_FIELD.search(field) and field not in HARMLESS_FIELDS
    in_text = re.match(r"/(tools|skills)/\d+/(description|name|id|sql|prompt_template)$", pointer)
    rest = REFERENCE.sub("", text)
    written_out = holder == "auth" and field in LITERAL_FIELDS and rest and not LOOKS_LIKE_A_NAME.fullmatch(rest)
    if written_out or (secret_field and not in_text and random_looking(rest)):
        message = f"'{field}' holds what looks like a secret."
        yield subject.finding("SECRET_LITERAL", pointer, message, ENVIRONMENT_HINT, owner_of(pointer))


def _oauth2(subject: Subject, pointer: str, owner: str, auth: Mapping[str, Any]) -> Iterator[Finding]:
    if auth.get("type") != "oauth2":
        return
    missing = [name for name in ("client_id", "client_secret", "token_url") if not auth.get(name)]
    if missing:
        message = f"The oauth2 of '{owner}' lacks {', '.join(missing)}."
        hint = "Give the token_url, and client_id and client_secret as {{ env:NAME }}."
        yield subject.finding("AUTH_OAUTH2_MISSING_CONFIG", pointer, message, hint, owner)
    for name in ("client_id", "client_secret"):
        value = auth.get(name)
        if isinstance(value, str) and not REFERENCE.fullmatch(value) and not LOOKS_LIKE_A_NAME.fullmatch(value):
            message = f"'{name}' of '{owner}' is written out."
            yield subject.finding("AUTH_OAUTH2_CLIENT_NOT_ENV", f"{pointer}/{name}", message, ENVIRONMENT_HINT, owner)
    if auth.get("scope") == "per_user":
        for name in ("secret_key", "access_token", "refresh_token"):
            if isinstance(auth.get(name), str):
                message = f"'{owner}' asks for credentials of each user, and '{name}' is one variable for all."
                hint = f"Leave '{name}' out: each user's is kept in the credential store."
                yield subject.finding("AUTH_PER_USER_SLOT_IS_ENV", f"{pointer}/{name}", message, hint, owner)


def _in_url(subject: Subject, pointer: str, source: Mapping[str, Any]) -> Iterator[Finding]:
    """A url that carries the name of the source's secret, or a secret-like query parameter with a plain value."""
    url, auth = source.get("url"), source.get("auth")
    if not isinstance(url, str):
        return
    name = auth.get("secret_key") if isinstance(auth, Mapping) else None
    query = urlsplit(url).query if "://" in url else ""
    carried = any(
        SECRET_FIELD.search(part.partition("=")[0]) and part.partition("=")[2] and "{" not in part
        for part in query.split("&")
    )
    open_already = any(pattern.search(url) for _, pattern in KINDS)
    if not open_already and ((isinstance(name, str) and len(name) > 3 and name in url) or carried):
        message = f"The url of '{source.get('id')}' carries a secret; urls end up in logs."
        hint = 'Use "auth": {"type": "api_key", "secret_key": "NAME", "header_name": "X-Api-Key"}.'
        yield subject.finding("SECRET_IN_URL", f"{pointer}/url", message, hint, str(source.get("id", "")))


def _exposed(subject: Subject) -> Iterator[Finding]:
    """Fields that were declared sensitive, in what a tool gives or asks for."""
    for field in sorted(subject.sensitive):
        pattern = re.compile(rf"\b{re.escape(field)}\b", re.IGNORECASE)
        for pointer, tool in subject.tools:
            given: tuple[tuple[str, object], ...] = (
                ("sql", tool.sql or ""),
                ("result", list(tool.result.fields)),
                ("output_schema", [*((tool.output_schema or {}).get("properties") or {})]),
                ("rest_query_params", [*(tool.rest_query_params or {})]),
                ("request", [text for _, text in texts(tool.request, "")]),
            )
            for part, value in given:
                if any(pattern.search(text) for _, text in texts(value, "")):
                    message = f"Tool '{tool.id}' exposes '{field}', which is declared sensitive."
                    hint = "Leave the column out, or name only the columns that an agent needs."
                    yield subject.finding("SENSITIVE_FIELD_EXPOSED", f"{pointer}/{part}", message, hint, tool.id)


def owner_of(pointer: str) -> str:
    return "/".join(pointer.split("/")[1:3])


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [item if isinstance(item, Mapping) else {} for item in value] if isinstance(value, list) else []
