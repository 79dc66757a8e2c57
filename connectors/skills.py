"""A skill → its graph, and its prompt as an agent is given it.

Steps become `tool` nodes; a `fill` node before each builds its arguments from the skill's inputs and the results of
earlier steps. Steps that do not need each other's results run side by side, unless one of them writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Edge, Graph, Node
from ..graphs.pointers import escaped
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
    draft = _drafted(skill, tools)
    if draft.errors:
        raise draft.errors[0]
    return Graph(tuple(draft.nodes), tuple(draft.edges), title=skill.name, description=skill.description)


@dataclass
class _Draft:
    """A skill's graph under construction, and all that keeps it from running."""

    skill: Skill
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    errors: list[JackfieldError] = field(default_factory=list)
    done: dict[str, Tool] = field(default_factory=dict)  # by alias: the steps so far

    def fault(self, pointer: str, what: str, hint: str) -> None:
        self.errors.append(_invalid(self.skill, what, hint, pointer))


def _drafted(skill: Skill, tools: Mapping[str, Tool]) -> _Draft:
    draft = _Draft(skill, [Node("input", "input", {"schema": dict(skill.input_schema)})])
    if skill.steps:
        _steps(draft, tools)
        return draft
    known = [tool.model_dump(mode="json") for tool in described(skill, tools)]
    draft.nodes += [Node("skill", "skill", {"prompt": skill.prompt, "tools": known}), Node("output", "output")]
    draft.edges += [Edge("input", "skill", ARGUMENTS, ARGUMENTS), Edge("skill", "output", "*")]
    return draft


def _steps(draft: _Draft, tools: Mapping[str, Tool]) -> None:
    skill, done = draft.skill, draft.done
    previous = ""
    for index, step in enumerate(skill.steps):
        place = f"/steps/{index}"
        if step.alias in done or step.alias in ("input", "output"):
            what = f"its steps use the alias '{step.alias}' twice, or for input or output"
            draft.fault(f"{place}/alias", what, "Rename one.")
            return
        tool = _tool(skill, step.tool, tools, f"{place}/tool_id")
        _arguments(draft, step, tool, place)
        fill = f"{step.alias}_arguments"
        wiring = _Wiring()
        template = _rewritten(dict(step.params), draft, step, f"{place}/params", wiring)
        configuration = {"template": template}
        if wiring.needed:
            configuration |= {"needed": wiring.needed, "owner": f"Step '{step.alias}' of skill '{skill.id}'"}
        draft.nodes += [Node(fill, "fill", configuration), Node(step.alias, "tool", {"tool": step.tool})]
        draft.edges.append(Edge("input", fill, ARGUMENTS, ARGUMENTS))
        draft.edges += [Edge(alias, fill, out, port) for (alias, out), port in wiring.ports.items()]
        waited = {alias for alias, _ in wiring.ports}
        if previous and previous not in waited and (tool.writes or done[previous].writes):
            # A value, because `fill` waits for values: an edge without ports would not hold the step back.
            ports = sorted(output_ports(done[previous]), key=lambda port: port == ROWS)
            draft.edges.append(
                Edge(previous, fill, ports[0], f"{previous}_{ports[0]}") if ports else Edge(previous, fill)
            )
        draft.edges.append(Edge(fill, step.alias, "object", ARGUMENTS))
        done[step.alias] = tool
        previous = step.alias
    ports = output_ports(done[previous])
    schema = {"type": "object", "properties": {port: {} for port in ports}}
    draft.nodes.append(Node("output", "output", {"schema": schema}))
    draft.edges += [Edge(previous, "output", port, port) for port in ports]


def _arguments(draft: _Draft, step: Step, tool: Tool, place: str) -> None:
    """A step gives its tool what the tool takes: no other argument, and each that it requires."""
    known = tool.input_schema.get("properties") or {}
    if tool.input_schema.get("additionalProperties") is False:
        for name in step.params:
            if name not in known:
                what = f"step '{step.alias}' gives '{name}', which is no argument of '{tool.id}'"
                draft.fault(f"{place}/params/{escaped(name)}", what, near(name, known, "arguments"))
    for name in tool.input_schema.get("required") or ():
        if name not in step.params:
            what = f"step '{step.alias}' does not give '{name}', which '{tool.id}' requires"
            draft.fault(f"{place}/params", what, f'Add "{name}" to its params.')


@dataclass
class _Wiring:
    """What a step's `fill` node reads of earlier steps.

    `ports` are by (alias, output); `needed` are the references that must find something, as the author wrote them.
    """

    ports: dict[tuple[str, str], str] = field(default_factory=dict)
    needed: dict[str, str] = field(default_factory=dict)


