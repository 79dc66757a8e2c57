"""The MCP server: the low-level SDK server over the handlers of each list."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

from mcp.server.lowlevel import Server

from ..service import Service
from .connector_shelf import Connectors
from .documents import Documents
from .prompts import Prompts
from .resources import Resources
from .tools import Tools

INSTRUCTIONS: Final = (
    "Tools of connectors, each a query over live sources. Answers come in pages: `truncated` says that there is more,"
    " `next_cursor` goes on, the resource link holds the whole. An error says what was expected and what would fix it."
)


def build(service: Service) -> Server[Any]:
    """A server of what `service` offers, at whatever moment it is asked."""
    tools = Tools(service)
    prompts = Prompts(service)
    resources = Resources((Documents(), Connectors(service)))
    return Server(
        "jackfield",
        version=version("jackfield"),
        title="Jackfield",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=tools.input_schema,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
        on_list_prompts=prompts.list,
        on_get_prompt=prompts.get,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.read,
    )
