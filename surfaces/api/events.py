"""/api/events: a stream of server-sent events. First a snapshot, then what changes, as it happens."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import anyio
from pydantic import Field
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ...graphs.errors import Code, JackfieldError
from ..watchers import Watch, server_sent
from .endpoint import Asked, Endpoint, Given, Nothing, Other, World, endpoint

HEARTBEAT_S: Final = 15.0
WRITE_S: Final = 20.0  # a reader that takes nothing for that long is cut off
SNAPSHOT: Final = 100  # calls that ended last
MOST_WATCHERS: Final = 100
RETRY_MS: Final = 2_000
PAUSE_S: Final = 0.005  # for each who watches


class Watching(Given):
    nodes: bool = Field(True, description="Also the events of nodes")


@endpoint("GET", "/events", tag="events", summary="Follow calls as they happen", query=Watching,
          others=(Other("text/event-stream"),), errors=(Code.OVERLOADED,),
          headers=(("Last-Event-ID", "request", "The id of the last event that was seen: the stream goes on after it",
                    False),))  # fmt: skip
async def follow_events(asked: Asked[Watching, Nothing]) -> Response:
    """Events: `snapshot` {live, recent, position} first, unless Last-Event-ID is remembered; `call_began`, `call_ended`
    (a call), `node` (an event of a run that began after the stream), `catalog_changed`, `gap` {missed} when this reader
    was too slow. A comment is sent every 15 s; a reader that takes nothing for 20 s is cut off.
    """
    feed = asked.world.feed
    if feed.watchers >= MOST_WATCHERS:
        raise JackfieldError(
            Code.OVERLOADED,
            f"{feed.watchers} streams are open.",
            "Close one, or try again later.",
            {"retry_after_s": 5},
            transient=True,
        )
    after = asked.request.headers.get("last-event-id", "")
    return _Stream(asked.world, asked.principal, asked.query.nodes, after)


class _Stream(Response):
    """Writes events while the client reads them."""

    media_type = "text/event-stream"

    def __init__(self, world: World, principal: str, nodes: bool, after: str) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._world = world
        self._principal = principal
        self._nodes = nodes
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._world.feed.watch(self._principal, nodes=self._nodes, after=self._after) as watch:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body"})
                return
            async with anyio.create_task_group() as tasks:

                async def listen() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    tasks.cancel_scope.cancel()

                tasks.start_soon(listen)
                with suppress(TimeoutError):  # cut off: the body stays unfinished, so that its reader knows
                    await self._write(watch, send)
                tasks.cancel_scope.cancel()

    async def _write(self, watch: Watch, send: Send) -> None:
        await _sent(send, f"retry: {RETRY_MS}\n\n".encode())
        if not watch.resumed:
            await _sent(send, server_sent(self._world.feed.position, "snapshot", self._snapshot()))
        while True:
            events = await watch.next(HEARTBEAT_S)
            await _sent(send, b"".join([event.sent for event in events]) or b": still here\n\n")
            # Waking takes longer than telling: the more watch, the more each is told at once.
            await anyio.sleep(PAUSE_S * self._world.feed.watchers)

    def _snapshot(self) -> Mapping[str, Any]:
        feed, offer = self._world.feed, self._world.service.offer
        return {
            "position": feed.position,
            "live": feed.live(self._principal),
            "recent": feed.recent(self._principal, SNAPSHOT),
            "tools": len(offer.tools),
        }


async def _sent(send: Send, data: bytes) -> None:
    with anyio.fail_after(WRITE_S):
        await send({"type": "http.response.body", "body": data, "more_body": True})


ENDPOINTS: Final[tuple[Endpoint, ...]] = (follow_events,)
