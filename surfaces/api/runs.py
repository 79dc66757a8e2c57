"""/api/runs: the calls under way and the last that ended, with the events of each."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from ...graphs.errors import Code, JackfieldError
from ..feed import RECENT
from .endpoint import Asked, Endpoint, Given, Nothing, Told, endpoint
from .shapes import CallTold


class Wanted(Given):
    limit: int = Field(100, ge=1, le=RECENT, description="How many of those that ended")


class RunList(Told):
    live: list[CallTold] = Field(description="Under way, the oldest first")
    recent: list[CallTold] = Field(description="Ended, the newest first")


class NodeTold(Told):
    """What the firings of one node came to."""

    firings: int
    seconds: float
    rows: int | None
    bytes: int | None
    requests: int | None = Field(description="HTTP requests to its source")
    cached: bool
    failed: bool


class RunTold(Told):
    call: CallTold
    nodes: dict[str, NodeTold] = Field(description="By node, in the order in which they were first heard of")
    events: list[dict[str, Any]] = Field(
        description="`{at, run, node, kind, …}` in order; nodes are `started`, `pulled`, `finished`, `failed` …"
    )


@endpoint("GET", "/runs", tag="runs", summary="List the calls under way and those that ended last", query=Wanted,
          answer=RunList)  # fmt: skip
async def list_runs(asked: Asked[Wanted, Nothing]) -> RunList:
    """The last 500, those of before a restart without their events; the audit has every call. Others than the operator
    see their own.
    """
    feed = asked.world.feed
    return RunList.model_validate(
        {"live": feed.live(asked.principal), "recent": feed.recent(asked.principal, asked.query.limit)}
    )


@endpoint("GET", "/runs/{run}", tag="runs", summary="One run with its events", answer=RunTold,
          parameters={"run": "The id of the run"}, errors=(Code.RESULT_EXPIRED,))  # fmt: skip
async def get_run(asked: Asked[Nothing, Nothing]) -> RunTold:
    found = asked.world.feed.run(asked.path["run"], asked.principal)
    if found is None:
        raise JackfieldError(
            Code.RESULT_EXPIRED,
            f"The run '{asked.path['run'][:40]}' is not remembered.",
            f"The last {RECENT} are; the audit has a line of every call.",
        )
    names = NodeTold.model_fields
    nodes = {node: {name: getattr(facts, name) for name in names} for node, facts in found.nodes.items()}
    return RunTold.model_validate({"call": found.call, "nodes": nodes, "events": found.events})


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_runs, get_run)
