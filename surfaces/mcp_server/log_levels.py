"""What the server logs to its clients, and from which level on each wants to hear it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, get_args

from mcp.server.connection import allowed_log_levels
from mcp_types import (
    EmptyResult,
    LoggingLevel,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    SetLevelRequestParams,
)

from ...graphs.model import Json
from .callers import Context, caller_of

LEVELS: Final[tuple[str, ...]] = get_args(LoggingLevel)  # from debug to emergency
MOST_SESSIONS: Final = 10_000


class LogLevels:
    """The levels that sessions have set. A stateless request says its own, or is told nothing."""

    def __init__(self) -> None:
        self._set: OrderedDict[str, int] = OrderedDict()

    async def set(self, ctx: Context, params: SetLevelRequestParams) -> EmptyResult:
        """The handler of logging/setLevel."""
        session = caller_of(ctx).session_id
        self._set[session] = LEVELS.index(params.level)
        self._set.move_to_end(session)
        if len(self._set) > MOST_SESSIONS:
            self._set.popitem(last=False)
        return EmptyResult()

    async def send(self, ctx: Context, level: str, data: Json, logger: str = "") -> None:
        """Tell the client of this request, unless it does not want to hear of `level`."""
        least = self._set.get(caller_of(ctx).session_id, 0)
        if LEVELS.index(level) < least or level not in allowed_log_levels(ctx.protocol_version, ctx.meta):
            return
        params = LoggingMessageNotificationParams.model_validate(
            {"level": level, "data": data, "logger": logger or None}
        )
        await ctx.session.send_notification(LoggingMessageNotification(params=params), ctx.request_id)
