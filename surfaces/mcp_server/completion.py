"""completion/complete: what an argument of a prompt or of a resource template may be, by how it begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CompleteRequestParams, CompleteResult, Completion, PromptReference

from ..service import Service
from .authoring import CONNECTORS, guides
from .callers import Context
from .known_values import KnownValues
from .shelf import Shelf
from .skills import arguments_of

MOST: Final = 100  # as MCP has it


class Completions:
    """The handler of one server."""

    def __init__(self, service: Service, shelves: Sequence[Shelf]) -> None:
        self._service = service
        self._shelves = tuple(shelves)
        self._known = KnownValues(service.app)

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        """Raises MCPError -32602 for a prompt, template or argument that is not there."""
        name = params.argument.name
        given = (params.context.arguments if params.context is not None else None) or {}
        if isinstance(params.ref, PromptReference):
            values = await self._of_prompt(params.ref.name, name)
        else:
            values = self._of_template(params.ref.uri, name, given)
        if values is None:
            what = params.ref.name if isinstance(params.ref, PromptReference) else params.ref.uri
            raise MCPError(INVALID_PARAMS, f"There is no {what[:200]!r} with an argument {name[:200]!r}.")
        begun = params.argument.value.casefold()
        fitting = [value for value in dict.fromkeys(values) if value.casefold().startswith(begun)]
        shown = fitting[:MOST]
        return CompleteResult(completion=Completion(values=shown, total=len(fitting), has_more=len(fitting) > MOST))

    async def _of_prompt(self, prompt: str, name: str) -> Sequence[str] | None:
        guide = guides().get(prompt)
        if guide is not None:
            argument = next((each for each in guide.arguments if each.name == name), None)
            if argument is not None and argument.values == (CONNECTORS,):
                return list(self._service.app.catalog.connectors)
            return None if argument is None else argument.values
        offered = self._service.offer.skills.get(prompt)
        if offered is None or all(name != argument for argument, _, _ in arguments_of(offered.skill)):
            return None
        return await self._known.of(offered, name)

    def _of_template(self, uri: str, name: str, given: Mapping[str, str]) -> Sequence[str] | None:
        for shelf in self._shelves:
            values = shelf.values(uri, name, given)
            if values is not None:
                return values
        return None
