"""What is called READ only reads: also in its graph, and in the tools which that calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...graphs.errors import JackfieldError
from ...graphs.findings import Finding
from ...nodes.changing import Change, changes_of
from ..model import Connector
from ..native.compile import graph_of
from .subject import Subject

HINT = 'Make it "category": "WRITE" or "ACTION", or leave that node out.'


def categories(subject: Subject) -> Iterator[Finding]:
    for pointer, tool in subject.tools:
        if tool.category != "READ" or tool.graph is None:
            continue
        for change in changes_within(subject, tool.graph):
            place = f"{pointer}/graph" if isinstance(tool.graph, str) else f"{pointer}/graph{change.pointer}"
            message = f"Tool '{tool.id}' is called READ, and {sentence(change)}"
            yield subject.finding("CATEGORY_CONTRADICTED", place, message, HINT, tool.id)


def sentence(change: Change) -> str:
    """What the node does, as the end of a sentence."""
    by = f", which calls '{change.tool}'," if change.tool else ""
    return f"its node '{change.node.id}' ({change.node.type}){by} changes something."


def changes_within(subject: Subject, given: Mapping[str, object] | str) -> Iterator[Change]:
    """What a graph, or the file of one, may change; nothing of one that cannot be read, which GRAPH_INVALID says."""
    from ...nodes import registry

    try:
        graph = graph_of(given, subject.parts.file.folder)
    except JackfieldError:
        return
    yield from changes_of(graph, registry(), _changing(subject))


def _changing(subject: Subject) -> Callable[[str], bool]:
    """Whether the tool or skill of a name changes something.

    Nothing is known of a connector that lint was not given: a run of a READ tool is held to reading in any case.
    """
    slug = subject.parts.top.slug if subject.parts.top is not None else ""
    tools = {tool.id: tool.category != "READ" for _, tool in subject.tools}
    steps = {skill.id: [step.tool_id for step in skill.steps] for _, skill in subject.parts.skills}

    def changing(name: str) -> bool:
        owner, _, own = name.rpartition("/")
        if owner in ("", slug):
            return tools[own] if own in tools else any(tools.get(step, False) for step in steps.get(own, ()))
        other = subject.beside.get(owner)
        return other is not None and changed_by(other, own)

    return changing


def changed_by(connector: Connector, name: str) -> bool:
    """Whether a tool of a connector, or a step of its skill, is of a category that changes something."""
    tools, skill = connector.tools, connector.skills.get(name)
    if name in tools:
        return tools[name].writes
    return skill is not None and any(step.tool in tools and tools[step.tool].writes for step in skill.steps)
