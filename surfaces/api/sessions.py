"""/api/sessions: who called what, with the signals of each session."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from ...graphs.errors import Code, JackfieldError
from .endpoint import Asked, Endpoint, Given, Nothing, Told, endpoint


class Wanted(Given):
    limit: int = Field(100, ge=1, le=1_000)


class SessionTold(Told):
    session: str
    principal: str
    client: str
    era: str
    began: float = Field(description="Seconds since 1970")
    last: float
    calls: int
    signals: dict[str, int] = Field(
        description="How many calls were errors, contract_miss, retry, redundant, slow (over 3 s), large_result "
        "(over 500 tokens)"
    )
    tools: dict[str, int] = Field(description="Calls by tool, of the tools called most")


class SessionList(Told):
    sessions: list[SessionTold]


class SessionCall(Told):
    run: str
    name: str
    at: float
    seconds: float
    rows: int | None
    bytes: int | None
    error: str | None = Field(description="The code")
    signals: list[str]


class SessionDetail(SessionTold):
    latest: list[SessionCall] = Field(description="The last calls, the newest first")


@endpoint("GET", "/sessions", tag="sessions", summary="List the sessions", query=Wanted, answer=SessionList)
async def list_sessions(asked: Asked[Wanted, Nothing]) -> SessionList:
    """The last used first. Others than the operator see their own."""
    found = asked.world.sessions.list(asked.principal)[: asked.query.limit]
    return SessionList(sessions=[SessionTold.model_validate(one.as_json()) for one in found])


@endpoint("GET", "/sessions/{session}", tag="sessions", summary="One session with its calls", answer=SessionDetail,
          parameters={"session": "The id of the session"}, errors=(Code.RESULT_EXPIRED,))  # fmt: skip
async def get_session(asked: Asked[Nothing, Nothing]) -> SessionDetail:
    found = asked.world.sessions.find(asked.path["session"], asked.principal)
    if found is None:
        raise JackfieldError(
            Code.RESULT_EXPIRED,
            f"The session '{asked.path['session'][:60]}' is not remembered.",
            "/api/sessions lists those that are; the audit has a line of every call.",
        )
    latest: list[dict[str, Any]] = [call.as_json() for call in reversed(found.calls)]
    return SessionDetail.model_validate({**found.as_json(), "latest": latest})


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_sessions, get_session)
