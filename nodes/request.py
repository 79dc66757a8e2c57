"""`request`: one HTTP request that changes something: an ACTION tool, sent once, or again only under the same key."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import urlencode

import msgspec
from pydantic import Field

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Json
from .base import ARGUMENTS, OBJECT, Configuration, Context, Effect, Inputs, Outputs, Port, Request, Response, node
from .conversions import json_text
from .http.auth import Auth, Credentials, credentials
from .http.binding import bound_pairs, bound_url, bound_value, text_of
from .http.replies import check_status, content_type, phrase
from .http.retry import send
from .secrets import redacted

SHOWN_HEADERS: Final = ("content-type", "location", "etag", "retry-after", "x-request-id")
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_UNKNOWN: Final = frozenset({502, 504})  # a gateway that lost the service's answer
_KEYS: Final = uuid.UUID("5a1ff1e1-d000-4000-8000-000000000000")


class RequestConfiguration(Configuration):
    """`{name}` in `url` and `:name` as a whole value elsewhere take arguments; an absent one is left out."""

    method: Literal["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    url: str = Field(description="Address; `{name}` takes an argument as one path segment")
    query: Mapping[str, Json] = Field({}, description="Query parameters; `:name` takes an argument")
    headers: Mapping[str, str] = Field({}, description="Headers; `:name` takes an argument")
    body: Json = Field(None, description="Body; `:name` takes an argument in its own JSON type, at any depth")
    body_format: Literal["json", "form"] = Field("json", description="How the body is written")
    auth: Auth | None = Field(None, description="How the request proves who it is; secrets are named, never written")
    idempotency_header: str | None = Field(
        None, description="Header that carries the idempotency key; with it the request may be sent again"
    )
    timeout_s: float = Field(30, gt=0, description="Seconds until the whole answer is there")


@node(
    "request",
    description="Send an HTTP request that changes something",
    effect=Effect.WRITES,
    configuration=RequestConfiguration,
    inputs=(Port(ARGUMENTS, OBJECT, "Arguments that the request takes", required=False),),
    outputs=(Port("response", OBJECT, "status, body (JSON where it is JSON, else text) and a few headers"),),
)
async def request_node(config: RequestConfiguration, inputs: Inputs, context: Context) -> Outputs:
    proof = credentials(config.auth, context.secrets)
    request = _resolved(config, inputs.get(ARGUMENTS) or {}, proof, context)
    repeatable = config.method in _SAFE or config.idempotency_header is not None
    try:
        response = await (send(request, context) if repeatable else context.egress.send(request))
    except JackfieldError as error:
        if error.details.get("sent") and config.method not in _SAFE:
            raise _unknown(context.node, error.message, error.code.value, repeatable) from None
        raise
    if response.status in _UNKNOWN and config.method not in _SAFE:
        found = f"It answered {response.status} {phrase(response.status)}."
        raise _unknown(context.node, found, Code.SOURCE_ERROR.value, repeatable)
    check_status(response, context.node, proof.secrets)
    context.note("requested", method=config.method, status=response.status, bytes=len(response.body))
    shown = [name for name in SHOWN_HEADERS if name in response.headers]
    headers = {name: _hidden(response.headers[name], proof, context) for name in shown}
    answer = {"status": response.status, "body": _content(response, proof, context), "headers": headers}
    return {"response": answer}


def _resolved(
    config: RequestConfiguration, arguments: Mapping[str, Any], proof: Credentials, context: Context
) -> Request:
    secrets = context.secrets
    url = bound_url(config.url, arguments, secrets)
    query = (*bound_pairs(config.query, arguments, secrets), *proof.query)
    headers = {"accept": "application/json, */*;q=0.5"}
    headers |= {name.lower(): value for name, value in bound_pairs(config.headers, arguments, secrets)}
    headers |= dict(proof.headers)
    bound = bound_value({"body": config.body}, arguments, secrets).get("body")
    body: bytes | None = None
    if bound is not None and config.body_format == "form":
        body = _form(bound, context.node)
        headers["content-type"] = "application/x-www-form-urlencoded"
    elif bound is not None:
        body = json_text(bound).encode() if not isinstance(bound, str) else json.dumps(bound).encode()
        headers["content-type"] = "application/json"
    if config.idempotency_header is not None:
        headers[config.idempotency_header.lower()] = _key(config, url, query, body, context)
    return Request(config.method, url, tuple(headers.items()), query, body, config.timeout_s)


def _key(
    config: RequestConfiguration, url: str, query: tuple[tuple[str, str], ...], body: bytes | None, context: Context
) -> str:
    """The caller's key, made different for each different request under it; without one, a new key."""
    if not context.idempotency_key:
        return str(uuid.uuid4())
    parts = (context.idempotency_key, context.connector, context.node, config.method, url, repr(query), repr(body))
    return str(uuid.uuid5(_KEYS, "\0".join(parts)))


def _form(value: Any, source: str) -> bytes:
    if not isinstance(value, dict):
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Request '{source}': a form body is an object of fields.",
            "Write `body` as an object, or set `body_format` to 'json'.",
        )
    pairs = [
        (name, text_of(each))
        for name, found in value.items()
        for each in (found if isinstance(found, list | tuple) else (found,))
        if each is not None
    ]
    return urlencode(pairs).encode()


def _hidden(text: str, proof: Credentials, context: Context) -> str:
    """Text of an answer without an echo of what we sent in secret, in whatever part of the request."""
    return context.secrets.conceal(redacted(text, proof.secrets))


def _content(response: Response, proof: Credentials, context: Context) -> Json:
    """JSON as JSON, other text as text, nothing as None; an echo of our own secrets is hidden."""
    if not response.body.strip():
        return None
    kind, charset = content_type(response.headers.get("content-type", ""))
    try:
        text = response.body.decode(charset, errors="replace")
    except LookupError:
        text = response.body.decode(errors="replace")
    text = _hidden(text, proof, context)
    if kind.endswith("json") or not kind:
        try:
            return msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return text
    return text


def _unknown(source: str, found: str, cause: str, repeatable: bool) -> JackfieldError:
    again = (
        "Call it again with the same idempotency key."
        if repeatable
        else "Look whether it happened before trying again."
    )
    return JackfieldError(
        Code.OUTCOME_UNKNOWN,
        f"Request '{source}' was sent, and what became of it is not known. {found}",
        again,
        {"source": source, "cause": cause},
    )
