"""`tool`: calls a tool of this or another connector, so that graphs compose connectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from .base import ANYTHING, ARGUMENTS, OBJECT, Context, Inputs, OpenConfiguration, Outputs, Port, node


class ToolConfiguration(OpenConfiguration):
    """Further fields are arguments that stay the same for every call."""

    tool: str = Field(description="Id of a tool of this connector, or connector/id")


# The effect is that of the nodes of the tool's own graph, which runs inside this node with their retries.
@node(
    "tool",
    description="Calls another tool: its arguments are the inputs, its graph's outputs are the outputs.",
    configuration=ToolConfiguration,
    inputs=(Port(ARGUMENTS, OBJECT, "Arguments as one object; a wired port of its own comes first", required=False),),
    outputs=(Port("rows", ANYTHING, "The rows of a tool that gives rows"),),
    open_inputs=True,
    open_outputs=True,
)
async def tool_node(config: ToolConfiguration, inputs: Inputs, context: Context) -> Outputs:
    return await context.call_tool(config.tool, arguments_of(inputs))


def arguments_of(inputs: Inputs) -> dict[str, Any]:
    """What the tool is called with: absent arguments stay absent, and a port's own value wins over `$arguments`."""
    given = inputs.get(ARGUMENTS)
    together = {**(given if isinstance(given, Mapping) else {}), **inputs}
    return {name: value for name, value in together.items() if value is not None and not name.startswith("$")}
