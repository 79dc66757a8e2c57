"""What a request ends in that no handler answered: what does not fit is named, and a bug told by its id alone."""

from __future__ import annotations

from typing import Final

from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from pydantic import ValidationError

from ...graphs.errors import JackfieldError
from ..faults import internal_error
from .callers import Context

UNSAID: Final = "Invalid request parameters"  # the SDK's words for any params, and for what comes before the handshake
SHOWN: Final = 200  # characters of a name or of a reason
MOST: Final = 3


async def told_by_id(ctx: Context, call_next: CallNext) -> HandlerResult:
    """Middleware. The SDK would send the text of any exception to clients with a session, and none of what is wrong."""
    try:
        return await call_next(ctx)
    except ValidationError as unfit:
        raise MCPError(INVALID_PARAMS, _named(unfit, ctx.method), "") from None
    except MCPError as error:
        if error.error.code == INVALID_PARAMS and error.error.message == UNSAID:
            said = f"{ctx.method} came before this session was initialized. Send `initialize` first."
            raise MCPError(INVALID_PARAMS, said, error.error.data) from None
        raise
    except JackfieldError as error:
        raise MCPError(INTERNAL_ERROR, str(error), error.as_json()) from None
    except Exception as bug:
        said_of_bug = internal_error(bug, ctx.method)
        raise MCPError(INTERNAL_ERROR, str(said_of_bug), said_of_bug.as_json()) from None


def _named(unfit: ValidationError, method: str) -> str:
    """Each field with what is wrong with it, and nothing of what was sent in it."""
    told: dict[str, str] = {}
    for each in unfit.errors(include_url=False, include_context=False, include_input=False):
        place = [str(part) for part in each["loc"] if part != "params"]
        reason = each["msg"].replace("dictionary", "object")[:SHOWN]
        told.setdefault(".".join(place)[:SHOWN] or "params", f"{reason[:1].lower()}{reason[1:]}")
    wrong = [f"'{place}': {reason}" for place, reason in list(told.items())[:MOST]]
    return f"The params of {method[:SHOWN]} do not fit. {'; '.join(wrong)}."
