"""`output`: what a graph gives back. Its inputs are the answer."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from ..graphs.model import Json
from .base import Context, Inputs, OpenConfiguration, Outputs, Port, Ports, node


class OutputConfiguration(OpenConfiguration):
    """`schema` describes the answer; values are passed on as they are."""

    promised: Mapping[str, Json] = Field(
        default_factory=dict, alias="schema", description="JSON Schema of the answer, an object with a property a port"
    )


def _ports(configuration: Mapping[str, Json]) -> Ports:
    schema = configuration.get("schema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return Ports(open_inputs=True, open_outputs=True)
    required = schema.get("required", ()) if isinstance(schema, Mapping) else ()
    inputs = [
        Port(name, expected, str(expected.get("description", "")), required=name in required)
        for name, expected in properties.items()
        if isinstance(expected, Mapping)
    ]
    return Ports(tuple(inputs), tuple(inputs), open_inputs=True, open_outputs=True)


@node(
    "output",
    description="Gives its inputs to the caller. A graph run as a component ends at its first output.",
    configuration=OutputConfiguration,
    open_inputs=True,
    open_outputs=True,
    ports_of=_ports,
)
async def output_node(config: OutputConfiguration, inputs: Inputs, context: Context) -> Outputs:
    return dict(inputs)
