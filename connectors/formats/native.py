"""The native format: one JSON document of sources, tools, skills and saves, in either spelling."""

from __future__ import annotations

from collections.abc import Mapping

from ...graphs.errors import JackfieldError
from ...graphs.findings import has_errors
from ...graphs.model import Json
from ..model import Connector, ResultShape, Skill, Step, Tool
from ..native import document as fields
from ..native.annotations import annotations_of
from ..native.answers import answer_schema
from ..native.compile import Surroundings, compile_tool
from ..native.parameters import schema_of
from ..native.parts import Parts, parts_of
from ..skills import compile_skill
from ..text import FileText
from .base import Format, Reading
from .bgl import input_schema


def matches(document: Json) -> bool:
    return isinstance(document, dict) and ("tools" in document or "sources" in document) and "nodes" not in document


def read(file: FileText) -> Reading:
    """The connector, unless its document does not fit the schema. Warnings come with it either way."""
    parts = parts_of(file)
    findings = tuple(parts.findings)
    return Reading(None if has_errors(findings) else connector_of(parts), findings)


def connector_of(parts: Parts) -> Connector:
    """The connector of a document that fits the schema."""
    top = parts.top
    assert top is not None
    around = Surroundings(parts.sources, parts.saves, parts.file.folder)
    tools = {tool.id: _tool(tool, pointer, top, around) for pointer, tool in parts.tools}
    return Connector(
        slug=top.slug,
        name=top.name,
        version=top.version,
        path=parts.file.path,
        folder=parts.file.folder,
        format="native",
        description=top.description,
        instructions=top.instructions,
        prefix=top.prefix,
        sources=parts.sources,
        tools=tools,
        skills={skill.id: _skill(skill, pointer, top.slug, tools) for pointer, skill in parts.skills},
        saves=parts.saves,
        evals=(top.evals,) if isinstance(top.evals, str) else top.evals or (),
        findings=tuple(parts.findings),
        graph_files=tuple(parts.file.folder / tool.graph for _, tool in parts.tools if isinstance(tool.graph, str)),
        digest=parts.file.digest,
    )


def _tool(tool: fields.Tool, pointer: str, top: fields.Top, around: Surroundings) -> Tool:
    result = tool.result
    return Tool(
        id=tool.id,
        name=f"{top.slug.replace('-', '_')}_{tool.id}" if top.prefix else tool.id,
        title=tool.name,
        description=tool.description,
        category=tool.category,
        input_schema=_arguments(tool, around),
        annotations=annotations_of(tool, around.sources),
        compile=lambda: compile_tool(tool, around),
        answer=lambda: answer_schema(tool, around.sources),
        connector=top.slug,
        result=ResultShape(result.page_size, result.max_rows, result.max_bytes, result.fields, dict(result.rename)),
        timeout_s=tool.timeout_s,
        sql=tool.sql,
        at=tool.at,
        save=None if tool.save is None else tool.save.model_dump(exclude_none=True),
        destructive=tool.destructive,
        pointer=pointer,
    )


def _arguments(tool: fields.Tool, around: Surroundings) -> Mapping[str, Json]:
    """The schema of a tool's arguments. One that is a graph, and lists no parameters, takes what its inputs ask for."""
    if tool.graph is None or tool.parameters:
        return schema_of(tool.parameters)
    try:
        return input_schema(compile_tool(tool, around))
    except JackfieldError:
        return schema_of(())  # lint and the call itself say what is wrong with the graph


def _skill(skill: fields.Skill, pointer: str, slug: str, tools: Mapping[str, Tool]) -> Skill:
    built = Skill(
        id=skill.id,
        name=skill.name,
        description=skill.description,
        input_schema=schema_of(skill.parameters),
        tool_ids=skill.tool_ids,
        prompt=skill.prompt_template,
        compile=lambda: compile_skill(built, tools),
        connector=slug,
        steps=tuple(Step(step.alias, step.tool_id, step.params) for step in skill.steps),
        when_to_use=skill.when_to_use,
        pointer=pointer,
    )
    return built


NATIVE = Format("native", "Sources, tools, skills and saves in one JSON document", matches, read)
