"""The names by which agents know tools and skills: none of the platform's own, none that is cut unnoticed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from ...graphs.findings import Finding
from .. import offer
from ..model import Connector
from ..text import FileText, read_file
from .subject import Subject

BETWEEN_CONNECTORS: Final = ("TOOL_NAME_CONFLICT", "RESOURCE_URI_CONFLICT")


def names(subject: Subject) -> Iterator[Finding]:
    top = subject.parts.top
    if top is None:
        return
    parts = [("tool", pointer, tool.id) for pointer, tool in subject.tools]
    parts += [("skill", pointer, skill.id) for pointer, skill in subject.parts.skills]
    for kind, pointer, own in parts:
        declared = offer.declared_name(top.slug, own, top.prefix)
        name = offer.fitting(declared)
        if offer.is_reserved(name) if kind == "tool" else offer.is_reserved_prompt(name):
            message, hint = offer.why_reserved(kind, name)
            yield subject.finding("TOOL_NAME_RESERVED", f"{pointer}/id", message, hint, own)
        elif name != declared:
            message = f"'{declared}' has {len(declared)} characters; agents see the {kind} as '{name}'."
            yield subject.finding("TOOL_NAME_CUT", f"{pointer}/id", message, f"Keep within {offer.LONGEST}.", own)


def collisions(connectors: Iterable[Connector]) -> Iterator[Finding]:
    """Names of these connectors, which come sorted by path, that two of them offer."""
    files: dict[str, FileText | Finding] = {}
    for finding in offer.offer_of(connectors).findings:
        if finding.code not in BETWEEN_CONNECTORS:
            continue
        file = files.setdefault(finding.place.file, read_file(Path(finding.place.file)))
        if isinstance(file, Finding):
            continue
        field = "/id" if finding.code == "TOOL_NAME_CONFLICT" else ""
        yield replace(finding, place=file.place(f"{finding.place.pointer}{field}"))
