"""`progress`: says how far the call has come."""

from __future__ import annotations

from pydantic import Field

from .base import Context, Inputs, OpenConfiguration, Outputs, node


class ProgressConfiguration(OpenConfiguration):
    done: float = Field(ge=0, description="How much is done")
    total: float | None = Field(None, gt=0, description="Of how much, where that is known")
    message: str = ""


@node(
    "progress",
    description="Reports how far the call has come, and passes its inputs on.",
    configuration=ProgressConfiguration,
    open_inputs=True,
    open_outputs=True,
)
async def progress_node(config: ProgressConfiguration, inputs: Inputs, context: Context) -> Outputs:
    context.progress(config.done, config.total, config.message)
    return dict(inputs)
