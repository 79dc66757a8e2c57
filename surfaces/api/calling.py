"""Calls of the API: who makes them, how they end when their client goes away, and what their answers look like."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ...graphs.errors import Code, JackfieldError
from ..served import Answer, Caller
from ..whole_results import FORMATS, chunks, result_id, written
from .endpoint import Asked, Other

# What calling a tool can end in, beside a bug.
FAILURES: Final = (
    Code.TOOL_NOT_FOUND, Code.VALIDATION_INVALID_PARAMS, Code.VALIDATION_MISSING_FIELD, Code.CONFIG_INVALID,
    Code.INVALID_SKILL, Code.QUERY_INVALID, Code.SCHEMA_NOT_FOUND, Code.RESULT_EXPIRED, Code.SECRET_MISSING,
    Code.INPUT_REQUIRED, Code.AUTH_FAILED, Code.ACCESS_DENIED, Code.SOURCE_UNREACHABLE, Code.SOURCE_BLOCKED,
    Code.SOURCE_TIMEOUT, Code.SOURCE_ERROR, Code.SOURCE_BAD_REPLY, Code.RATE_LIMITED, Code.SCHEMA_CHANGED,
    Code.TYPE_MISMATCH, Code.QUERY_TIMEOUT, Code.BUDGET_EXCEEDED, Code.OVERLOADED, Code.OUTCOME_UNKNOWN,
    Code.AUDIT_UNAVAILABLE, Code.CANCELLED,
)  # fmt: skip
SESSION: Final = "X-Session-Id"
LONGEST: Final = 200
RESULT_HEADER: Final = "X-Result-Id"
RUN_HEADER: Final = "X-Run-Id"
_SALT: Final = secrets.token_bytes(16)
ROWS: Final = tuple(
    Other(media, {"type": "string", **({} if name in ("csv", "ndjson") else {"contentMediaType": media})})
    for name, media in FORMATS.items()
    if name != "json"
)
T = TypeVar("T")


def caller_of(asked: Asked[Any, Any]) -> Caller:
    """The caller of a request of the API. A client that sends no session id has one for its address and name."""
    headers = asked.request.headers
    client = headers.get("user-agent", "")[:LONGEST]
    host = asked.request.client.host if asked.request.client else ""
    session = headers.get(SESSION, "")[:LONGEST]
    if not session:
        told = f"{asked.principal}|{host}|{client}".encode()
        session = f"api-{hashlib.blake2b(told, key=_SALT, digest_size=6).hexdigest()}"
    return Caller(
        principal=asked.principal,
        client=client,
        era="api",
        session_id=session,
        traceparent=headers.get("traceparent", ""),
        tracestate=headers.get("tracestate", ""),
    )


async def while_connected(request: Request, work: Awaitable[T]) -> T:
    """What `work` gives; it is cancelled when the client goes away."""
    result: list[T] = []
    failure: list[Exception] = []
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        try:
            result.append(await work)
        except Exception as error:  # not through the group, which would wrap it
            failure.append(error)
        tasks.cancel_scope.cancel()
    if failure:
        raise failure[0]
    if not result:
        raise JackfieldError(Code.CANCELLED, "The client went away.")
    return result[0]


def json_answer(answer: Answer) -> Response:
    """The answer as it was encoded once; the ids of its run and of its whole result stand in headers."""
    headers = _headers(answer)
    whole = result_id(None if answer.result is None else answer.result.page)
    if whole is not None:
        headers[RESULT_HEADER] = whole
    return Response(answer.text, 200, headers, "application/json")


async def rows_answer(answer: Answer, format: str, name: str) -> Response:
    """All rows of an answer in one of the formats that are no JSON of ours. Raises for an answer that has none."""
    result = answer.result
    if result is None or result.table is None:
        raise no_rows(name, format)
    file = await written(result.table, format)
    headers = {**_headers(answer), "content-disposition": f'attachment; filename="{_file_name(name)}.{format}"'}
    return StreamingResponse(chunks(file), 200, headers, FORMATS[format])


def no_rows(name: str, format: str) -> JackfieldError:
    return JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        f"'{name}' gives no rows, so there is nothing to write as {format}.",
        "Send `Accept: application/json`.",
        {"parameter": "Accept"},
    )


def _headers(answer: Answer) -> dict[str, str]:
    run = None if answer.result is None else answer.result.run
    return {} if run is None else {RUN_HEADER: run.id}


def _file_name(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "_" for letter in name[:60])
