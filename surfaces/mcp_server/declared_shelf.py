"""The resources that connectors declare: by their own URI, or by a template's."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import mcp_types

from ...connectors.model import Connector, Resource
from ...graphs.errors import Code, JackfieldError
from ...nodes.base import Client
from ...nodes.examples import example
from ..served import Caller, ServedCall
from ..service import Service
from .blocks import contents_of
from .known_values import listed
from .shelf import Contents


class Declared:
    """The shelf of all connectors' resources. Reading one is a served call, as of a tool."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def resources(self) -> Iterable[mcp_types.Resource]:
        for _, resource in self._every():
            if not resource.is_template:
                yield mcp_types.Resource(uri=resource.uri, **_entry(resource))

    def templates(self) -> Iterable[mcp_types.ResourceTemplate]:
        for _, resource in self._every():
            if resource.is_template:
                yield mcp_types.ResourceTemplate(uri_template=resource.uri, **_entry(resource))

    async def read(self, uri: str, caller: Caller, client: Client | None = None) -> Contents | None:
        for owner, resource in self._every():
            arguments = resource.arguments(uri)
            if arguments is not None:
                call = ServedCall(caller, uri, arguments, secrets.token_hex(8))
                try:
                    answer = await self._service.perform(call, owner, resource, client=client)
                except JackfieldError as error:
                    raise _in_uri(error, resource) from error.__cause__
                return contents_of(answer.body, resource.uri)
        return None

    def values(self, template: str, argument: str, given: Mapping[str, str]) -> Sequence[str] | None:
        for _, resource in self._every():
            if resource.is_template and resource.uri == template:
                schema = (resource.input_schema.get("properties") or {}).get(argument)
                return None if schema is None else listed(schema) or ()
        return None

    def _every(self) -> list[tuple[Connector, Resource]]:
        """Own URIs before templates, which may fit them too. Of two with one URI the first by sorted path is there."""
        found: dict[str, tuple[Connector, Resource]] = {}
        for connector in self._service.app.catalog.connectors.values():
            for uri, resource in connector.resources.items():
                found.setdefault(uri, (connector, resource))
        return sorted(found.values(), key=lambda each: each[1].is_template)


def _in_uri(error: JackfieldError, resource: Resource) -> JackfieldError:
    """An argument that does not fit stands in the URI, where it has no quotes to be left out."""
    name = error.details.get("parameter")
    schema = (resource.input_schema.get("properties") or {}).get(name)
    if error.code is not Code.VALIDATION_INVALID_PARAMS or schema is None:
        return error
    value = example(schema)
    shows = "" if value is None else f", for example {resource.uri.replace(f'{{{name}}}', str(value))}"
    return replace(error, hint=f"Put {error.details.get('expected')} for {{{name}}} in {resource.uri}{shows}.")


def _entry(resource: Resource) -> dict[str, Any]:
    entry = {"name": resource.name, "title": resource.title, "description": resource.description}
    return {name: value for name, value in (entry | {"mime_type": resource.mime_type}).items() if value}
