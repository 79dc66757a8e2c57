"""A request that is refused before anything looks at what it asks for, and how that is answered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from mcp_types import INVALID_REQUEST
from starlette.responses import Response
from starlette.types import Scope, Send

from ...graphs.errors import Code, JackfieldError

MCP_PATHS: Final = ("/mcp", "/v1/mcp")
Headers = tuple[tuple[bytes, bytes], ...]
CLOSE: Final = (b"connection", b"close")


@dataclass(frozen=True, slots=True)
class Refusal:
    """`reason` is a short stable name for the audit. `rpc_code` and `rpc_id` are for an answer to an MCP client."""

    status: int
    reason: str
    error: JackfieldError
    headers: Headers = ()
    rpc_code: int = INVALID_REQUEST
    rpc_id: Any = None


def refusal(
    status: int,
    reason: str,
    message: str,
    hint: str = "",
    code: Code = Code.VALIDATION_INVALID_PARAMS,
    headers: Headers = (),
    rpc_code: int = INVALID_REQUEST,
) -> Refusal:
    return Refusal(status, reason, JackfieldError(code, message, hint, {"reason": reason}), headers, rpc_code)


def body_of(refused: Refusal, path: str) -> bytes:
    """A JSON-RPC error where MCP is spoken, else `{"error": {code, message, hint, details}}`."""
    error = refused.error.as_json()
    if path not in MCP_PATHS:
        return msgspec.json.encode({"error": error})
    return msgspec.json.encode(
        {
            "jsonrpc": "2.0",
            "id": refused.rpc_id,
            "error": {"code": refused.rpc_code, "message": str(refused.error), "data": {"error": error}},
        }
    )


def of_error(error: JackfieldError) -> Refusal:
    """An error as an HTTP answer; Retry-After where it says when to come again."""
    seconds = error.details.get("retry_after_s")
    headers = ((b"retry-after", str(math.ceil(seconds)).encode()),) if isinstance(seconds, (int, float)) else ()
    return Refusal(error.http_status, error.code.value.lower(), error, headers)


def answer_of(refused: Refusal, scope: Scope) -> Response:
    answer = Response(body_of(refused, scope["path"]), refused.status, media_type="application/json")
    answer.raw_headers.extend(refused.headers)
    return answer


async def send_refusal(refused: Refusal, scope: Scope, send: Send) -> None:
    body = body_of(refused, scope["path"])
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *refused.headers,
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
