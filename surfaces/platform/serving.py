"""Platform tools while they are served: for the local operator alone, and recorded as any other call."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any, Final

from ...graphs.errors import JackfieldError
from ..faults import not_found
from ..served import LOCAL, Answer, Caller, ServedCall
from ..service import Service
from . import PLATFORM_TOOLS
from .bench import Bench
from .tool import PlatformTool

CATEGORY: Final = "PLATFORM"


class Platform:
    """The platform tools of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._bench = Bench(service.app, service.refresh)
        self._tools = {tool.name: tool for tool in PLATFORM_TOOLS}

    def offered(self, principal: str = LOCAL) -> Mapping[str, PlatformTool]:
        """The tools of this principal by name: none but for the local operator, whom no policy need trust."""
        return self._tools if principal == LOCAL else {}

    async def call(self, caller: Caller, name: str, arguments: Mapping[str, Any]) -> Answer:
        """Raises TOOL_NOT_FOUND, AUDIT_UNAVAILABLE for a tool that writes, and what the tool does."""
        tool = self.offered(caller.principal).get(name)
        if tool is None:
            raise not_found("tool", name, self._service.offer.tools)
        properties: Mapping[str, Any] = tool.input_schema["properties"]
        sensitive = frozenset(name for name, schema in properties.items() if schema.get("x-sensitive"))
        call = ServedCall(
            caller, name, arguments, secrets.token_hex(8), category=CATEGORY, sensitive=sensitive, tool=name
        )
        writes = not tool.annotations["readOnlyHint"]
        return await self._service.recorded(call, self._answer(tool, caller, arguments), writes=writes)

    async def _answer(self, tool: PlatformTool, caller: Caller, arguments: Mapping[str, Any]) -> Answer:
        try:
            body = await tool.call(self._bench, arguments, caller.principal)
        except JackfieldError as error:
            raise self._service.app.redacted(error) from error.__cause__
        return Answer.of(body)
