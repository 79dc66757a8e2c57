"""prompts/list and prompts/get: the connectors' skills, and the prompts of the platform itself."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from ...connectors.offer import OfferedSkill
from ...graphs.errors import JackfieldError
from ...nodes.arguments import coerce, from_text
from ...nodes.base import Client
from ..faults import not_found
from ..served import Caller, ServedCall
from ..service import Service
from ..signatures import type_word
from .asking import client_of
from .authoring import Guide, guides
from .blocks import messages_of
from .callers import Context, caller_of
from .listing import page_of
from .log_levels import LogLevels
from .skills import arguments_of, prompt_text


class Prompts:
    """The handlers of one server."""

    def __init__(self, service: Service, levels: LogLevels) -> None:
        self._service = service
        self._levels = levels

    async def list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        skills = self._service.offer.skills
        entries = [*map(_guide_entry, guides().values()), *map(_skill_entry, skills.values())]
        page, cursor = page_of(entries, params, lambda prompt: prompt.name)
        return ListPromptsResult(prompts=page, next_cursor=cursor)

    async def get(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
        """Raises MCPError -32602 for an unknown prompt, and for arguments that do not fit."""
        client = client_of(ctx, params, self._levels)
        try:
            offered = self._service.offer.skills.get(params.name)
            if offered is not None and offered.skill.gives_messages:
                return await self._made(offered, params.arguments or {}, caller_of(ctx), client)
            return self._get(params.name, params.arguments or {})
        except JackfieldError as error:
            if (asked := client.unanswered(error)) is not None:
                return asked
            raise MCPError(INVALID_PARAMS, str(error.bounded()), error.as_json()) from None

    def _get(self, name: str, given: Mapping[str, str]) -> GetPromptResult:
        offer = self._service.offer
        guide = guides().get(name)
        if guide is not None:
            return _result(guide.description, guide.render(checked(guide.input_schema, given)))
        offered = offer.skills.get(name)
        if offered is None:
            raise not_found("prompt", name, [*guides(), *offer.skills])
        arguments = checked(offered.skill.input_schema, given)
        return _result(offered.skill.description, prompt_text(offer, offered, arguments))

    async def _made(
        self, offered: OfferedSkill, given: Mapping[str, str], caller: Caller, client: Client
    ) -> GetPromptResult:
        """The messages that the skill's graph makes: a served call, as of a tool."""
        skill = offered.skill
        call = ServedCall(caller, offered.name, from_text(skill.input_schema, given), secrets.token_hex(8))
        answer = await self._service.perform(call, offered.connector, skill, client=client)
        return GetPromptResult(description=skill.description, messages=messages_of(answer.body, skill.id))


def checked(schema: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, Any]:
    """Arguments as text, with the types of the schema. Raises VALIDATION_MISSING_FIELD, VALIDATION_INVALID_PARAMS."""
    return coerce(schema, from_text(schema, given))


def _result(description: str, text: str) -> GetPromptResult:
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=description, messages=[message])


def _guide_entry(guide: Guide) -> Prompt:
    arguments = [
        PromptArgument(name=each.name, description=each.description, required=each.required) for each in guide.arguments
    ]
    return Prompt(name=guide.name, title=guide.title, description=guide.description, arguments=arguments)


def _skill_entry(offered: OfferedSkill) -> Prompt:
    skill = offered.skill
    arguments = [
        PromptArgument(name=name, description=_described(schema), required=required)
        for name, schema, required in arguments_of(skill)
    ]
    description = " ".join(filter(None, (skill.description, skill.when_to_use)))
    return Prompt(name=offered.name, title=skill.name, description=description, arguments=arguments)


def _described(schema: Mapping[str, Any]) -> str:
    """What a client shows of an argument, whose type it is not told otherwise."""
    description = str(schema.get("description") or "")
    word = type_word(schema)
    return description if word in ("string", "any") else f"{description} ({word})".strip()
