"""The quality score: how well an agent can choose and use each tool, as 100 less its share of failed checks.

Lint says what is wrong; the score says how good what is right is. A connector's score is the mean over its tools.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from .lint.descriptions import VERBS, WRITING_WORDS
from .lint.parameters import LISTS_VALUES
from .lint.results import LIMIT, LISTING, PAGING
from .model import IDENTIFIER, Connector, Tool
from .native.annotations import destructive_verb

GATE: Final = 80.0
JARGON: Final = re.compile(r"\b(sql|endpoint|table|column|database|api|select)s?\b", re.IGNORECASE)
GENERIC_IDS: Final = frozenset(("query", "get_data", "fetch", "run", "execute", "call"))


@dataclass(frozen=True, slots=True)
class Check:
    """`passes` gives None where the check does not apply to the tool."""

    name: str
    tag: str
    advice: str
    passes: Callable[[Tool], bool | None]


@dataclass(frozen=True, slots=True)
class Issue:
    check: str
    tag: str
    advice: str


@dataclass(frozen=True, slots=True)
class ToolQuality:
    tool: str
    score: float
    applicable: int
    issues: tuple[Issue, ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """`passed` says whether the score reaches the gate of 80."""

    score: float
    tools: tuple[ToolQuality, ...]

    @property
    def passed(self) -> bool:
        return self.score >= GATE

    def as_json(self) -> dict[str, Any]:
        return {
            "score": self.score,
            "gate": GATE,
            "passed": self.passed,
            "tools": [
                {
                    "tool": tool.tool,
                    "score": tool.score,
                    "issues": [{"check": i.check, "tag": i.tag, "advice": i.advice} for i in tool.issues],
                }
                for tool in self.tools
            ],
        }


def _properties(tool: Tool) -> Mapping[str, Mapping[str, Any]]:
    properties: Mapping[str, Mapping[str, Any]] = tool.input_schema.get("properties", {})
    return properties


def _first_word(tool: Tool) -> str:
    words = tool.description.split()
    return words[0].strip(".,:").lower() if words else ""


def _params_described(tool: Tool) -> bool | None:
    given = _properties(tool).values()
    return all(len(str(schema.get("description", "")).strip()) >= 5 for schema in given) if given else None


def _enums(tool: Tool) -> bool | None:
    texts = [schema for schema in _properties(tool).values() if schema.get("type") == "string"]
    closed = [schema for schema in texts if LISTS_VALUES.search(str(schema.get("description", "")))]
    return all("enum" in schema for schema in closed) if closed else None


def _paged(tool: Tool) -> bool | None:
    if tool.category != "READ" or tool.sql is None or not tool.id.startswith(LISTING):
        return None
    return bool(LIMIT.search(tool.sql)) or bool(_properties(tool).keys() & PAGING)


def _says_it_writes(tool: Tool) -> bool | None:
    return any(word in tool.description.lower() for word in WRITING_WORDS) if tool.writes else None


def _danger_classified(tool: Tool) -> bool | None:
    if not tool.writes or not destructive_verb(tool.id):
        return None
    return tool.destructive is not None


CHECKS: Final[tuple[Check, ...]] = (
    Check(
        "min_length", "context", "Describe what one call returns or does.", lambda t: len(t.description.strip()) >= 15
    ),
    Check("starts_with_verb", "naming", "Begin the description with a verb.", lambda t: _first_word(t) in VERBS),
    Check(
        "no_jargon",
        "context",
        "Speak of the things, not of how they are kept.",
        lambda t: not JARGON.search(t.description),
    ),
    Check("has_params_described", "schema", "Describe every parameter.", _params_described),
    Check("enum_for_closed_set", "schema", "Give a closed set of values as enum.", _enums),
    Check("name_snake_case", "naming", "Write the id in snake_case.", lambda t: bool(IDENTIFIER.fullmatch(t.id))),
    Check("no_generic_names", "naming", "Name the id after what it gives.", lambda t: t.id not in GENERIC_IDS),
    Check("pagination", "consistency", "Give LIMIT or a paging parameter.", _paged),
    Check("mutation_hint", "annotations", "Say in the description that it writes.", _says_it_writes),
    Check("danger_zone_classified", "annotations", 'Say "destructive": true or false.', _danger_classified),
)


def quality_of(tool: Tool) -> ToolQuality:
    """The score of one tool, and the checks that it fails."""
    answers = [(check, check.passes(tool)) for check in CHECKS]
    applicable = [(check, passed) for check, passed in answers if passed is not None]
    issues = tuple(Issue(check.name, check.tag, check.advice) for check, passed in applicable if not passed)
    score = 100 * (1 - len(issues) / len(applicable)) if applicable else 100.0
    return ToolQuality(tool.id, round(score, 1), len(applicable), issues)


def quality(connector: Connector) -> Quality:
    """The scores of a connector's tools and their mean; 100 where there is no tool."""
    tools = tuple(quality_of(tool) for tool in connector.tools.values())
    mean = sum(tool.score for tool in tools) / len(tools) if tools else 100.0
    return Quality(round(mean, 1), tools)
