"""The native format: one JSON document of sources, tools, skills and saves, in either spelling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...graphs.findings import Finding, Severity, has_errors
from ...graphs.model import Json
from ..model import Connector, ResultShape, Skill, Source, Step, Tool
from ..native import document as fields
from ..native.annotations import annotations_of
from ..native.compile import Surroundings, compile_tool
from ..native.normalise import normalise
from ..native.parameters import schema_of
from ..native.rewriting import Rewriting, objects
from ..native.validate import validated
from ..text import FileText
from .base import Format, Reading

IDENTITY = ("id", "type", "name", "description", "table_name")  # of a source: not its node's configuration


def matches(document: Json) -> bool:
    return isinstance(document, dict) and ("tools" in document or "sources" in document) and "nodes" not in document


def read(file: FileText) -> Reading:
    """The connector, unless its document does not fit the schema. Warnings come with it either way."""
    return _Reader(file).read()


class _Reader:
    def __init__(self, file: FileText) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self.rewriting = Rewriting()
        self.subject = ""

    def report(self, code: str, severity: Severity, pointer: str, message: str, hint: str) -> None:
        place = self.file.place(self.rewriting.original(pointer))
        self.findings.append(Finding(code, severity, message, place, hint, subject=self.subject))

    def read(self) -> Reading:
        document, self.rewriting = normalise(self.file.value, self.file.folder)
        for note in self.rewriting.notes:
            self.findings.append(Finding(note.code, note.severity, note.message, self.file.place(note.place.pointer)))
        document.pop("$schema", None)
        top = validated(fields.Top, document, "", self.report)
        sources = self.sources(document)
        saves = self.saves(document)
        tools = self.each(document, "tools", fields.Tool)
        skills = self.each(document, "skills", fields.Skill)
        if top is None or has_errors(self.findings):
            return Reading(None, tuple(self.findings))
        around = Surroundings(sources, saves, self.file.folder)
        built = {tool.id: self.tool(tool, pointer, top.slug, around) for pointer, tool in tools}
        connector = Connector(
            slug=top.slug,
            name=top.name,
            version=top.version,
            path=self.file.path,
            folder=self.file.folder,
            format="native",
            description=top.description,
            instructions=top.instructions,
            prefix=top.prefix,
            sources=sources,
            tools=built,
            skills={skill.id: self.skill(skill, pointer, top.slug, built) for pointer, skill in skills},
            saves=saves,
            evals=(top.evals,) if isinstance(top.evals, str) else top.evals or (),
            findings=tuple(self.findings),
            digest=self.file.digest,
        )
        return Reading(connector, connector.findings)

    def each(self, document: Mapping[str, Any], name: str, model: type[Any]) -> list[tuple[str, Any]]:
        """The valid objects of a list. Of two with one id the first stays, and the second is an error."""
        found: dict[str, tuple[str, Any]] = {}
        for pointer, value in objects(document, name):
            self.subject = str(value.get("id", ""))
            item = validated(model, value, pointer, self.report)
            if item is not None and item.id in found:
                self.duplicate(name, item.id, pointer)
            elif item is not None:
                found[item.id] = (pointer, item)
        self.subject = ""
        self.not_objects(document, name)
        return list(found.values())

    def not_objects(self, document: Mapping[str, Any], name: str) -> None:
        items = document.get(name)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if not isinstance(item, dict):
                self.report(
                    "INVALID_VALUE", Severity.ERROR, f"/{name}/{index}", f"An item of '{name}' is an object.", ""
                )

    def duplicate(self, name: str, id: str, pointer: str) -> None:
        what = name.removesuffix("s")
        message = f"Two {name} have the id '{id}'; the first one stands."
        self.report(
            f"DUPLICATE_{what.upper()}_ID", Severity.ERROR, f"{pointer}/id", message, "Give this one its own id."
        )

    def sources(self, document: Mapping[str, Any]) -> dict[str, Source]:
        from ..native.kinds import source_configuration

        found: dict[str, Source] = {}
        for pointer, value in objects(document, "sources"):
            id = value.get("id")
            self.subject = str(id or "")
            identity = validated(
                fields.SourceIdentity, {k: v for k, v in value.items() if k in IDENTITY}, pointer, self.report
            )
            configuration = {k: v for k, v in value.items() if k not in IDENTITY}
            if identity is None:
                continue
            kept = source_configuration(identity.type, configuration, pointer, self.report)
            if identity.id in found:
                self.duplicate("sources", identity.id, pointer)
            elif kept is not None:
                found[identity.id] = Source(
                    identity.id, identity.type, kept, identity.names, identity.name or identity.id
                )
        self.subject = ""
        self.not_objects(document, "sources")
        return found

    def saves(self, document: Mapping[str, Any]) -> dict[str, Mapping[str, Json]]:
        from ..native.kinds import save_configuration

        found: dict[str, Mapping[str, Json]] = {}
        for pointer, value in objects(document, "saves"):
            self.subject = str(value.get("id") or "")
            identity = validated(
                fields.SaveIdentity, {k: v for k, v in value.items() if k in ("id", "type")}, pointer, self.report
            )
            if identity is None:
                continue
            configuration = {k: v for k, v in value.items() if k not in ("id", "type")}
            kept = save_configuration(identity.type, configuration, pointer, self.report)
            if identity.id in found:
                self.duplicate("saves", identity.id, pointer)
            elif kept is not None:
                found[identity.id] = {"type": identity.type, **kept}
        self.subject = ""
        self.not_objects(document, "saves")
        return found

    def tool(self, tool: fields.Tool, pointer: str, slug: str, around: Surroundings) -> Tool:
        return Tool(
            id=tool.id,
            name=f"{slug.replace('-', '_')}_{tool.id}" if self.file.value.get("prefix") is True else tool.id,
            title=tool.name,
            description=tool.description,
            category=tool.category,
            input_schema=schema_of(tool.parameters),
            output_schema=tool.output_schema,
            annotations=annotations_of(tool, {id: source.type for id, source in around.sources.items()}),
            compile=lambda: compile_tool(tool, around),
            connector=slug,
            result=ResultShape(
                tool.result.page_size,
                tool.result.max_rows,
                tool.result.max_bytes,
                tool.result.fields,
                dict(tool.result.rename),
            ),
            timeout_s=tool.timeout_s,
            sql=tool.sql,
            at=tool.at,
            save=None if tool.save is None else tool.save.model_dump(exclude_none=True),
            pointer=pointer,
        )

    def skill(self, skill: fields.Skill, pointer: str, slug: str, tools: Mapping[str, Tool]) -> Skill:
        from ..skills import compile_skill

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
