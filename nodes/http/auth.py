"""How a request proves who it is: `auth` in a configuration, turned into headers or query at the moment of sending.

Configuration names secrets (`secret_key`), and never holds them.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from ...graphs.errors import Code, JackfieldError
from ..base import Configuration, Secrets

Pairs = tuple[tuple[str, str], ...]


class NoAuth(Configuration):
    """Nothing is proven."""

    type: Literal["none"] = "none"


class ApiKeyAuth(Configuration):
    """The key goes into the header `header_name`, or into the query as `query_param`."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    type: Literal["api_key"]
    secret_key: str = Field(description="Environment variable that holds the key")
    header_name: str | None = Field(None, description="Header that carries the key")
    query_param: str | None = Field(None, description="Query parameter that carries the key")
    place: Literal["header", "query"] | None = Field(None, alias="in", description="`query` sends it in the query")
    prefix: str = Field("", description="Written before the key, such as 'Token '")

    @model_validator(mode="after")
    def _one_place(self) -> ApiKeyAuth:
        if (self.header_name or self.query_param) is None:
            raise ValueError("api_key needs header_name, or query_param")
        if self.header_name and self.query_param:
            raise ValueError("api_key goes into header_name or query_param, not into both")
        return self


class BearerAuth(Configuration):
    """The token goes into the header `Authorization: Bearer …`."""

    type: Literal["bearer"]
    secret_key: str = Field(description="Environment variable that holds the token")


class BasicAuth(Configuration):
    """Two secrets for user and password, or one that holds `user:password`."""

    type: Literal["basic"]
    user_secret_key: str | None = Field(None, description="Environment variable that holds the user name")
    pass_secret_key: str | None = Field(None, description="Environment variable that holds the password")
    secret_key: str | None = Field(None, description="Environment variable that holds `user:password`")

    @model_validator(mode="after")
    def _whole(self) -> BasicAuth:
        pair = self.user_secret_key is not None and self.pass_secret_key is not None
        if pair == (self.secret_key is not None):
            raise ValueError("basic needs user_secret_key and pass_secret_key, or secret_key of 'user:password'")
        return self


Auth = Annotated[NoAuth | ApiKeyAuth | BearerAuth | BasicAuth, Field(discriminator="type")]


@dataclass(frozen=True, slots=True)
class Credentials:
    """What is added to a request. `secrets` are the values that no message may show."""

    headers: Pairs = ()
    query: Pairs = ()
    secrets: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """A digest that tells callers with different credentials apart in a cache."""
        text = "\0".join(f"{name}\0{value}" for name, value in (*self.headers, *self.query))
        return hashlib.sha256(text.encode()).hexdigest()


def credentials(auth: Auth | None, secrets: Secrets) -> Credentials:
    """Raises SECRET_MISSING, and CONFIG_INVALID for a user name that HTTP basic can not carry."""
    match auth:
        case None | NoAuth():
            return Credentials()
        case BearerAuth():
            token = _secret(auth.secret_key, secrets)
            return Credentials((("authorization", f"Bearer {token}"),), (), (token,))
        case ApiKeyAuth():
            key = _secret(auth.secret_key, secrets)
            value = auth.prefix + key
            if auth.query_param or auth.place == "query":
                return Credentials((), ((auth.query_param or auth.header_name or "", value),), (key,))
            return Credentials((((auth.header_name or "").lower(), value),), (), (key,))
        case BasicAuth():
            return _basic(auth, secrets)


def _basic(auth: BasicAuth, secrets: Secrets) -> Credentials:
    if auth.secret_key is not None:
        user, colon, password = _secret(auth.secret_key, secrets).partition(":")
        if not colon:
            raise JackfieldError(
                Code.CONFIG_INVALID,
                f"The secret '{auth.secret_key}' holds no ':', expected 'user:password'.",
                "Set it to user:password, or name two secrets by user_secret_key and pass_secret_key.",
                {"variable": auth.secret_key},
            )
    else:
        user = _secret(auth.user_secret_key or "", secrets)
        password = _secret(auth.pass_secret_key or "", secrets)
        if ":" in user:
            raise JackfieldError(
                Code.CONFIG_INVALID,
                f"The user name in '{auth.user_secret_key}' holds a ':', which HTTP basic can not carry.",
                "Name the secret that holds the user name alone.",
                {"variable": auth.user_secret_key},
            )
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    return Credentials((("authorization", f"Basic {token}"),), (), (token, password))


def _secret(name: str, secrets: Secrets) -> str:
    return secrets.expand(name) if "{{" in name else secrets.value(name)
