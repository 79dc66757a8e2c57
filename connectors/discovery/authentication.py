"""What a refused request says is needed, as the `auth` object to add: kinds and names of secrets, never a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ...graphs.model import Json
from .naming import variable

SCHEME: Final = re.compile(r"(?:^|,)\s*([A-Za-z][A-Za-z0-9-]*)(?=\s|,|$)(?!\s*=)")
REALM: Final = re.compile(r'realm="([^"]{0,80})"')
KEY_HEADER: Final = re.compile(r"\b(x-[a-z0-9-]*(?:key|token|auth)[a-z0-9-]*)\b", re.IGNORECASE)
KEY_WORDS: Final = re.compile(r"\bapi[\s_-]?key\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Need:
    """`add` is the `auth` of the source; `is_sure` whether the service itself named the scheme."""

    status: int
    add: Mapping[str, Json]
    is_sure: bool
    realm: str = ""

    def as_json(self) -> dict[str, Json]:
        told: dict[str, Json] = {
            "required": True,
            "status": self.status,
            "add": dict(self.add),
            "named_by_the_service": self.is_sure,
            "set": [name for field, name in self.add.items() if field.endswith("secret_key")],
        }
        return {**told, "realm": self.realm} if self.realm else told


def need_of(status: int, headers: Mapping[str, str], body: str, name: str) -> Need | None:
    """What a 401 or 403 asks for; None for any other status. `name` begins the names of the variables."""
    if status not in (401, 403):
        return None
    challenge = headers.get("www-authenticate", "")
    realm = REALM.search(challenge)
    schemes = [scheme.lower() for scheme in SCHEME.findall(challenge)]
    add, is_sure = _auth(schemes, challenge, body, name)
    return Need(status, add, is_sure, realm[1] if realm else "")


def _auth(schemes: list[str], challenge: str, body: str, name: str) -> tuple[dict[str, Json], bool]:
    header = KEY_HEADER.search(challenge) or KEY_HEADER.search(body[:4000])
    if "bearer" in schemes:
        return {"type": "bearer", "secret_key": variable(name, "token")}, True
    if "basic" in schemes:
        return {
            "type": "basic",
            "user_secret_key": variable(name, "user"),
            "pass_secret_key": variable(name, "password"),
        }, True
    if header is not None:
        return {"type": "api_key", "secret_key": variable(name, "api_key"), "header_name": header[1]}, True
    if "token" in schemes:
        key = variable(name, "token")
        return {"type": "api_key", "secret_key": key, "header_name": "Authorization", "prefix": "Token "}, True
    if KEY_WORDS.search(challenge) or KEY_WORDS.search(body[:4000]):
        return {"type": "api_key", "secret_key": variable(name, "api_key"), "header_name": "X-API-Key"}, False
    return {"type": "bearer", "secret_key": variable(name, "token")}, False
