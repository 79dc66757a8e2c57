"""`sample`: a question to the model of the client that called."""

from __future__ import annotations

from pydantic import Field

from .asking import ask, key_of
from .base import ANYTHING, Context, Effect, Inputs, Outputs, Port, node
from .questions import ModelQuestion


class SampleConfiguration(ModelQuestion):
    key: str = Field("", description="Name of the question; the node's id when empty")


@node(
    "sample",
    description="Asks the client's own model, and gives what it said.",
    effect=Effect.ASKS,
    configuration=SampleConfiguration,
    inputs=(
        Port("prompt", {"type": "string"}, "What the model is asked", required=False),
        Port("messages", {"type": "array"}, "In place of prompt", required=False),
    ),
    outputs=(
        Port("text", {"type": "string"}, "The text of the answer"),
        Port("content", ANYTHING, "The answer as MCP content"),
        Port("model", {"type": "string"}, "The model that answered"),
        Port("stop_reason", {"type": "string"}, "Why it stopped"),
    ),
)
async def sample_node(config: SampleConfiguration, inputs: Inputs, context: Context) -> Outputs:
    key = key_of(context, config.key)
    result = await ask(context, [config.question(key)])
    return config.answer(result[key], context.node)