def _rewritten(value: Any, draft: _Draft, step: Step, place: str, wiring: _Wiring) -> Any:
    """The step's params in `fill`'s own references; what they read is added to `wiring`."""
    if isinstance(value, Mapping):
        return {name: _rewritten(v, draft, step, f"{place}/{escaped(name)}", wiring) for name, v in value.items()}
    if isinstance(value, list):
        return [_rewritten(item, draft, step, f"{place}/{at}", wiring) for at, item in enumerate(value)]
    if not isinstance(value, str):
        return value

    def reference(found: re.Match[str]) -> str:
        match found[1].split("."):
            case ["skill", "input", name, *rest]:
                known = draft.skill.input_schema.get("properties", {})
                if name not in known:
                    what = f"step '{step.alias}' uses its input '{name}', which it does not declare"
                    draft.fault(place, what, near(name, known, "parameters"))
                return "{{" + ".".join([ARGUMENTS, name, *rest]) + "}}"
            case ["steps", alias, *path] if path:
                if alias not in draft.done:
                    what = f"step '{step.alias}' uses the result of '{alias}', which is no earlier step"
                    draft.fault(place, what, near(alias, draft.done, "earlier steps"))
                    return found[0]
                tool = draft.done[alias]
                out, rest = _result(tool, path)
                if problem := _finds_nothing(tool, out, rest, path):
                    what = f"step '{step.alias}' uses {found[0]}, and {problem[0]}"
                    draft.fault(place, what, problem[1])
                port = wiring.ports.setdefault((alias, out), f"{alias}_{out}")
                wiring.needed[".".join([port, *rest])] = found[0]
                return "{{" + ".".join([port, *rest]) + "}}"
        what = f"step '{step.alias}' holds '{found[0]}'"
        draft.fault(place, what, "A reference is {{skill.input.NAME}} or {{steps.ALIAS.FIELD}}.")
        return found[0]

    return REFERENCE.sub(reference, value)


def _result(tool: Tool, path: list[str]) -> tuple[str, list[str]]:
    """(output port, path within it) of a reference: an output by name, else a field of the first row or response."""
    ports = output_ports(tool)
    if path[0] in ports:
        return path[0], path[1:]
    if ROWS in ports:
        return ROWS, ["0", *path]
    return (RESPONSE, ["body", *path]) if RESPONSE in ports else (ports[0] if ports else ROWS, path)


def _finds_nothing(tool: Tool, out: str, within: list[str], written: list[str]) -> tuple[str, str] | None:
    """(why, a hint) of a reference that no answer of the tool can fill; None when one may."""
    if out != ROWS or not within:
        return None
    columns = _columns(tool)
    if not within[0].isdecimal():
        return f"'{within[0]}' is no number of a row", "Rows are counted from 0: rows.0.FIELD."
    if columns is None or len(within) == 1 or within[1].lower() in (name.lower() for name in columns):
        return None
    known = [*columns, *(port for port in output_ports(tool) if written[0] != port)]
    return f"'{tool.id}' gives no '{within[1]}'", near(within[1], known, "fields and outputs")


def _columns(tool: Tool) -> list[str] | None:
    """The columns that a tool's rows are sure to have, and no others; None where that is not known."""
    if tool.sql is None or tool.at is not None:
        return None
    from ..nodes.sqltext.references import references

    try:
        given = references(tool.sql).output
    except JackfieldError:
        return None  # lint and the call say so
    if given is None or not all(given):
        return None
    return [tool.result.rename.get(name, name) for name in (tool.result.fields or given)]


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
    """All that keeps a skill from running: tools that are not there, each once, and else its steps' wiring."""
    named = [(name, f"/tool_ids/{index}") for index, name in enumerate(skill.tool_ids)]
    named += [(step.tool, f"/steps/{index}/tool_id") for index, step in enumerate(skill.steps)]
    missing = {name: place for name, place in reversed(named) if name not in tools}
    for name, place in reversed(missing.items()):
        yield _no_tool(skill, name, tools, place)
    if not missing:
        try:
            yield from _drafted(skill, tools).errors
        except JackfieldError as error:
            yield error


def _tool(skill: Skill, id: str, tools: Mapping[str, Tool], place: str = "") -> Tool:
    if id not in tools:
        raise _no_tool(skill, id, tools, place)
    return tools[id]


def _no_tool(skill: Skill, id: str, tools: Mapping[str, Tool], place: str) -> JackfieldError:
    what = f"it names the tool '{id}', and the connector has no such tool"
    return _invalid(skill, what, near(id, tools, "tools"), place)


def _invalid(skill: Skill, what: str, hint: str, pointer: str) -> JackfieldError:
    """`pointer` is within the skill."""
    details = {"skill": skill.id, "pointer": pointer}
    return JackfieldError(Code.INVALID_SKILL, f"Skill '{skill.id}' cannot run: {what}.", hint, details)
