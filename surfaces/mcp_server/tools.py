"""tools/list and tools/call over what is offered at the moment."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from mcp_types import Tool as McpTool

from ...connectors.model import Tool
from ...connectors.offer import Offer, OfferedTool
from ...graphs.errors import Code, JackfieldError
from ..faults import not_found
from ..kept_answers import KeptAnswers
from ..platform.serving import CATEGORY, Platform
from ..platform.tool import PlatformTool
from ..served import LOCAL, Answer, Caller, ServedCall
from ..service import CURSOR, Service, pages
from ..signatures import as_mcp
from .answers import error_result, tool_result
from .asking import client_of
from .callers import Context, caller_of
from .fitting import CUT_SCHEMA
from .listing import page_of
from .log_levels import LogLevels
from .progress import reporting
from .tool_search import ToolSearch, called

CURSOR_SCHEMA: Final = {"type": "string", "description": "next_cursor of an earlier answer, to go on from there"}


Keeping = Callable[[Caller, str], Awaitable[str]]


class Tools:
    """The handlers of one server."""

    def __init__(self, service: Service, levels: LogLevels, kept: KeptAnswers) -> None:
        self._service = service
        self._levels = levels
        self.keep = kept.keep
        self._platform = Platform(service)
        self._held: dict[bool, _Listing] = {}

    async def list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        listing = self._listing(caller_of(ctx).principal)
        listed = listing.search.tools() if listing.search.on else listing.tools
        entries, cursor = page_of(listed, params, lambda tool: tool.name)
        return ListToolsResult(tools=entries, next_cursor=cursor)

    async def call(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        """An error that the agent can mend is a result; an unknown name is the protocol's -32602."""
        caller = caller_of(ctx)
        search = self._listing(caller.principal).search
        if search.on and params.name == search.search_name:
            return await self._search(caller, params, search)
        if search.on and params.name == search.call_name:
            try:
                name, arguments = called(params.arguments or {})
                if name not in search:
                    raise not_found("tool", name, search.names)
            except JackfieldError as error:
                return await self._refuse(caller, params, error)
            params = params.model_copy(update={"name": name, "arguments": arguments})
        return await self._call(ctx, caller, params)

    async def _call(
        self, ctx: Context, caller: Caller, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        if params.name in self._platform.offered(caller.principal):
            return await self._call_platform(caller, params)
        client = client_of(ctx, params, self._levels)
        arguments = params.arguments or {}
        offered = self._service.offer.tools.get(params.name)
        try:
            async with reporting(ctx) as listener:
                answer = await self._service.call(caller, params.name, arguments, listener=listener, client=client)
        except JackfieldError as error:
            if (asked := client.unanswered(error)) is not None:
                return asked
            if error.code is Code.TOOL_NOT_FOUND and offered is None:
                names = [tool.name for tool in self._listing(caller.principal).tools]
                hint = not_found("tool", params.name[:300], names).hint
                raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:300]}. {hint}".strip()) from None
            return error_result(error)
        return await tool_result(
            answer, partial(self.keep, caller), None if offered is None else offered.tool, arguments
        )

    async def _call_platform(self, caller: Caller, params: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await self._platform.call(caller, params.name, params.arguments or {})
        except JackfieldError as error:
            return error_result(error)
        return await tool_result(answer, partial(self.keep, caller))

    async def _search(self, caller: Caller, params: CallToolRequestParams, search: ToolSearch) -> CallToolResult:
        try:
            answer = await self._recorded(caller, params, search.search(params.arguments or {}))
        except JackfieldError as error:
            return error_result(error)
        return await tool_result(answer, partial(self.keep, caller))

    async def _refuse(self, caller: Caller, params: CallToolRequestParams, error: JackfieldError) -> CallToolResult:
        """The answer to a call that names no tool, with its audit line."""

        async def refusal() -> Answer:
            raise error

        try:
            return await tool_result(await self._recorded(caller, params, refusal()), partial(self.keep, caller))
        except JackfieldError as told:
            return error_result(told)

    async def _recorded(self, caller: Caller, params: CallToolRequestParams, work: Awaitable[Answer]) -> Answer:
        call = ServedCall(caller, params.name, params.arguments or {}, secrets.token_hex(8), category=CATEGORY)
        return await self._service.recorded(call, work)

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """For the headers that repeat arguments (Mcp-Param): a tool's schema is the same for everyone."""
        return self._listing(LOCAL).schemas.get(name)

    def _listing(self, principal: str) -> _Listing:
        """What this principal may see: everyone the connectors' tools, the local one also those of the platform."""
        own = self._platform.offered(principal)
        held = self._held.get(bool(own))
        if held is None or held.offer is not self._service.offer:
            held = _listing(self._service.offer, own, self._service.app.settings["serve.tool_search"])
            self._held[bool(own)] = held
        return held


@dataclass(frozen=True, slots=True)
class _Listing:
    """The entries of one offer, made once."""

    offer: Offer
    tools: tuple[McpTool, ...]
    schemas: Mapping[str, Mapping[str, Any]]
    search: ToolSearch


def _listing(offer: Offer, own: Mapping[str, PlatformTool], search: str) -> _Listing:
    entries = [entry_of(offered) for offered in offer.tools.values()]
    tools = (*map(McpTool.model_validate, entries), *map(_platform_entry, own.values()))
    return _Listing(offer, tools, {tool.name: tool.input_schema for tool in tools}, ToolSearch(tools, search))


def _platform_entry(tool: PlatformTool) -> McpTool:
    return McpTool.model_validate(
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "annotations": {"title": tool.title, **tool.annotations},
        }
    )


def entry_of(offered: OfferedTool) -> dict[str, Any]:
    """The entry of `tools/list`. A tool whose answer may have pages takes the cursor of an earlier answer."""
    entry = {**as_mcp(offered.tool), "name": offered.name}
    entry["inputSchema"] = {**entry["inputSchema"], "type": "object"}  # without it a client refuses the whole list
    if "outputSchema" in entry:
        entry["outputSchema"] = _answerable(entry["outputSchema"], offered.tool)
    if pages(offered.tool):
        schema = entry["inputSchema"]
        entry["inputSchema"] = {
            **schema, "properties": {**(schema.get("properties") or {}), CURSOR: CURSOR_SCHEMA}
        }  # fmt: skip
    return entry


def _answerable(schema: Mapping[str, Any], tool: Tool) -> dict[str, Any]:
    """What holds for every answer of the tool, also for one that was cut, and for a bare value under `result`."""
    if tool.category == "READ" and "rows" in (schema.get("properties") or {}):
        return {**{name: value for name, value in schema.items() if name != "additionalProperties"}, "type": "object"}
    if schema.get("type", "object") != "object":
        schema = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    # A client that finds an answer unfit hides it: of what has happened an agent has to know in any case.
    return {"type": "object", "anyOf": [schema, CUT_SCHEMA if tool.category == "READ" else {"type": "object"}]}
