"""A native document taken apart: every part checked against its model by itself, so that one fault hides no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ...graphs.findings import Finding, Place, Severity
from ...graphs.model import Json
from ..model import Source
from ..text import FileText
from . import document as fields
from .authorisation import refuse_literal_secrets
from .kinds import request_configuration, save_configuration, source_configuration
from .normalise import normalise
from .rewriting import Rewriting, objects
from .validate import validated

IDENTITY = ("id", "type", "name", "description", "table_name")  # of a source: not its node's configuration
P = TypeVar("P", fields.Tool, fields.Skill)


@dataclass
class Parts:
    """What of a document fits the schema, each with its pointer in the first spelling, and what was found wrong.

    `document` is the file in its first spelling.
    """

    file: FileText
    document: Mapping[str, Any]
    rewriting: Rewriting
    top: fields.Top | None = None
    sources: dict[str, Source] = field(default_factory=dict)
    unfit: dict[str, Source] = field(default_factory=dict)  # sources with errors: there, but not to be looked into
    saves: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    tools: list[tuple[str, fields.Tool]] = field(default_factory=list)
    skills: list[tuple[str, fields.Skill]] = field(default_factory=list)
    resources: list[tuple[str, fields.Resource]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    subject: str = ""

    @property
    def graphs(self) -> list[tuple[str, str, Mapping[str, Json] | str]]:
        """(pointer, whose it is, the graph or the path of its file) of all that is written as a graph."""
        written = [(pointer, tool.id, tool.graph) for pointer, tool in self.tools]
        written += [(pointer, skill.id, skill.graph) for pointer, skill in self.skills]
        written += [(pointer, resource.name, resource.graph) for pointer, resource in self.resources]
        return [(f"{pointer}/graph", owner, graph) for pointer, owner, graph in written if graph is not None]

    def place(self, pointer: str, start: int | None = None, length: int = 1) -> Place:
        """The place in the file of what is at `pointer` in the first spelling."""
        return self.file.place(self.rewriting.original(pointer, start, length), *self._within(pointer, start, length))

    def _within(self, pointer: str, start: int | None, length: int) -> tuple[int | None, int]:
        """A part of a text that was put together is no part of the text that stands in the file."""
        return (None, length) if pointer in self.rewriting.words else (start, length)

    def report(self, code: str, severity: Severity, pointer: str, message: str, hint: str) -> None:
        self.findings.append(Finding(code, severity, message, self.place(pointer), hint, subject=self.subject))


def parts_of(file: FileText) -> Parts:
    """Take the document of `file` apart. Raises nothing for what it holds."""
    document, rewriting = normalise(file.value, file.folder)
    document.pop("$schema", None)
    parts = Parts(file, document, rewriting)
    for note in rewriting.notes:
        place = file.place(note.place.pointer)
        parts.findings.append(replace(note, place=place))
    refuse_literal_secrets(document, parts.report)
    parts.top = validated(fields.Top, document, "", parts.report)
    _sources(parts)
    _saves(parts)
    parts.tools = _each(parts, "tools", fields.Tool)
    parts.skills = _each(parts, "skills", fields.Skill)
    _resources(parts)
    for index, (pointer, tool) in enumerate(parts.tools):
        parts.tools[index] = (pointer, _with_request(parts, pointer, tool))
    return parts


def _each(parts: Parts, name: str, model: type[P]) -> list[tuple[str, P]]:
    """The valid objects of a list. Of two with one id the first stays, and the second is an error."""
    found: dict[str, tuple[str, P]] = {}
    for pointer, value in _objects(parts, name):
        item = validated(model, value, pointer, parts.report)
        if item is not None and item.id in found:
            _duplicate(parts, name, item.id, pointer)
        elif item is not None:
            found[item.id] = (pointer, item)
    return list(found.values())


def _objects(parts: Parts, name: str) -> list[tuple[str, dict[str, Any]]]:
    """The objects of a list; what is not an object is reported. `subject` is the id of the one at hand."""
    items = parts.document.get(name)
    parts.subject = ""
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, dict):
            message = f"An item of '{name}' is an object with fields."
            parts.report("INVALID_VALUE", Severity.ERROR, f"/{name}/{index}", message, "")
    return list(_naming(parts, objects(parts.document, name)))


def _naming(parts: Parts, found: list[tuple[str, dict[str, Any]]]) -> Any:
    for pointer, value in found:
        parts.subject = str(value.get("id") or value.get("name") or "")
        yield pointer, value
    parts.subject = ""


def _duplicate(parts: Parts, name: str, identifier: str, pointer: str) -> None:
    code = f"DUPLICATE_{name.removesuffix('s').upper()}_ID"
    message = f"Two {name} have the id '{identifier}'; the first one stands."
    parts.report(code, Severity.ERROR, f"{pointer}/id", message, "Give this one an id of its own.")


def _sources(parts: Parts) -> None:
    for pointer, value in _objects(parts, "sources"):
        known = {name: item for name, item in value.items() if name in IDENTITY}
        identity = validated(fields.SourceIdentity, known, pointer, parts.report)
        if identity is None:
            continue
        rest = {name: item for name, item in value.items() if name not in IDENTITY}
        kept = source_configuration(identity.type, rest, pointer, parts.report)
        title = identity.name or identity.id
        if identity.id in parts.sources:
            _duplicate(parts, "sources", identity.id, pointer)
        elif kept is None:
            parts.unfit[identity.id] = Source(identity.id, identity.type, {}, identity.names, title, pointer)
        else:
            parts.sources[identity.id] = Source(identity.id, identity.type, kept, identity.names, title, pointer)


def _saves(parts: Parts) -> None:
    for pointer, value in _objects(parts, "saves"):
        known = {name: item for name, item in value.items() if name in ("id", "type")}
        identity = validated(fields.SaveIdentity, known, pointer, parts.report)
        if identity is None:
            continue
        rest = {name: item for name, item in value.items() if name not in ("id", "type")}
        kept = save_configuration(identity.type, rest, pointer, parts.report)
        if identity.id in parts.saves:
            _duplicate(parts, "saves", identity.id, pointer)
        elif kept is not None:
            parts.saves[identity.id] = {"type": identity.type, **kept}


def _resources(parts: Parts) -> None:
    known: set[str] = set()
    for pointer, value in _objects(parts, "resources"):
        resource = validated(fields.Resource, value, pointer, parts.report)
        if resource is None:
            continue
        if resource.address in known:
            message = f"Two resources have the URI '{resource.address}'; the first one stands."
            parts.report("DUPLICATE_RESOURCE_URI", Severity.ERROR, pointer, message, "Give this one a URI of its own.")
        else:
            known.add(resource.address)
            parts.resources.append((pointer, resource))


def _with_request(parts: Parts, pointer: str, tool: fields.Tool) -> fields.Tool:
    if tool.request is None:
        return tool
    parts.subject = tool.id
    kept = request_configuration(tool.request, f"{pointer}/request", parts.report)
    parts.subject = ""
    return tool if kept is None else tool.model_copy(update={"request": kept})
