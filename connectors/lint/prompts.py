"""Messages and resources whose places are filled, and resources whose tool is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...graphs.findings import Finding
from ..making import unknown_places
from ..native import document as fields
from ..native.names import near
from .categories import changes_within, sentence
from .subject import Subject


def prompts(subject: Subject) -> Iterator[Finding]:
    for pointer, skill in subject.parts.skills:
        names = [parameter.name for parameter in skill.parameters]
        for index, block in enumerate(skill.messages):
            for place in unknown_places(block.texts(), names):
                message = f"Skill '{skill.id}' has a place for '{place}', which is none of its parameters."
                at = f"{pointer}/messages/{index}"
                yield subject.finding("SKILL_INVALID", at, message, near(place, names, "parameters"), skill.id)
    yield from _only_reads(subject)
    tools = {tool.id: tool for _, tool in subject.tools}
    for pointer, resource in subject.parts.resources:
        variables = resource.variables
        for place in unknown_places(resource.sources(), variables):
            message = f"Resource '{resource.name}' has a place for '{place}', which its URI does not give."
            hint = near(place, variables, "places") if variables else "Its address is no template: it has no places."
            yield subject.finding("RESOURCE_INVALID", pointer, message, hint, resource.name)
        if resource.tool:
            yield from _answer_of(subject, f"{pointer}/tool", resource, tools)


def _only_reads(subject: Subject) -> Iterator[Finding]:
    """A prompt and a resource are read, as often as a client likes: their graphs change nothing."""
    parts = subject.parts
    tools = {f"{pointer}/graph" for pointer, _ in parts.tools}
    for pointer, owner, given in parts.graphs:
        if pointer in tools:
            continue
        code = "SKILL_INVALID" if pointer.startswith("/skills/") else "RESOURCE_INVALID"
        for change in changes_within(subject, given):
            message = f"'{owner}' is read, and {sentence(change)}"
            yield subject.finding(code, pointer, message, "Make it a tool.", owner)


def _answer_of(
    subject: Subject, pointer: str, resource: fields.Resource, tools: Mapping[str, fields.Tool]
) -> Iterator[Finding]:
    tool = tools.get(resource.tool)
    start = f"Resource '{resource.name}' is the answer of '{resource.tool}', "
    if tool is None:
        hint = near(resource.tool, tools, "tools")
        yield subject.finding("RESOURCE_INVALID", pointer, f"{start}and there is no such tool.", hint, resource.name)
        return
    if tool.category != "READ":
        message = f"{start}which changes something."
        yield subject.finding("RESOURCE_INVALID", pointer, message, "Name a READ tool.", resource.name)
    for parameter in tool.parameters:
        if parameter.is_required and parameter.name not in resource.variables:
            message = f"{start}which requires '{parameter.name}', and its URI does not give that."
            hint = f"Put {{{parameter.name}}} into uri_template."
            yield subject.finding("RESOURCE_INVALID", pointer, message, hint, resource.name)
