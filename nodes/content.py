"""`content`: blocks of MCP content, for the answer of a tool or the messages of a prompt."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, TypeAdapter, ValidationError

from ..graphs.model import Json
from .base import ANYTHING, Context, Effect, Inputs, OpenConfiguration, Outputs, Port, Ports, node
from .blocking import in_thread
from .blocks import AnyBlock, names_in

CONTENT = "content"  # an output of this name answers as MCP content
MESSAGES = "messages"  # and one of this name as messages of a prompt
CONTENTS = "contents"  # and this as what a resource holds
BLOCKS = Port("blocks", {"type": "array"}, "Blocks that were made elsewhere", required=False)
OUTPUTS = (
    Port(CONTENT, {"type": "array", "items": {"type": "object"}}, "The blocks as MCP has them"),
    Port(MESSAGES, {"type": "array", "items": {"type": "object"}}, "Each block as a message of its role"),
    Port(CONTENTS, {"type": "array", "items": {"type": "object"}}, "What the resources among them hold"),
)


class ContentConfiguration(OpenConfiguration):
    """Further fields are values of places."""

    blocks: tuple[AnyBlock, ...] = Field(description="In the order they are given")


def _ports(configuration: Mapping[str, Json]) -> Ports:
    try:
        blocks = TypeAdapter(tuple[AnyBlock, ...]).validate_python(configuration.get("blocks", ()))
    except ValidationError:
        return Ports((BLOCKS,), OUTPUTS, open_inputs=True)  # the check of the configuration says why
    found = [place for block in blocks for place in names_in(block.texts())]
    names = dict.fromkeys(place if place in configuration else place.partition(".")[0] for place in found)
    ports = [Port(name, ANYTHING, f"The value of {{{{{name}}}}}") for name in names]
    return Ports((BLOCKS, *ports), OUTPUTS, open_inputs=True)


@node(
    "content",
    description="Makes MCP content: text, images, audio, resources and links, with its inputs in their places.",
    effect=Effect.READS,
    configuration=ContentConfiguration,
    inputs=(BLOCKS,),
    outputs=OUTPUTS,
    open_inputs=True,
    ports_of=_ports,
)
async def content_node(config: ContentConfiguration, inputs: Inputs, context: Context) -> Outputs:
    def made() -> list[dict[str, Json]]:
        return [block.wire(inputs, context) for block in config.blocks]

    blocks = await in_thread(made)
    messages = [{"role": one.role, "content": block} for one, block in zip(config.blocks, blocks, strict=True)]
    contents = [block["resource"] for block in blocks if block["type"] == "resource"]
    return {CONTENT: blocks, MESSAGES: messages, CONTENTS: contents}
