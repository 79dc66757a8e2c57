"""`fail`: ends the call with an error of the author's own."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Json
from .base import ANYTHING, Context, Inputs, OpenConfiguration, Outputs, Port, Ports, node
from .template import fill, places


class FailConfiguration(OpenConfiguration):
    """Further fields are values of places."""

    message: str = Field(description="What went wrong, with places such as {{id}}")
    hint: str = Field("", description="What would fix it")
    code: Code = Code.SOURCE_ERROR


def _ports(configuration: Mapping[str, Json]) -> Ports:
    texts = (configuration.get("message"), configuration.get("hint"))
    found = [place for text in texts if isinstance(text, str) for place in places(text)]
    names = dict.fromkeys(place if place in configuration else place.partition(".")[0] for place in found)
    return Ports(tuple(Port(name, ANYTHING, f"The value of {{{{{name}}}}}") for name in names), open_inputs=True)


@node(
    "fail",
    description="Ends the call with an error; its `$error` edges may handle it.",
    configuration=FailConfiguration,
    open_inputs=True,
    ports_of=_ports,
)
async def fail_node(config: FailConfiguration, inputs: Inputs, context: Context) -> Outputs:
    raise JackfieldError(config.code, fill(config.message, inputs), fill(config.hint, inputs), {"node": context.node})
