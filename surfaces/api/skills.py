"""/api/skills: prompts over tools, as agents are given them, and run as the graphs that they are."""

from __future__ import annotations

import secrets
from typing import Any, Final

from pydantic import Field
from starlette.responses import Response

from ...connectors.offer import OfferedSkill
from ...graphs.errors import Code
from ...nodes.arguments import coerce
from ..faults import not_found
from ..mcp_server.skills import prompt_text
from ..served import Answer, ServedCall
from ..signatures import signature
from .calling import FAILURES, RUN_HEADER, SESSION, caller_of, json_answer, while_connected
from .endpoint import Asked, Endpoint, Nothing, Other, Told, endpoint
from .tools import Arguments

NAME: Final = {"skill": "The name by which agents know the skill"}


class SkillSummary(Told):
    name: str
    connector: str
    id: str
    title: str
    description: str
    when_to_use: str
    signature: str
    tools: list[str] = Field(description="The ids of the tools that it names")


class SkillList(Told):
    skills: list[SkillSummary]


class StepTold(Told):
    alias: str
    tool: str
    params: dict[str, Any]


class SkillDetail(SkillSummary):
    input_schema: dict[str, Any]
    template: str
    steps: list[StepTold]


class PromptTold(Told):
    prompt: str | None = Field(description="What an agent is given, with the arguments in it")
    messages: Any = Field(None, description="The messages that the skill's own graph makes, where it makes them")


@endpoint("GET", "/skills", tag="skills", summary="List the skills that agents are offered", answer=SkillList)
async def list_skills(asked: Asked[Nothing, Nothing]) -> SkillList:
    return SkillList(skills=[SkillSummary(**_summary(one)) for one in asked.service.offer.skills.values()])


@endpoint("GET", "/skills/{skill}", tag="skills", summary="One skill", answer=SkillDetail, parameters=NAME,
          errors=(Code.TOOL_NOT_FOUND,))  # fmt: skip
async def get_skill(asked: Asked[Nothing, Nothing]) -> SkillDetail:
    one = _offered(asked)
    steps = [StepTold(alias=s.alias, tool=s.tool, params=dict(s.params)) for s in one.skill.steps]
    return SkillDetail(
        **_summary(one), input_schema=dict(one.skill.input_schema), template=one.skill.prompt, steps=steps
    )


@endpoint("POST", "/skills/{skill}/prompt", tag="skills", summary="The prompt of a skill", body=Arguments,
          answer=PromptTold, parameters=NAME, errors=FAILURES)  # fmt: skip
async def get_prompt(asked: Asked[Nothing, Arguments]) -> PromptTold:
    """As `prompts/get` over MCP gives it. Nothing is run, but for a skill whose own graph makes its messages."""
    one = _offered(asked)
    if one.skill.gives_messages:
        return PromptTold(prompt=None, messages=(await _ran(asked, one)).body)
    arguments = coerce(one.skill.input_schema, asked.body.arguments)
    return PromptTold(prompt=prompt_text(asked.service.offer, one, arguments))


@endpoint("POST", "/skills/{skill}/run", tag="skills", summary="Run a skill", body=Arguments,
          others=(Other("application/json", {}),), parameters=NAME, errors=FAILURES,
          headers=((SESSION, "request", "The session to which this call is counted", False),
                   (RUN_HEADER, "response", "The id of the run, for /api/runs", False)))  # fmt: skip
async def run_skill(asked: Asked[Nothing, Arguments]) -> Response:
    """Its steps are run, and what the last one gives is the answer; a skill without steps gives its prompt, or what the
    configured model answers.
    """
    return json_answer(await _ran(asked, _offered(asked)))


async def _ran(asked: Asked[Any, Arguments], one: OfferedSkill) -> Answer:
    call = ServedCall(caller_of(asked), one.name, asked.body.arguments, secrets.token_hex(8))
    return await while_connected(asked.request, asked.service.perform(call, one.connector, one.skill))


def _offered(asked: Asked[Any, Any]) -> OfferedSkill:
    name = asked.path["skill"]
    found = asked.service.offer.skills.get(name)
    if found is None:
        raise not_found("skill", name, asked.service.offer.skills)
    return found


def _summary(one: OfferedSkill) -> dict[str, Any]:
    skill = one.skill
    return {
        "name": one.name,
        "connector": one.connector.slug,
        "id": skill.id,
        "title": skill.name,
        "description": skill.description,
        "when_to_use": skill.when_to_use,
        "signature": signature(skill),
        "tools": list(dict.fromkeys((*skill.tool_ids, *(step.tool for step in skill.steps)))),
    }


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_skills, get_skill, get_prompt, run_skill)
