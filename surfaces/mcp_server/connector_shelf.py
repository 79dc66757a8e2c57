"""What is known of each connector: its sources with their columns, its tools and skills; sample rows of a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import anyio
from mcp_types import Resource, ResourceTemplate

from ...connectors.model import Connector, Skill, Source, Tool
from ...nodes.base import Client
from ..preview import columns_of, preview
from ..served import Caller
from ..service import Service
from ..signatures import signature
from .shelf import JSON, Contents, json_contents

ROOT: Final = "jackfield://connectors/"
SCHEMA: Final = f"{ROOT}{{connector}}/schema"
SAMPLE: Final = f"{ROOT}{{connector}}/sources/{{source}}/sample"


class Connectors:
    """The shelf of `jackfield://connectors/{connector}/schema` and `…/{connector}/sources/{source}/sample`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def resources(self) -> Iterable[Resource]:
        for connector in self._service.app.catalog.connectors.values():
            yield Resource(
                uri=schema_uri(connector),
                name=f"{connector.slug} schema",
                title=f"{connector.name}: schema",
                description=f"Sources of {connector.name} with their columns, its tools and its skills.",
                mime_type=JSON,
            )
            for source in connector.sources.values():
                yield Resource(
                    uri=sample_uri(connector, source),
                    name=f"{connector.slug} {source.id} sample",
                    title=f"{connector.name}: rows of {source.id}",
                    description=f"The first rows of the source {source.id}, asked for when this is read.",
                    mime_type=JSON,
                )

    def templates(self) -> Iterable[ResourceTemplate]:
        yield ResourceTemplate(
            uri_template=SCHEMA,
            name="schema",
            title="Schema of a connector",
            description="Its sources with their columns, its tools and its skills.",
            mime_type=JSON,
        )
        yield ResourceTemplate(
            uri_template=SAMPLE,
            name="sample",
            title="Sample rows of a source",
            description="The first rows of one source of a connector, asked for when this is read.",
            mime_type=JSON,
        )

    def values(self, template: str, argument: str, given: Mapping[str, str]) -> Sequence[str] | None:
        connectors = self._service.app.catalog.connectors
        if template in (SCHEMA, SAMPLE) and argument == "connector":
            return tuple(connectors)
        if template == SAMPLE and argument == "source":
            chosen = connectors.get(given.get("connector", ""))
            every = connectors.values() if chosen is None else (chosen,)
            return [source for connector in every for source in connector.sources]
        return None

    async def read(self, uri: str, caller: Caller, client: Client | None = None) -> Contents | None:
        if not uri.startswith(ROOT):
            return None
        slug, *rest = uri.removeprefix(ROOT).split("/")
        connector = self._service.app.catalog.connectors.get(slug)
        if connector is None:
            return None
        match rest:
            case ["schema"]:
                return json_contents(uri, await self._schema(connector, caller))
            case ["sources", id, "sample"] if id in connector.sources:
                answer = await preview(self._service, caller, connector, connector.sources[id])
                return json_contents(uri, answer.body)
        return None

    async def _schema(self, connector: Connector, caller: Caller) -> dict[str, Any]:
        sources: dict[str, dict[str, Any]] = {name: {} for name in connector.sources}

        async def ask(source: Source) -> None:
            known = {"id": source.id, "type": source.type, "tables": list(source.names)}
            sources[source.id] = known | await columns_of(self._service, caller, connector, source)

        async with anyio.create_task_group() as tasks:
            for source in connector.sources.values():
                tasks.start_soon(ask, source)
        offer = self._service.offer
        return {
            "connector": connector.slug,
            "name": connector.name,
            "version": connector.version,
            "description": connector.description,
            "instructions": connector.instructions,
            "sources": list(sources.values()),
            "tools": [_described(name, each.tool) for name, each in offer.tools.items() if each.connector is connector],
            "skills": [
                _described(name, each.skill) for name, each in offer.skills.items() if each.connector is connector
            ],
        }


def _described(name: str, part: Tool | Skill) -> dict[str, Any]:
    described = {"name": name, "signature": signature(part), "description": part.description}
    return described | ({"category": part.category} if isinstance(part, Tool) else {})


def schema_uri(connector: Connector) -> str:
    return f"{ROOT}{connector.slug}/schema"


def sample_uri(connector: Connector, source: Source) -> str:
    return f"{ROOT}{connector.slug}/sources/{source.id}/sample"
