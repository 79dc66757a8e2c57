"""tools/list and tools/call over what is offered at the moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from ...engine.kept_values import ValueStore
from ...graphs.errors import Code, JackfieldError
from ...nodes.blocking import in_thread
from ..platform.serving import Platform
from ..platform.tool import PlatformTool
from ..served import Caller
from ..service import CURSOR, Service, pages
from ..signatures import as_mcp
from .answers import Keep, error_result, tool_result
from .asking import client_of
from .callers import Context, caller_of
from .fitting import CUT_SCHEMA
from .listing import page_of
from .log_levels import LogLevels
from .progress import reporting

CURSOR_SCHEMA: Final = {"type": "string", "description": "next_cursor of an earlier answer, to go on from there"}


class Tools:
    """The handlers of one server."""

    def __init__(self, service: Service, levels: LogLevels, values: ValueStore) -> None:
        self._service = service
        self._levels = levels
        self._values = values
        self._platform = Platform(service)
        self._held = _listing(service.offer)

    async def list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        offered = self._platform.offered(caller_of(ctx).principal).values()
        listed = (*self._listing.tools, *map(_platform_entry, offered))
        entries, cursor = page_of(listed, params, lambda tool: tool.name)
        return ListToolsResult(tools=entries, next_cursor=cursor)

    async def call(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        """An error that the agent can mend is a result; an unknown name is the protocol's -32602."""
        caller = caller_of(ctx)
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
                raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}. {error.hint}".strip()) from None
            return error_result(error)
        return await tool_result(answer, self._keep(caller), None if offered is None else offered.tool, arguments)

    async def _call_platform(self, caller: Caller, params: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await self._platform.call(caller, params.name, params.arguments or {})
        except JackfieldError as error:
            return error_result(error)
        return await tool_result(answer, self._keep(caller))

    def _keep(self, caller: Caller) -> Keep:
        return lambda text: in_thread(lambda: self._values.keep(text, caller.principal))

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        own = self._platform.offered().get(name)
        return self._listing.schemas.get(name) if own is None else own.input_schema

    @property
    def _listing(self) -> _Listing:
        if self._held.offer is not self._service.offer:
            self._held = _listing(self._service.offer)
        return self._held


@dataclass(frozen=True, slots=True)
class _Listing:
    """The entries of one offer, made once."""

    offer: Offer
    tools: tuple[McpTool, ...]
    schemas: Mapping[str, Mapping[str, Any]]


def _listing(offer: Offer) -> _Listing:
    entries = [entry_of(offered) for offered in offer.tools.values()]
    tools = tuple(McpTool.model_validate(entry) for entry in entries)
    return _Listing(offer, tools, {entry["name"]: entry["inputSchema"] for entry in entries})


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
    if "outputSchema" in entry:
        entry["outputSchema"] = _answerable(entry["outputSchema"], offered.tool)
    if pages(offered.tool):
        schema = entry["inputSchema"]
        entry["inputSchema"] = {
            **schema, "properties": {**(schema.get("properties") or {}), CURSOR: CURSOR_SCHEMA}
        }  # fmt: skip
    return entry


def _answerable(schema: Mapping[str, Any], tool: Tool) -> dict[str, Any]:
    """What holds for every answer of the tool, also for one that was cut."""
    if tool.category == "READ" and "rows" in (schema.get("properties") or {}):
        return {name: value for name, value in schema.items() if name != "additionalProperties"}
    return {"type": "object", "anyOf": [schema, CUT_SCHEMA]}
