"""Telling clients of changes, in both eras, once for each change.

Handshake: each session that is there is sent the notification; it is known from its requests, and kept weakly.
Stateless: the clients that listen get it by the bus, on the stream of their `subscriptions/listen`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from weakref import WeakKeyDictionary

import anyio
from mcp.server.connection import Connection
from mcp.server.context import CallNext, HandlerResult
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ...connectors.catalog import Catalog
from ..service import Service
from .callers import Context
from .changes import changed_uris, is_another

LISTS: Final[tuple[ServerEvent, ...]] = (ToolsListChanged(), PromptsListChanged(), ResourcesListChanged())
PATIENCE_S: Final = 1.0  # with a session whose client does not read
MOST_SUBSCRIBED: Final = 1_000  # resources, of one session


class Subscriptions:
    """Who is to be told. Made over a service, whose catalogs it follows."""

    def __init__(self, service: Service) -> None:
        self._bus = InMemorySubscriptionBus()
        self._sessions: WeakKeyDictionary[Connection, set[str]] = WeakKeyDictionary()
        self._catalog = service.app.catalog
        self.listen = ListenHandler(self._bus)
        service.follow(self._catalog_changed)

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """As middleware: every session passes here with its first message."""
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            self.watch(_connection(ctx))
        return await call_next(ctx)

    def watch(self, connection: Connection) -> None:
        """Tell this session of changes from now on, for as long as it is there."""
        self._sessions.setdefault(connection, set())

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        subscribed = self._sessions.setdefault(_connection(ctx), set())
        if len(subscribed) >= MOST_SUBSCRIBED and params.uri not in subscribed:
            raise MCPError(
                INVALID_PARAMS, f"A session may subscribe to {MOST_SUBSCRIBED} resources; unsubscribe first."
            )
        subscribed.add(params.uri)
        return EmptyResult()

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        self._sessions.get(_connection(ctx), set()).discard(params.uri)
        return EmptyResult()

    async def tell(self, events: Iterable[ServerEvent]) -> None:
        """Tell all who may want to know. A client that does not read is waited for no longer than `PATIENCE_S`."""
        events = tuple(events)
        for event in events:
            await self._bus.publish(event)
        async with anyio.create_task_group() as tasks:
            for connection, subscribed in list(self._sessions.items()):
                tasks.start_soon(_tell, connection, events, frozenset(subscribed))

    def close(self) -> None:
        """End the streams of those who listen."""
        self.listen.close()

    async def _catalog_changed(self, catalog: Catalog) -> None:
        """What changed only in its findings is no change to a client."""
        before, self._catalog = self._catalog, catalog
        if is_another(before, catalog):
            await self.tell((*LISTS, *map(ResourceUpdated, changed_uris(before, catalog))))


def _connection(ctx: Context) -> Connection:
    """What lives as long as the session; the SDK gives handlers a proxy of it that lives for one request."""
    return ctx.session._connection


async def _tell(connection: Connection, events: tuple[ServerEvent, ...], subscribed: frozenset[str]) -> None:
    if not connection.initialized.is_set():
        return  # it has listed nothing yet
    with anyio.move_on_after(PATIENCE_S):
        for event in events:
            match event:
                case ToolsListChanged():
                    await connection.send_tool_list_changed()
                case PromptsListChanged():
                    await connection.send_prompt_list_changed()
                case ResourcesListChanged():
                    await connection.send_resource_list_changed()
                case ResourceUpdated(uri) if uri in subscribed:
                    await connection.send_resource_updated(uri)
