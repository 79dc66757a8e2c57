"""/api/sources: where rows come from, whether their credentials are there, and a look into them."""

from __future__ import annotations

import os
from typing import Any, Final, Literal

from pydantic import Field

from ...connectors.masking import masked
from ...connectors.model import Connector, Source
from ...graphs.errors import Code
from ...nodes.secrets import demands
from ..faults import not_found
from ..preview import declared_columns, preview
from ..service import Service
from .calling import FAILURES, caller_of
from .endpoint import Asked, Endpoint, Given, Nothing, Told, endpoint

PART: Final = {"connector": "The connector's slug", "source": "The source's id"}
AUTH_FIELDS: Final = ("auth", "dsn", "url", "headers")


class Column(Told):
    name: str
    type: str


class SourceTold(Told):
    """`auth`: `none` is asked for; `ready`: every variable that it names is set; `missing`: one of them is not."""

    connector: str
    id: str
    title: str
    type: str
    tables: list[str] = Field(description="What SQL may call it")
    place: str = Field(description="Its path, address, table or query as it is written, without credentials")
    auth: Literal["none", "ready", "missing"]
    variables: list[str] = Field(description="The environment variables that it names")
    missing: list[str] = Field(description="Those of them that are not set")
    columns: list[Column] | None = Field(description="The columns that the connector declares")
    tools: list[str] = Field(description="The tools whose SQL reads it, by id")


class SourceList(Told):
    sources: list[SourceTold]


class Look(Given):
    rows: int = Field(20, ge=1, le=100, description="How many rows to show")


class Looked(Told):
    columns: list[Column]
    rows: list[dict[str, Any]]
    row_count: int


@endpoint("GET", "/sources", tag="sources", summary="List the sources of all connectors", answer=SourceList,
          operator=True)  # fmt: skip
async def list_sources(asked: Asked[Nothing, Nothing]) -> SourceList:
    """No source is asked anything."""
    service = asked.service
    connectors = service.app.catalog.connectors.values()
    return SourceList(
        sources=[source_told(service, one, source) for one in connectors for source in one.sources.values()]
    )


@endpoint("GET", "/connectors/{connector}/sources/{source}", tag="sources", summary="One source", answer=SourceTold,
          operator=True, parameters=PART, errors=(Code.TOOL_NOT_FOUND,))  # fmt: skip
async def get_source(asked: Asked[Nothing, Nothing]) -> SourceTold:
    one, source = _found(asked)
    return source_told(asked.service, one, source)


@endpoint("POST", "/connectors/{connector}/sources/{source}/preview", tag="sources",
          summary="Columns and first rows of a source", body=Look, answer=Looked, operator=True, parameters=PART,
          errors=FAILURES)  # fmt: skip
async def preview_source(asked: Asked[Nothing, Look]) -> Looked:
    """The source is asked now, as a call that the audit records. Values of columns named as secrets are not shown."""
    one, source = _found(asked)
    answer = await preview(asked.service, caller_of(asked), one, source, rows=asked.body.rows)
    return Looked.model_validate(answer.body)


def _found(asked: Asked[Any, Any]) -> tuple[Connector, Source]:
    one = asked.service.app.connector(asked.path["connector"])
    source = one.sources.get(asked.path["source"])
    if source is None:
        raise not_found("source", asked.path["source"], one.sources, f" in connector '{one.slug}'")
    return one, source


def source_told(service: Service, connector: Connector, source: Source) -> SourceTold:
    known = os.environ if service.app.variables is None else service.app.variables
    variables = list(dict.fromkeys(name for _, name in demands(dict(source.configuration))))
    missing = [name for name in variables if not known.get(name)]
    names = {source.id, *source.names}
    declared = declared_columns(source)
    return SourceTold(
        connector=connector.slug,
        id=source.id,
        title=source.title,
        type=source.type,
        tables=list(source.names) or [source.id],
        place=place_of(source),
        auth="missing" if missing else "ready" if variables else "none",
        variables=variables,
        missing=missing,
        columns=None if declared is None else [Column.model_validate(column) for column in declared],
        tools=[tool.id for tool in connector.tools.values() if tool.at in names or _reads(tool.sql, names)],
    )


def place_of(source: Source) -> str:
    """As it is written, where secrets are only named; a DSN is not shown."""
    shown = [source.configuration.get(name) for name in ("path", "url", "table", "query")]
    return masked(" ".join(text for text in shown if isinstance(text, str) and "@" not in text))


def _reads(sql: str | None, names: set[str]) -> bool:
    """By the words of the SQL: parsing every tool's would take long where there are hundreds."""
    if sql is None:
        return False
    words = set(sql.replace('"', " ").replace(",", " ").replace("(", " ").replace(")", " ").replace(".", " ").split())
    return bool(words & names)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_sources, get_source, preview_source)
