"""`wait`: holds its inputs back for a while, inside the deadline of the call."""

from __future__ import annotations

import anyio
from pydantic import Field

from .base import Context, Inputs, OpenConfiguration, Outputs, node


class WaitConfiguration(OpenConfiguration):
    seconds: float = Field(ge=0, le=3600)


@node(
    "wait",
    description="Passes its inputs on after some seconds.",
    configuration=WaitConfiguration,
    open_inputs=True,
    open_outputs=True,
)
async def wait_node(config: WaitConfiguration, inputs: Inputs, context: Context) -> Outputs:
    await anyio.sleep(config.seconds)
    return dict(inputs)
