"""The native format: one JSON document of sources, tools, skills and saves, in either spelling."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...graphs.errors import JackfieldError
from ...graphs.findings import has_errors
from ...graphs.model import Graph, Json
from ..making import messages_graph, resource_graph, variables_schema
from ..model import Connector, Resource, ResultShape, Skill, Step, Tool
from ..native import document as fields
from ..native.annotations import annotations_of
from ..native.answers import answer_schema
from ..native.compile import Surroundings, compile_tool, graph_of
from ..native.parameters import schema_of
from ..native.parts import Parts, parts_of
from ..offer import declared_name
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
        skills={skill.id: _skill(skill, pointer, tools, top, around) for pointer, skill in parts.skills},
        resources={part.address: _resource(part, pointer, tools, top, around) for pointer, part in parts.resources},
        saves=parts.saves,
        evals=(top.evals,) if isinstance(top.evals, str) else top.evals or (),
        findings=tuple(parts.findings),
        graph_files=tuple(parts.file.folder / graph for _, _, graph in parts.graphs if isinstance(graph, str)),
        digest=parts.file.digest,
    )


def _tool(tool: fields.Tool, pointer: str, top: fields.Top, around: Surroundings) -> Tool:
    result = tool.result
    return Tool(
        id=tool.id,
        name=declared_name(top.slug, tool.id, top.prefix),
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
    return _asked_by(tool.graph, around.folder)


def _asked_by(graph: Mapping[str, Json] | str, folder: Path) -> Mapping[str, Json]:
    """The schema of what a graph's inputs ask for: that of a single input node whole, as its author wrote it."""
    try:
        read = graph_of(graph, folder)
    except JackfieldError:
        return schema_of(())  # lint and the call itself say what is wrong with the graph
    schemas = [node.configuration.get("schema") for node in read.nodes if node.type == "input"]
    if len(schemas) == 1 and isinstance(schemas[0], Mapping):
        return {"type": "object", "properties": {}, **schemas[0]}
    return input_schema(read)


def _skill(
    skill: fields.Skill, pointer: str, tools: Mapping[str, Tool], top: fields.Top, around: Surroundings
) -> Skill:
    schema: Mapping[str, Json] = schema_of(skill.parameters)
    if skill.graph is not None and not skill.parameters:
        schema = _asked_by(skill.graph, around.folder)

    def compiled() -> Graph:
        if skill.graph is not None:
            return graph_of(skill.graph, around.folder)
        return messages_graph(skill, schema) if skill.messages else compile_skill(built, tools)

    built = Skill(
        id=skill.id,
        name=skill.name,
        description=skill.description,
        input_schema=schema,
        tool_ids=skill.tool_ids,
        prompt=skill.prompt_template,
        compile=compiled,
        connector=top.slug,
        steps=tuple(Step(step.alias, step.tool_id, step.params) for step in skill.steps),
        when_to_use=skill.when_to_use,
        gives_messages=bool(skill.messages) or skill.graph is not None,
        pointer=pointer,
    )
    return built


def _resource(
    resource: fields.Resource, pointer: str, tools: Mapping[str, Tool], top: fields.Top, around: Surroundings
) -> Resource:
    def compiled() -> Graph:
        return resource_graph(resource, tools) if resource.graph is None else graph_of(resource.graph, around.folder)

    return Resource(
        uri=resource.address,
        name=resource.name,
        title=resource.title,
        description=resource.description,
        mime_type=resource.mime_type,
        input_schema=variables_schema(resource, tools),
        compile=compiled,
        is_template=bool(resource.uri_template),
        connector=top.slug,
        pointer=pointer,
    )


NATIVE = Format("native", "Sources, tools, skills and saves in one JSON document", matches, read)
