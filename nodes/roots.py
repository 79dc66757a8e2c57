"""`roots`: the folders that the client opens to servers."""

from __future__ import annotations

from pydantic import Field

from .asking import ask, key_of
from .base import Context, Effect, Inputs, Outputs, Port, node
from .questions import RootsQuestion


class RootsConfiguration(RootsQuestion):
    key: str = Field("", description="Name of the question; the node's id when empty")


@node(
    "roots",
    description="Asks the client which folders it opens to servers.",
    effect=Effect.ASKS,
    configuration=RootsConfiguration,
    outputs=(
        Port("roots", {"type": "array", "items": {"type": "object"}}, "Each with its uri and perhaps a name"),
        Port("uris", {"type": "array", "items": {"type": "string"}}, "Their URIs alone"),
    ),
)
async def roots_node(config: RootsConfiguration, inputs: Inputs, context: Context) -> Outputs:
    key = key_of(context, config.key)
    result = await ask(context, [config.question(key)])
    return config.answer(result[key], context.node)
