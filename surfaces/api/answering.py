"""From a request to its endpoint and back: what is given is checked, every error leaves in the one shape."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from ...graphs.errors import Code, JackfieldError
from ..served import LOCAL, PRINCIPAL
from .endpoint import OPERATOR_ONLY, Asked, Endpoint, Given, Nothing, Refused, World

JSON = "application/json"


def handler(world: World, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    """The Starlette endpoint of a declared one."""

    async def answer(request: Request) -> Response:
        try:
            asked = await _asked(world, endpoint, request)
            found = await endpoint.run(asked)
        except Refused as refused:
            return error_response(refused.error, refused.status, refused.headers)
        except JackfieldError as error:
            return error_response(error)
        if isinstance(found, Response):
            return found
        return Response(found.model_dump_json(by_alias=True), endpoint.status, media_type=JSON)

    return answer


async def _asked(world: World, endpoint: Endpoint, request: Request) -> Asked[Any, Any]:
    principal = str(request.scope.get(PRINCIPAL) or "")
    if not principal:
        raise JackfieldError(Code.AUTH_REQUIRED, "It is not known who calls.", "Sign in first.")
    if endpoint.operator and principal != LOCAL:
        raise JackfieldError(Code.ACCESS_DENIED, OPERATOR_ONLY, "Ask the operator of this server.")
    query = checked(endpoint.query, dict(request.query_params), "query")
    body: Given = Nothing() if endpoint.body is Nothing else checked(endpoint.body, await _document(request), "body")
    return Asked(world, request, principal, request.path_params, query, body)


async def _document(request: Request) -> Any:
    data = await request.body()
    if not data:
        return {}
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(
            400,
            JackfieldError(
                Code.VALIDATION_INVALID_PARAMS, f"The body is not JSON: {error}.", "Send one JSON object in UTF-8."
            ),
        ) from None


def checked(model: type[Given], value: Any, where: str) -> Any:
    """`value` as `model`. Raises VALIDATION_INVALID_PARAMS or VALIDATION_MISSING_FIELD naming the field."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        missing = first["type"] == "missing"
        code = Code.VALIDATION_MISSING_FIELD if missing else Code.VALIDATION_INVALID_PARAMS
        known = ", ".join(model.model_fields) or "none"
        raise JackfieldError(
            code,
            f"The {where} does not fit: {f'{field!r}: ' if field else ''}{first['msg']}.",
            f"Fields of this {where}: {known}.",
            {"parameter": field, "available": list(model.model_fields)},
        ) from None


def error_response(
    error: JackfieldError, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """`{"error": {code, message, hint, details}}` with the code's status, and Retry-After where we know when."""
    sent = {**(headers or {})}
    wait = error.details.get("retry_after_s")
    if isinstance(wait, int | float):
        sent["retry-after"] = str(max(1, round(wait)))
    body = json.dumps({"error": error.as_json()}, ensure_ascii=False, default=str).encode()
    return Response(body, status or error.http_status, sent, JSON)
