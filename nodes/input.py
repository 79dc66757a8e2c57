"""`input`: where the arguments of a call enter a graph, checked by the node's schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from ..graphs.model import Json
from .arguments import coerce
from .base import ARGUMENTS, OBJECT, Context, Inputs, OpenConfiguration, Outputs, Port, Ports, node


class InputConfiguration(OpenConfiguration):
    """`schema` is an object schema. What it does not name is passed on unchecked.

    With `additionalProperties: false` it is refused instead.
    """

    expected: Mapping[str, Json] = Field(
        default_factory=dict,
        alias="schema",
        description="JSON Schema of the arguments",
    )


ALL: Final = Port(ARGUMENTS, OBJECT, "All arguments as one object; optional ones that were not given are null")


def _ports(configuration: Mapping[str, Json]) -> Ports:
    schema = configuration.get("schema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(schema, Mapping) or not isinstance(properties, Mapping):
        return Ports(outputs=(ALL,), open_inputs=True, open_outputs=True)
    outputs = [
        Port(name, expected, str(expected.get("description", "")))
        for name, expected in properties.items()
        if isinstance(expected, Mapping)
    ]
    return Ports(
        outputs=(*outputs, ALL), open_inputs=True, open_outputs=schema.get("additionalProperties") is not False
    )


@node(
    "input",
    description="Takes the arguments of a call, checks them by a schema, and gives each on a port of its name.",
    configuration=InputConfiguration,
    outputs=(ALL,),
    open_inputs=True,
    open_outputs=True,
    ports_of=_ports,
)
async def input_node(config: InputConfiguration, inputs: Inputs, context: Context) -> Outputs:
    schema = config.expected
    strict = schema.get("additionalProperties") is False
    arguments = coerce(schema, inputs, strict=strict)
    return {**arguments, ARGUMENTS: arguments}
