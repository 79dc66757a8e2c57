"""A skill as text for an agent: what it says, its steps, and its tools under the names that agents call them by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...connectors.model import Skill
from ...connectors.offer import Offer, OfferedSkill
from ...connectors.skills import described
from ...nodes.skill import SkillTool, rendered


def prompt_text(offer: Offer, offered: OfferedSkill, arguments: Mapping[str, Any]) -> str:
    """The prompt with its arguments as quoted data. Raises INVALID_SKILL."""
    return rendered(template_of(offer, offered), tools_of(offer, offered), arguments)


def template_of(offer: Offer, offered: OfferedSkill) -> str:
    """The prompt as its author wrote it, and its steps, if it has any, in their order."""
    skill = offered.skill
    parts = [skill.prompt or skill.description]
    if skill.steps:
        names = _names(offer, offered)
        lines = [
            f"{number}. {step.alias}: call {names.get(step.tool, step.tool)} with {_shown(step.params)}"
            for number, step in enumerate(skill.steps, 1)
        ]
        parts.append("Steps:\n" + "\n".join(lines))
    return "\n\n".join(parts)


def tools_of(offer: Offer, offered: OfferedSkill) -> tuple[SkillTool, ...]:
    """The skill's tools as agents see them. Raises INVALID_SKILL for one that is not there."""
    names = _names(offer, offered)
    skill = offered.skill
    wanted = replace(skill, tool_ids=tuple(dict.fromkeys((*skill.tool_ids, *(step.tool for step in skill.steps)))))
    known = described(wanted, offered.connector.tools)
    return tuple(tool.model_copy(update={"id": names.get(tool.id, tool.id)}) for tool in known)


def _names(offer: Offer, offered: OfferedSkill) -> dict[str, str]:
    """The offered name of each tool of the skill's connector, by its id."""
    return {tool.tool.id: name for name, tool in offer.tools.items() if tool.connector is offered.connector}


def _shown(params: Mapping[str, Any]) -> str:
    """`species: {{skill.input.species}}, limit: 5`"""
    values = {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=dict)
        for name, value in params.items()
    }
    return ", ".join(f"{name}: {value}" for name, value in values.items()) or "no arguments"


def arguments_of(skill: Skill) -> list[tuple[str, Mapping[str, Any], bool]]:
    """(name, schema, required) of each argument."""
    required = skill.input_schema.get("required") or ()
    properties: Mapping[str, Any] = skill.input_schema.get("properties") or {}
    return [(name, schema, name in required) for name, schema in properties.items()]
