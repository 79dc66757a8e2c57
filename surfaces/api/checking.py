"""/api/lint: a text checked as a connector file, wherever it comes from."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from ...connectors.lint import lint
from ...graphs.errors import Code
from ...graphs.findings import has_errors
from ...nodes.blocking import in_thread
from ..connector_files import Files, digest
from .endpoint import Asked, Endpoint, Given, Nothing, Told, endpoint
from .shapes import FindingTold


class Draft(Given):
    text: str = Field(description="The whole connector file")
    connector: str | None = Field(None, description="The slug of the connector whose file it is to replace")


class Checked(Told):
    ok: bool = Field(description="Whether it could be written: there is no error")
    etag: str = Field(description="Of this text")
    findings: list[FindingTold]


@endpoint("POST", "/lint", tag="connectors", summary="Check the text of a connector", body=Draft, answer=Checked,
          operator=True, errors=(Code.TOOL_NOT_FOUND,))  # fmt: skip
async def lint_text(asked: Asked[Nothing, Draft]) -> Checked:
    """Nothing is written, and no source is asked. With `connector` its relative paths are looked up where that lies."""
    files = Files(asked.service)
    slug, text = asked.body.connector, asked.body.text
    path = files.path_of(slug) if slug else files.folder / "draft.connector.json"
    served = asked.service.app.catalog.connectors
    findings = await in_thread(lambda: lint(text, path=path, beside=served))
    return Checked(ok=not has_errors(findings), etag=digest(text), findings=FindingTold.of_all(findings))


ENDPOINTS: Final[tuple[Endpoint, ...]] = (lint_text,)
