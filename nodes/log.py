"""`log`: a message to the client while the call goes on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..graphs.model import Json
from .base import ANYTHING, Context, Inputs, OpenConfiguration, Outputs, Port, node


class LogConfiguration(OpenConfiguration):
    level: Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] = "info"
    data: Json = Field(None, description="What is said: text, or any JSON")
    logger: str = Field("", description="Who says it; the connector when empty")


@node(
    "log",
    description="Tells the client something, and passes its other inputs on. Nothing happens where nobody listens.",
    configuration=LogConfiguration,
    inputs=(Port("data", ANYTHING, "What is said", required=False),),
    outputs=(Port("data", ANYTHING, "What was said"),),
    open_inputs=True,
    open_outputs=True,
)
async def log_node(config: LogConfiguration, inputs: Inputs, context: Context) -> Outputs:
    if context.client is not None and config.data is not None:
        await context.client.log(config.level, config.data, config.logger or context.connector)
    return {**inputs, "data": config.data}
