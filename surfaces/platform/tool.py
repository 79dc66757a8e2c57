"""A platform tool: what an agent calls to build connectors. Free of transport: a server names it, calls it, answers.

`PlatformTool.call` checks the arguments by the tool's own schema, as of any tool, and gives JSON or raises.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ...graphs.model import Json
from ...nodes.arguments import coerce
from ..app import LOCAL
from .bench import Bench

Run = Callable[[Bench, Mapping[str, Any], str], Awaitable[dict[str, Json]]]
OURS: Final = "jackfield_"


@dataclass(frozen=True, slots=True)
class PlatformTool:
    """`same_as` is the name that the spec gives this tool, where this is the one under our own prefix.

    `run` gets the bench, the checked arguments (None for each that was not given) and the principal.
    """

    name: str
    title: str
    description: str
    input_schema: Mapping[str, Json]
    output_schema: Mapping[str, Json]
    annotations: Mapping[str, bool]
    run: Run = field(repr=False, compare=False)
    same_as: str = ""

    async def call(self, bench: Bench, arguments: Mapping[str, Any], principal: str = LOCAL) -> dict[str, Json]:
        """The answer as JSON. Raises JackfieldError, and it holds no secret."""
        return await self.run(bench, coerce(self.input_schema, arguments), principal)

    def under_our_name(self) -> PlatformTool:
        """The same tool as `jackfield_…`, in snake case and without the spec's prefix."""
        plain = self.name.removeprefix("elliot_").replace("-", "_")
        return replace(self, name=f"{OURS}{plain}", same_as=self.name)


def hints(
    *, reads: bool = False, destroys: bool = False, repeats: bool = True, outside: bool = False
) -> dict[str, bool]:
    """MCP's four hints."""
    return {
        "readOnlyHint": reads,
        "destructiveHint": destroys,
        "idempotentHint": repeats,
        "openWorldHint": outside,
    }


def object_of(properties: Mapping[str, Json], required: tuple[str, ...] = ()) -> dict[str, Json]:
    """The schema of an object with these properties, and no others."""
    schema: dict[str, Json] = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def answer_of(properties: Mapping[str, Json]) -> dict[str, Json]:
    """The schema of an answer that has all these properties."""
    return {"type": "object", "properties": dict(properties), "required": list(properties)}
