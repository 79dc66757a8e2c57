"""What is no error of ours or of the protocol is a bug: the client gets its id, the log all of it."""

from __future__ import annotations

from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR
from pydantic import ValidationError

from ...graphs.errors import JackfieldError
from ..faults import internal_error
from .callers import Context


async def told_by_id(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Middleware. The SDK would send the text of any exception to clients with a session."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except JackfieldError as error:
        raise MCPError(INTERNAL_ERROR, str(error.bounded()), error.as_json()) from None
    except Exception as bug:
        said = internal_error(bug, ctx.method)
        raise MCPError(INTERNAL_ERROR, str(said), said.as_json()) from None
