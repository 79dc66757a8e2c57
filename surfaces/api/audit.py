"""/api/audit: the lines of the audit, filtered, in pages and as CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from pydantic import Field
from starlette.responses import Response, StreamingResponse

from ...engine.audit.export import csv_parts, ndjson_parts
from ...engine.audit.reading import Filter, moment
from ...engine.audit.several import read_pages
from ...graphs.errors import Code, JackfieldError
from ...nodes.blocking import in_thread
from ..auditing import audit_folders
from ..served import LOCAL
from .endpoint import Asked, Endpoint, Given, Nothing, Other, Told, endpoint

PLACE: Final = re.compile(r"(audit[-0-9]*):(\d{1,18})", re.ASCII)


class Which(Given):
    """Which lines. `since` and `until` are a time, or how long ago: 30m, 2h, 7d."""

    tool: str | None = None
    connector: str | None = None
    error: str | None = Field(None, description="An error code")
    principal: str | None = None
    session: str | None = None
    run: str | None = None
    failed: bool | None = Field(None, description="true: those with an error; false: those without")
    since: str | None = Field(None, description="2026-11-21, 2026-11-21T08:30:00Z, or 30m, 2h, 7d ago")
    until: str | None = None
    only: str = Field("", description="One audit: `audit`, or `audit-2` and so on of processes beside the first")


class PageOf(Which):
    limit: int = Field(100, ge=1, le=1_000)
    before: str | None = Field(None, description="`before` of the page before this one")


class ExportOf(Which):
    format: Literal["csv", "ndjson"] = "csv"


class AuditPage(Told):
    lines: list[dict[str, Any]] = Field(description="As they were written, the newest first")
    before: str | None = Field(description="Where the next page begins; null at the end")


@endpoint("GET", "/audit", tag="audit", summary="Lines of the audit", query=PageOf, answer=AuditPage,
          errors=(Code.VALIDATION_INVALID_PARAMS,))  # fmt: skip
async def list_audit(asked: Asked[PageOf, Nothing]) -> AuditPage:
    """A page may be short, even empty, though more follow: go on at `before` until it is null. Others than the operator
    see their own lines.
    """
    wanted, folders = _filter(asked), audit_folders(asked.service.app.settings, asked.query.only)
    limit, before = asked.query.limit, _places(asked.query.before)
    page = await in_thread(lambda: read_pages(folders, wanted, limit=limit, before=before))
    return AuditPage(lines=list(page.lines), before=None if page.before is None else _text(page.before))


@endpoint("GET", "/audit/export", tag="audit", summary="The audit as CSV or NDJSON", query=ExportOf,
          others=(Other("text/csv"), Other("application/x-ndjson")),
          errors=(Code.VALIDATION_INVALID_PARAMS,))  # fmt: skip
async def export_audit(asked: Asked[ExportOf, Nothing]) -> Response:
    """The oldest first. In CSV a text that a spreadsheet would take for a formula has an apostrophe before it."""
    wanted = _filter(asked)
    folders = list(audit_folders(asked.service.app.settings, asked.query.only).values())
    is_csv = asked.query.format == "csv"
    parts = csv_parts(folders, wanted) if is_csv else ndjson_parts(folders, wanted)
    media = "text/csv" if is_csv else "application/x-ndjson"
    name = f'attachment; filename="audit.{asked.query.format}"'
    headers = {"content-disposition": name, "cache-control": "no-store"}
    return StreamingResponse(parts, 200, headers, media)


def _text(places: Mapping[str, int]) -> str:
    return ",".join(f"{name}:{seq}" for name, seq in places.items())


def _places(text: str | None) -> dict[str, int] | None:
    """Where in each audit a page begins. Raises VALIDATION_INVALID_PARAMS for what no page gave."""
    if text is None:
        return None
    found = [PLACE.fullmatch(place) for place in text.split(",")]
    if not all(found):
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"'{text[:40]}' is not where a page begins.",
            "Give `before` as the page before this one had it.",
        )
    return {place[1]: int(place[2]) for place in found if place}


def _filter(asked: Asked[Any, Any]) -> Filter:
    """Raises VALIDATION_INVALID_PARAMS for what is no time."""
    given: Which = asked.query
    wanted = Filter(
        tool=given.tool,
        connector=given.connector,
        error=given.error,
        principal=given.principal,
        session_id=given.session,
        run=given.run,
        failed=given.failed,
        since=None if given.since is None else moment(given.since),
        until=None if given.until is None else moment(given.until),
    )
    return wanted if asked.principal == LOCAL else replace(wanted, principal=asked.principal)


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_audit, export_audit)
