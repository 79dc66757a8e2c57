"""/api/connectors: the connectors that are served, and their text: read, checked, replaced whole."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field
from starlette.responses import Response

from ...connectors.model import Connector, Resource
from ...graphs.errors import Code, JackfieldError
from ..connector_files import Files, Stale, Text
from .endpoint import Asked, Endpoint, Given, Nothing, Refused, Told, endpoint, with_headers
from .shapes import FindingTold
from .sources import SourceTold, source_told
from .tools import ToolSummary, names_of, tool_summary

SLUG: Final = {"connector": "The connector's slug"}


class ConnectorSummary(Told):
    slug: str
    name: str
    version: str
    description: str
    format: str
    path: str | None
    editable: bool = Field(description="Whether its text may be replaced here: it lies in the workspace's connectors/")
    sources: int
    tools: int
    skills: int
    resources: int
    saves: int


class ConnectorList(Told):
    connectors: list[ConnectorSummary]
    findings: list[FindingTold] = Field(description="What reading all files found, of those not served too")


class SkillEntry(Told):
    id: str
    name: str
    description: str


class ResourceEntry(Told):
    uri: str = Field(description="Or a template, with its places as {name}")
    name: str
    title: str
    description: str
    mime_type: str
    is_template: bool


class ConnectorDetail(ConnectorSummary):
    instructions: str
    source_list: list[SourceTold]
    tool_list: list[ToolSummary]
    skill_list: list[SkillEntry]
    resource_list: list[ResourceEntry]
    save_list: list[dict[str, Any]] = Field(description="Its saves: id and type")
    findings: list[FindingTold]


class ConnectorText(Told):
    slug: str
    path: str
    text: str
    etag: str = Field(description="What If-Match must say to replace this very text")


class WrittenText(Given):
    text: str = Field(description="The whole connector file")


class NewConnector(Given):
    text: str = Field(description="The whole connector file; its slug names the file")


class Written(Told):
    slug: str
    path: str
    etag: str
    served: bool = Field(description="Whether this text is served now")
    findings: list[FindingTold] = Field(description="Warnings and notes; a text with errors is not written")


@endpoint("GET", "/connectors", tag="connectors", summary="List the connectors that are served", answer=ConnectorList,
          operator=True)  # fmt: skip
async def list_connectors(asked: Asked[Nothing, Nothing]) -> ConnectorList:
    """A file that cannot be read is not served, or serves as it was before the edit: `findings` say so."""
    catalog = asked.service.app.catalog
    files = Files(asked.service)
    summaries = [ConnectorSummary(**_summary(one, files)) for one in catalog.connectors.values()]
    return ConnectorList(connectors=summaries, findings=FindingTold.of_all(catalog.findings))


@endpoint("GET", "/connectors/{connector}", tag="connectors", summary="One connector with its parts",
          answer=ConnectorDetail, operator=True, parameters=SLUG, errors=(Code.TOOL_NOT_FOUND,))  # fmt: skip
async def get_connector(asked: Asked[Nothing, Nothing]) -> ConnectorDetail:
    service = asked.service
    one = service.app.connector(asked.path["connector"])
    names = names_of(service)
    own = [f for f in service.app.catalog.findings if one.path is not None and f.place.file == str(one.path)]
    return ConnectorDetail(
        **_summary(one, Files(service)),
        instructions=one.instructions,
        source_list=[source_told(service, one, source) for source in one.sources.values()],
        tool_list=[tool_summary(names, one, tool) for tool in one.tools.values()],
        skill_list=[SkillEntry(id=s.id, name=s.name, description=s.description) for s in one.skills.values()],
        resource_list=[_resource(resource) for resource in one.resources.values()],
        save_list=[{"id": name, "type": save.get("type")} for name, save in one.saves.items()],
        findings=FindingTold.of_all(own),
    )


@endpoint("GET", "/connectors/{connector}/text", tag="connectors", summary="The text of a connector file",
          answer=ConnectorText, operator=True, parameters=SLUG,
          headers=(("ETag", "response", "What If-Match must say to replace this very text", True),),
          errors=(Code.TOOL_NOT_FOUND, Code.ACCESS_DENIED))  # fmt: skip
async def get_text(asked: Asked[Nothing, Nothing]) -> Response:
    """The text as it lies on the disk, which may be newer than what is served."""
    found = await Files(asked.service).read(asked.path["connector"])
    told = ConnectorText(slug=found.slug, path=str(found.path), text=found.text, etag=found.etag)
    return with_headers(told, {"etag": f'"{found.etag}"', "cache-control": "no-store"})


@endpoint("PUT", "/connectors/{connector}/text", tag="connectors", summary="Replace the text of a connector file",
          body=WrittenText, answer=Written, operator=True, parameters=SLUG,
          headers=(("If-Match", "request", "The etag of the text that is replaced", True),),
          errors=(Code.TOOL_NOT_FOUND, Code.CONFIG_INVALID, Code.ACCESS_DENIED, (Code.VALIDATION_INVALID_PARAMS, 412),
                  (Code.VALIDATION_MISSING_FIELD, 428)))  # fmt: skip
async def put_text(asked: Asked[Nothing, WrittenText]) -> Response:
    """The text is checked as `lint` does, and is not written when there is an error: `details.findings` has them all.

    It is written whole or not at all, inside the workspace's `connectors/` alone, and served when this answers. When
    somebody else has written meanwhile the answer is 412: read again, and merge.
    """
    expected = asked.request.headers.get("if-match", "").strip()
    if not expected:
        missing = JackfieldError(
            Code.VALIDATION_MISSING_FIELD,
            "Which text is to be replaced is not said.",
            "Send `If-Match` with the etag of the text that you read.",
            {"parameter": "If-Match"},
        )
        raise Refused(428, missing)
    try:
        done = await Files(asked.service).replace(asked.path["connector"], asked.body.text, expected.strip('"'))
    except Stale as stale:
        raise Refused(412, stale.error) from None
    return _written(asked, done, 200)


@endpoint("POST", "/connectors", tag="connectors", summary="Write a new connector file", body=NewConnector,
          answer=Written, status=201, operator=True,
          errors=(Code.CONFIG_INVALID, Code.ACCESS_DENIED, (Code.VALIDATION_INVALID_PARAMS, 409)))  # fmt: skip
async def create_connector(asked: Asked[Nothing, NewConnector]) -> Response:
    """Written as `connectors/SLUG.connector.json` when it has no error, and served when this answers.

    The answer is 409 when there is such a file or such a slug already.
    """
    try:
        done = await Files(asked.service).create(asked.body.text)
    except Stale as stale:
        raise Refused(409, stale.error) from None
    return _written(asked, done, 201)


def _written(asked: Asked[Any, Any], done: Text, status: int) -> Response:
    served = asked.service.app.catalog.connectors.get(done.slug)
    told = Written(
        slug=done.slug,
        path=str(done.path),
        etag=done.etag,
        served=served is not None and served.digest == done.etag,
        findings=FindingTold.of_all(done.findings),
    )
    place = f"/api/connectors/{done.slug}/text"
    return with_headers(told, {"etag": f'"{done.etag}"', "location": place}, status)


def _resource(one: Resource) -> ResourceEntry:
    return ResourceEntry(
        uri=one.uri,
        name=one.name,
        title=one.title,
        description=one.description,
        mime_type=one.mime_type,
        is_template=one.is_template,
    )


def _summary(one: Connector, files: Files) -> dict[str, Any]:
    return {
        "slug": one.slug,
        "name": one.name,
        "version": one.version,
        "description": one.description,
        "format": one.format,
        "path": None if one.path is None else str(one.path),
        "editable": files.is_editable(one),
        "sources": len(one.sources),
        "tools": len(one.tools),
        "skills": len(one.skills),
        "resources": len(one.resources),
        "saves": len(one.saves),
    }


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_connectors, get_connector, get_text, put_text, create_connector)
