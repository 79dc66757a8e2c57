"""Messages of a prompt and contents of a resource → their graphs: an input, a `content` node, and an output."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Edge, Graph, Json, Node
from ..nodes.base import ARGUMENTS, ROWS
from ..nodes.blocks import names_in
from ..nodes.content import CONTENTS, MESSAGES
from ..nodes.template import PLACE
from .model import VARIABLE, Tool
from .native import document as fields
from .native.names import near
from .skills import output_ports

ANSWER: Final = "answer"  # the port of what a resource's tool gave
GIVEN: Final = "arguments"  # the port of all arguments: one that is null would never arrive by itself


def messages_graph(skill: fields.Skill, schema: Mapping[str, Json]) -> Graph:
    """The graph of a skill that is written as messages."""
    blocks = [block.model_dump(mode="json", exclude_defaults=True) for block in skill.messages]
    return _graph(skill.name, skill.description, schema, _referring(blocks), MESSAGES)


def resource_graph(resource: fields.Resource, tools: Mapping[str, Tool]) -> Graph:
    """The graph of a resource whose contents are written in the file, or are a tool's answer.

    Raises CONFIG_INVALID for a tool that is not there.
    """
    block: dict[str, Json] = {"type": "resource", "uri": VARIABLE.sub(r"{{\1}}", resource.address)}
    tool = None
    if resource.tool:
        tool = _tool(resource, tools)
        block = _referring(block) | {
            "mime_type": resource.mime_type or "application/json",
            "text": "{{" + ANSWER + "}}",
        }
    else:
        names = ("text", "blob", "path", "mime_type")
        written = {name: getattr(resource, name) for name in names if getattr(resource, name)}
        block = _referring(block | written)
    schema = variables_schema(resource, tools)
    return _graph(resource.name, resource.description, schema, [block], CONTENTS, tool)


def variables_schema(resource: fields.Resource, tools: Mapping[str, Tool]) -> dict[str, Any]:
    """The JSON Schema of what a URI has in the places of its template: text, or what the resource's tool takes."""
    tool = tools.get(resource.tool)
    taken = {} if tool is None else tool.input_schema.get("properties") or {}
    properties = {name: taken.get(name, {"type": "string"}) for name in resource.variables}
    required = {"required": list(properties)} if properties else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def unknown_places(texts: Iterable[str], known: Iterable[str]) -> list[str]:
    """The places of `texts` that none of the `known` names fills."""
    return sorted({place.partition(".")[0] for place in names_in(iter(texts))} - set(known))


def _tool(resource: fields.Resource, tools: Mapping[str, Tool]) -> Tool:
    if resource.tool not in tools:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Resource '{resource.address}' is the answer of the tool '{resource.tool}', and there is no such tool.",
            near(resource.tool, tools, "tools"),
            {"resource": resource.address, "available": sorted(tools)},
        )
    return tools[resource.tool]


def _referring(value: Any) -> Any:
    """`value` whose places refer to the port of all arguments."""
    if isinstance(value, str):
        return PLACE.sub(lambda found: "{{" + f"{GIVEN}.{found[1]}" + "}}", value)
    if isinstance(value, Mapping):
        return {name: _referring(held) for name, held in value.items()}
    return [_referring(held) for held in value] if isinstance(value, list) else value


def _graph(
    title: str,
    description: str,
    schema: Mapping[str, Json],
    blocks: list[dict[str, Json]],
    port: str,
    tool: Tool | None = None,
) -> Graph:
    nodes = [
        Node("input", "input", {"schema": dict(schema)}),
        Node("content", "content", {"blocks": blocks}),
        Node("output", "output", {"schema": {"type": "object", "properties": {port: {}}}}),
    ]
    edges = [Edge("input", "content", ARGUMENTS, GIVEN), Edge("content", "output", port, port)]
    if tool is not None:
        ports = output_ports(tool)
        out = ROWS if ROWS in ports or not ports else ports[0]
        nodes.insert(1, Node("tool", "tool", {"tool": tool.id}))
        edges += [Edge("input", "tool", ARGUMENTS, ARGUMENTS), Edge("tool", "content", out, ANSWER)]
    return Graph(tuple(nodes), tuple(edges), title=title, description=description)
