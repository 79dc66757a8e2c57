"""`invoke`: runs a sub-graph of the running graph as one step."""

from __future__ import annotations

from pydantic import Field

from ..graphs.errors import Code, JackfieldError
from .base import Context, Inputs, OpenConfiguration, Outputs, Port, node

BOARD = "$board"


class InvokeConfiguration(OpenConfiguration):
    """Further fields are values of the sub-graph's inputs. What it still lacks is asked of the caller's own inputs."""

    board: str = Field("", alias="$board", description="The sub-graph to run, '#id'; it may also come by wire")


@node(
    "invoke",
    description="Runs a sub-graph: its input nodes get this node's inputs, and its first output is this node's.",
    configuration=InvokeConfiguration,
    inputs=(Port(BOARD, {"type": "string"}, "The sub-graph to run, '#id'", required=False),),
    open_inputs=True,
    open_outputs=True,
)
async def invoke_node(config: InvokeConfiguration, inputs: Inputs, context: Context) -> Outputs:
    if not config.board:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Node '{context.node}' (invoke) names no graph to run.",
            "Set its configuration '$board' to a sub-graph, such as '#lookup'.",
            {"node": context.node, "field": BOARD},
        )
    graph = context.subgraph(config.board)
    return await context.invoke(graph, inputs)
