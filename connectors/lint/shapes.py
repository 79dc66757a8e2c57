"""Tools whose fields fit together and fit their category, saves that can save, skills that can run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from ...graphs.bgl import from_json
from ...graphs.errors import JackfieldError
from ...graphs.findings import Finding, has_errors
from ...nodes.changing import SAFE_METHODS
from ...nodes.saves.base import SaveConfiguration
from ..native.compile import DATABASES
from ..native.document import Tool
from ..native.kinds import save_modes
from ..native.names import near
from ..reading import graph_file
from ..skills import problems
from .subject import Subject

RESERVED_SLUGS: Final = frozenset(("plugin", "elliot", "jackfield"))


def shapes(subject: Subject) -> Iterator[Finding]:
    top = subject.parts.top
    if top is not None and top.slug in RESERVED_SLUGS:
        message = f"The slug '{top.slug}' is one that the platform's own tools use."
        yield subject.finding("SLUG_RESERVED", "/slug", message, "Choose another.")
    for pointer, tool in subject.tools:
        for field, message, hint in misfits(subject, tool):
            yield subject.finding("TOOL_SHAPE_INVALID", f"{pointer}{field}", message, hint, tool.id)
        yield from _save(subject, pointer, tool)
    yield from _graphs(subject)
    yield from _skills(subject)


def misfits(subject: Subject, tool: Tool) -> Iterator[tuple[str, str, str]]:
    """(field, message, hint) of each way in which a tool's fields contradict each other."""
    forms = [name for name in ("sql", "request", "graph") if getattr(tool, name) is not None]
    if len(forms) > 1:
        message = f"Tool '{tool.id}' has {' and '.join(forms)}; a call runs one of them."
        yield "", message, "Keep one. A graph may hold both."
    if not forms and len(tool.source_ids) != 1:
        message = f"Tool '{tool.id}' has no sql, no request and no graph."
        yield "", message, "Without them a tool returns the rows of the one source in source_ids."
    if tool.category == "READ":
        if tool.save is not None:
            yield "/category", f"Tool '{tool.id}' saves, and is called READ.", 'Make it "category": "WRITE".'
        method = str((tool.request or {}).get("method", "GET" if tool.request is None else "POST")).upper()
        if method not in SAFE_METHODS:
            message = f"Tool '{tool.id}' sends {method}, and is called READ."
            yield "/category", message, 'Make it "category": "ACTION", or send GET.'
    if tool.category == "WRITE" and "sql" in forms and tool.save is None and tool.at is None:
        message = f"Tool '{tool.id}' is WRITE, and its SQL neither goes to a save nor runs at a database."
        yield "/category", message, 'Add "save": {"to": …} or "at": "<source>".'
    if tool.category == "ACTION" and "sql" in forms and tool.at is None and tool.save is None:
        message = f"Tool '{tool.id}' is ACTION, and only reads."
        yield "/category", message, 'Make it "category": "READ", or give it a request.'
    at = subject.sources.get(tool.at or "")
    if at is not None and at.type not in DATABASES:
        message = f"Tool '{tool.id}' runs its SQL at '{at.id}', which is a {at.type} source."
        yield "/at", message, "`at` names a postgres or mysql source."
    if tool.at is not None and tool.sql is None:
        yield "/at", f"Tool '{tool.id}' says where to run its SQL, and has none.", "Add `sql`."


def _save(subject: Subject, pointer: str, tool: Tool) -> Iterator[Finding]:
    if tool.save is None:
        return
    saves = subject.parts.saves
    known = saves.get(tool.save.to)
    if known is None:
        message = f"Tool '{tool.id}' saves to '{tool.save.to}', and the connector has no such save."
        yield subject.finding(
            "SAVE_UNKNOWN", f"{pointer}/save/to", message, near(tool.save.to, saves, "saves"), tool.id
        )
        return
    default = SaveConfiguration.model_fields["mode"].default
    mode = tool.save.mode or known.get("mode", default)
    modes = save_modes().get(str(known.get("type")), ())
    if mode not in modes:
        message = f"Tool '{tool.id}' saves to '{tool.save.to}' by {mode}, and {known.get('type')} saves cannot."
        yield subject.finding("SAVE_MODE_UNKNOWN", f"{pointer}/save", message, f"Use {', '.join(modes)}.", tool.id)
    if mode == "upsert" and not (tool.save.key or known.get("key")):
        message = f"Tool '{tool.id}' upserts into '{tool.save.to}' without a key."
        yield subject.finding("SAVE_KEY_MISSING", f"{pointer}/save", message, 'Add "key": ["id"].', tool.id)


def _graphs(subject: Subject) -> Iterator[Finding]:
    """What the graph checks find in what is written as a graph. Their codes are those of the graph checks."""
    from ...nodes import registry
    from ...nodes.checking import check_graph

    file = subject.parts.file
    for pointer, about, given in subject.parts.graphs:
        place = subject.parts.rewriting.original(pointer)
        try:
            if isinstance(given, str):
                found = check_graph(graph_file(given, file.folder), registry(), file=given)
            else:
                graph = from_json(dict(given))
                found = check_graph(graph, registry(), file=file.file, document=file.document, pointer=place)
        except JackfieldError as error:
            inner = str(error.details.get("pointer", ""))
            yield subject.finding("GRAPH_INVALID", f"{pointer}{inner}", error.message, error.hint, about)
            continue
        yield from (replace(finding, subject=f"{about}.{finding.subject}".rstrip(".")) for finding in found)


def _skills(subject: Subject) -> Iterator[Finding]:
    if subject.parts.top is None or has_errors(subject.parts.findings):
        return  # tools that do not fit the schema are missing here, and would be missed twice
    from ..formats.native import connector_of

    connector = connector_of(subject.parts)
    for skill in connector.skills.values():
        for problem in problems(skill, connector.tools):
            place = f"{skill.pointer}{problem.details.get('pointer', '')}"
            yield subject.finding("SKILL_INVALID", place, problem.message, problem.hint, skill.id)
