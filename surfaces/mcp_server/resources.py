"""resources/list, resources/templates/list and resources/read, over the shelves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    InputRequiredResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ...graphs.errors import Code, JackfieldError
from .asking import client_of
from .callers import Context, caller_of
from .listing import page_of
from .log_levels import LogLevels
from .shelf import Shelf

NOT_FOUND_IN_A_SESSION = -32002  # until 2025-11-25; after that, what is not there is an invalid parameter
MISFITS: Final = frozenset((Code.VALIDATION_INVALID_PARAMS, Code.VALIDATION_MISSING_FIELD))


class Resources:
    """The handlers of one server. A URI belongs to the first shelf that has it."""

    def __init__(self, shelves: Sequence[Shelf], levels: LogLevels) -> None:
        self._shelves = tuple(shelves)
        self._levels = levels

    async def list(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        every = [resource for shelf in self._shelves for resource in shelf.resources()]
        page, cursor = page_of(every, params, lambda resource: resource.uri)
        return ListResourcesResult(resources=page, next_cursor=cursor)

    async def templates(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        every = [template for shelf in self._shelves for template in shelf.templates()]
        page, cursor = page_of(every, params, lambda template: template.uri_template)
        return ListResourceTemplatesResult(resource_templates=page, next_cursor=cursor)

    async def read(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult | InputRequiredResult:
        """Raises MCPError: not found in the code of the era; with our error as data -32602 for a parameter that does
        not fit, and -32603 when reading failed.
        """
        client = client_of(ctx, params, self._levels)
        try:
            for shelf in self._shelves:
                contents = await shelf.read(params.uri, caller_of(ctx), client)
                if contents is not None:
                    return ReadResourceResult(contents=contents)
        except JackfieldError as error:
            if (asked := client.unanswered(error)) is not None:
                return asked
            raise MCPError(_code(ctx, error.code), str(error.bounded()), error.as_json()) from None
        raise MCPError(_not_found(ctx), f"There is no resource {params.uri[:200]!r}.", {"uri": params.uri[:2_000]})


def _code(ctx: Context, code: Code) -> int:
    if code is Code.RESULT_EXPIRED:
        return _not_found(ctx)
    return INVALID_PARAMS if code in MISFITS else INTERNAL_ERROR


def _not_found(ctx: Context) -> int:
    return INVALID_PARAMS if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else NOT_FOUND_IN_A_SESSION
