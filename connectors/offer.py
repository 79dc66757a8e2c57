"""What a catalog offers to agents: each tool and skill under the one name that they call it by.

A name is the tool's own id, or `slug_id` where the connector asks for a prefix. It fits every client:
`[a-zA-Z0-9_-]{1,64}`. Of two with one name the first by sorted path is offered; the other is a finding.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from ..graphs.findings import Finding, Place, Severity
from .model import Connector, Resource, Skill, Tool

LONGEST: Final = 64
HASH_LENGTH: Final = 8
UNFIT: Final = re.compile(r"[^a-zA-Z0-9_-]")
RESERVED_PREFIXES: Final = ("plugin_", "elliot_", "jackfield_")
PLATFORM_NAMES: Final = frozenset(("build-connector", "lint-connector", "run-eval", "deploy-connector"))
PLATFORM_PROMPTS: Final = frozenset(
    ("getting_started", "onboard-product", "discover-source", "build-connector", "lint-connector", "run-eval",
     "audit-connector", "deploy", "observe-agent-runs", "compose-skill")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OfferedTool:
    name: str
    connector: Connector
    tool: Tool


@dataclass(frozen=True, slots=True)
class OfferedSkill:
    name: str
    connector: Connector
    skill: Skill


@dataclass(frozen=True)
class Offer:
    """Tools and skills by the name that agents use, in the order they are listed."""

    tools: Mapping[str, OfferedTool] = field(default_factory=dict)
    skills: Mapping[str, OfferedSkill] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def offer_of(connectors: Iterable[Connector]) -> Offer:
    """The offer of connectors that come sorted by path."""
    tools: dict[str, OfferedTool] = {}
    skills: dict[str, OfferedSkill] = {}
    resources: dict[str, Resource] = {}
    findings: list[Finding] = []
    for connector in connectors:
        for tool in connector.tools.values():
            name = fitting(tool.name)
            if is_reserved(name):
                findings.append(_reserved(connector, tool, name))
            elif name in tools:
                findings.append(_taken(connector, tool, name, tools[name].tool))
            else:
                tools[name] = OfferedTool(name, connector, tool)
        for skill in connector.skills.values():
            name = fitting(declared_name(connector.slug, skill.id, connector.prefix))
            if is_reserved_prompt(name):
                findings.append(_reserved(connector, skill, name))
            elif name in skills:
                findings.append(_taken(connector, skill, name, skills[name].skill))
            else:
                skills[name] = OfferedSkill(name, connector, skill)
        for uri, resource in connector.resources.items():
            if resources.setdefault(uri, resource) is not resource:
                findings.append(_same_uri(connector, resource, resources[uri]))
    return Offer(tools, skills, tuple(findings))


def declared_name(slug: str, id: str, prefix: bool) -> str:
    """What a connector calls its tool or skill, before it is made to fit."""
    return f"{slug.replace('-', '_')}_{id}" if prefix else id


def is_reserved(name: str) -> bool:
    """Whether the platform has, or keeps for itself, a tool of this name."""
    return folded(name) in FOLDED_NAMES or folded(name).startswith(RESERVED_PREFIXES)


def is_reserved_prompt(name: str) -> bool:
    """Whether the platform has a prompt of this name."""
    return folded(name) in FOLDED_PROMPTS


def folded(name: str) -> str:
    """What two names share that a reader, or a model, takes for one: no case, and `-` is `_`."""
    return name.casefold().replace("-", "_")


def fitting(name: str) -> str:
    """`name` as every client accepts it. What had to be changed ends in a hash of the whole, so that two stay two."""
    plain = UNFIT.sub("_", name)
    if plain == name and 0 < len(name) <= LONGEST:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]
    return f"{plain[: LONGEST - HASH_LENGTH - 1]}_{digest}"


def renamed(offer: Offer) -> Iterator[tuple[str, str]]:
    """(name as declared, name as offered) of each tool whose name did not fit."""
    for offered in offer.tools.values():
        if offered.tool.name != offered.name:
            yield offered.tool.name, offered.name


def _reserved(connector: Connector, part: Tool | Skill, name: str) -> Finding:
    message, hint = why_reserved("tool" if isinstance(part, Tool) else "skill", name)
    place = Place(str(connector.path or ""), part.pointer)
    return Finding("TOOL_NAME_RESERVED", Severity.ERROR, message, place, hint, subject=part.id)


def why_reserved(kind: str, name: str) -> tuple[str, str]:
    """(what is wrong, a hint)"""
    prefix = next((prefix for prefix in RESERVED_PREFIXES if folded(name).startswith(prefix)), None)
    why = (
        f"names of the platform begin with '{prefix}'"
        if prefix
        else "the platform has one of that name, or one that reads the same"
    )
    return f"Agents cannot be offered the {kind} '{name}': {why}.", "Give it another id."


def _taken(connector: Connector, part: Tool | Skill, name: str, holder: Tool | Skill) -> Finding:
    kind = "tool" if isinstance(part, Tool) else "skill"
    return Finding(
        "TOOL_NAME_CONFLICT",
        Severity.WARNING,
        f"Agents know the {kind} '{name}' of connector '{holder.connector}', which stays in service;"
        f" this one is not offered to them.",
        Place(str(connector.path or ""), part.pointer),
        'Set "prefix": true in one of the two connectors, or give one another id.',
        subject=part.id,
    )


def _same_uri(connector: Connector, resource: Resource, holder: Resource) -> Finding:
    return Finding(
        "RESOURCE_URI_CONFLICT",
        Severity.WARNING,
        f"The URI '{resource.uri}' is one of connector '{holder.connector}', which stays in service; this is not read.",
        Place(str(connector.path or ""), resource.pointer),
        "Give one of them another URI, such as one that begins with the connector's slug.",
        subject=resource.uri,
    )


FOLDED_NAMES: Final = frozenset(map(folded, PLATFORM_NAMES))
FOLDED_PROMPTS: Final = frozenset(map(folded, PLATFORM_PROMPTS))
