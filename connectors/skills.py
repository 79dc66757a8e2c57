"""A skill → its graph, and its prompt as an agent is given it.

Steps become `tool` nodes; a `fill` node before each builds its arguments from the skill's inputs and the results of
earlier steps. Steps that do not need each other's results run side by side, unless one of them writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Edge, Graph, Node
from ..nodes.base import ARGUMENTS, ROWS
from ..nodes.skill import SkillTool, rendered
from .model import Skill, Step, Tool
from .native.names import near

REFERENCE: Final = re.compile(r"\{\{\s*([^{}\s]+)\s*\}\}")
RESPONSE: Final = "response"


def prompt_of(skill: Skill, tools: Mapping[str, Tool], arguments: Mapping[str, Any]) -> str:
    """The prompt for MCP's prompts/get. Raises INVALID_SKILL."""
    return rendered(skill.prompt or skill.description, described(skill, tools), arguments)


def described(skill: Skill, tools: Mapping[str, Tool]) -> tuple[SkillTool, ...]:
    """The skill's tools, each with its description and arguments. Raises INVALID_SKILL for one that is not there."""
    return tuple(
        SkillTool(id=tool.id, description=tool.description, parameters=tool.input_schema)
        for tool in (_tool(skill, name, tools) for name in skill.tool_ids)
    )


def compile_skill(skill: Skill, tools: Mapping[str, Tool]) -> Graph:
    """The graph that running the skill runs. Raises INVALID_SKILL."""
    nodes = [Node("input", "input", {"schema": dict(skill.input_schema)})]
    edges: list[Edge] = []
    if skill.steps:
        _steps(skill, tools, nodes, edges)
    else:
        known = [tool.model_dump(mode="json") for tool in described(skill, tools)]
        nodes.append(Node("skill", "skill", {"prompt": skill.prompt, "tools": known}))
        edges += [Edge("input", "skill", ARGUMENTS, ARGUMENTS), Edge("skill", "output", "*")]
        nodes.append(Node("output", "output"))
    return Graph(tuple(nodes), tuple(edges), title=skill.name, description=skill.description)


def _steps(skill: Skill, tools: Mapping[str, Tool], nodes: list[Node], edges: list[Edge]) -> None:
    done: dict[str, Tool] = {}
    previous = ""
    for step in skill.steps:
        if step.alias in done or step.alias in ("input", "output"):
            raise _invalid(
                skill, f"its steps use the alias '{step.alias}' twice, or for input or output", "Rename one."
            )
        tool = _tool(skill, step.tool, tools)
        fill = f"{step.alias}_arguments"
        wires: dict[tuple[str, str], str] = {}
        template = _rewritten(dict(step.params), skill, step, done, wires)
        nodes.append(Node(fill, "fill", {"template": template}))
        nodes.append(Node(step.alias, "tool", {"tool": step.tool}))
        edges.append(Edge("input", fill, ARGUMENTS, ARGUMENTS))
        edges += [Edge(alias, fill, out, port) for (alias, out), port in wires.items()]
        if previous and previous not in {alias for alias, _ in wires} and (tool.writes or done[previous].writes):
            edges.append(Edge(previous, fill))
        edges.append(Edge(fill, step.alias, "object", ARGUMENTS))
        done[step.alias] = tool
        previous = step.alias
    ports = output_ports(done[previous])
    nodes.append(Node("output", "output", {"schema": {"type": "object", "properties": {port: {} for port in ports}}}))
    edges += [Edge(previous, "output", port, port) for port in ports]


def _rewritten(
    value: Any, skill: Skill, step: Step, done: Mapping[str, Tool], wires: dict[tuple[str, str], str]
) -> Any:
    """The step's params in `fill`'s own references; the wires that they need are added to `wires`."""
    if isinstance(value, Mapping):
        return {name: _rewritten(item, skill, step, done, wires) for name, item in value.items()}
    if isinstance(value, list):
        return [_rewritten(item, skill, step, done, wires) for item in value]
    if not isinstance(value, str):
        return value

    def reference(found: re.Match[str]) -> str:
        match found[1].split("."):
            case ["skill", "input", name, *rest]:
                if name not in skill.input_schema.get("properties", {}):
                    known = near(name, skill.input_schema.get("properties", {}), "parameters")
                    raise _invalid(
                        skill, f"step '{step.alias}' uses its input '{name}', which it does not declare", known
                    )
                return "{{" + ".".join([ARGUMENTS, name, *rest]) + "}}"
            case ["steps", alias, *path] if path:
                if alias not in done:
                    raise _invalid(
                        skill,
                        f"step '{step.alias}' uses the result of '{alias}', which is no earlier step",
                        near(alias, done, "earlier steps"),
                    )
                out, rest = _result(done[alias], path)
                port = wires.setdefault((alias, out), f"{alias}_{out}")
                return "{{" + ".".join([port, *rest]) + "}}"
        raise _invalid(
            skill,
            f"step '{step.alias}' holds '{found[0]}'",
            "A reference is {{skill.input.NAME}} or {{steps.ALIAS.FIELD}}.",
        )

    return REFERENCE.sub(reference, value)


def _result(tool: Tool, path: list[str]) -> tuple[str, list[str]]:
    """(output port, path within it) of a reference: an output by name, else a field of the first row or response."""
    ports = output_ports(tool)
    if path[0] in ports:
        return path[0], path[1:]
    if ROWS in ports:
        return ROWS, ["0", *path]
    return (RESPONSE, ["body", *path]) if RESPONSE in ports else (ports[0] if ports else ROWS, path)


def output_ports(tool: Tool) -> list[str]:
    """The outputs of a tool's graph, as its output nodes declare them. Raises what compiling the tool raises."""
    found: dict[str, None] = {}
    for node in tool.graph.nodes:
        schema = node.configuration.get("schema")
        if node.type == "output" and isinstance(schema, Mapping):
            given = schema.get("properties")
            found |= dict.fromkeys(given if isinstance(given, Mapping) else ())
        elif node.type == "output":
            found |= dict.fromkeys(edge.in_ for edge in tool.graph.edges if edge.to == node.id and edge.in_)
    return list(found)


def problems(skill: Skill, tools: Mapping[str, Tool]) -> Iterable[JackfieldError]:
    """What keeps a skill from running: tools that are not there, each once, and else its steps' wiring."""
    missing = False
    for name in dict.fromkeys([*skill.tool_ids, *(step.tool for step in skill.steps)]):
        try:
            _tool(skill, name, tools)
        except JackfieldError as error:
            missing = True
            yield error
    if not missing:
        try:
            skill.compile()
        except JackfieldError as error:
            yield error


def _tool(skill: Skill, id: str, tools: Mapping[str, Tool]) -> Tool:
    tool = tools.get(id)
    if tool is None:
        raise _invalid(skill, f"it names the tool '{id}', and the connector has no such tool", near(id, tools, "tools"))
    return tool


def _invalid(skill: Skill, what: str, hint: str) -> JackfieldError:
    return JackfieldError(Code.INVALID_SKILL, f"Skill '{skill.id}' cannot run: {what}.", hint, {"skill": skill.id})
