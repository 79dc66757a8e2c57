"""/api/settings, /api/doctor, /api/errors, /api/schemas: what is set up here, and the dictionaries of what it says."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from pydantic import Field

from ...connectors.masking import masked
from ...graphs.errors import STATUS, JackfieldError
from ...graphs.findings import Severity
from ..settings import KEYS
from .endpoint import Asked, Endpoint, Nothing, Told, endpoint
from .sources import source_told

PACKAGES: Final = ("jackfield", "duckdb", "pyarrow", "mcp", "httpx2", "starlette", "uvicorn")


class SettingTold(Told):
    name: str
    value: Any
    default: Any
    origin: str = Field(description="`default`, the file, or the environment variable that it came from")
    variable: str = Field(description="The environment variable that sets it")
    meaning: str


class SettingList(Told):
    workspace: str
    settings: list[SettingTold]


class Missing(Told):
    connector: str
    source: str
    variable: str


class Serving(Told):
    connector: str
    running: int = Field(description="Calls that run now")
    waiting: int = Field(description="Calls that wait for their turn")


class DoctorTold(Told):
    versions: dict[str, str]
    ok: bool
    missing: list[Missing] = Field(description="Environment variables that sources name and that are not set")
    broken: list[str] = Field(description="Errors in connector files")
    audit: str | None = Field(description="Why calls cannot be recorded; null when they are")
    bulkheads: list[Serving]


class ErrorCode(Told):
    code: str
    meaning: str
    http_status: int
    exit_code: int


class ErrorList(Told):
    errors: list[ErrorCode]


class SchemaTold(Told):
    json_schema: dict[str, Any] = Field(alias="schema", description="JSON Schema of a connector file")


@endpoint("GET", "/settings", tag="facts", summary="The settings that hold", answer=SettingList, operator=True)
async def list_settings(asked: Asked[Nothing, Nothing]) -> SettingList:
    """They are changed in jackfield.toml or in the environment, not here."""
    settings = asked.service.app.settings
    told = [
        SettingTold(
            name=key.name,
            value=_shown(settings[key.name]),
            default=_shown(key.default),
            origin=settings.settings[key.name].origin,
            variable=key.variable,
            meaning=key.meaning,
        )
        for key in KEYS
    ]
    return SettingList(workspace=str(settings.folder), settings=told)


@endpoint("GET", "/doctor", tag="facts", summary="What is missing or broken", answer=DoctorTold, operator=True)
async def doctor(asked: Asked[Nothing, Nothing]) -> DoctorTold:
    """No source is asked anything."""
    service = asked.service
    catalog = service.app.catalog
    sources = [source_told(service, one, each) for one in catalog.connectors.values() for each in one.sources.values()]
    missing = [
        Missing(connector=one.connector, source=one.id, variable=name) for one in sources for name in one.missing
    ]
    broken = [f"{f.place}: {masked(f.message)}" for f in catalog.findings if f.severity is Severity.ERROR]
    audit = None
    try:
        service.journal.require()
    except JackfieldError as error:
        audit = error.message
    depths = service.bulkheads.depth().items()
    return DoctorTold(
        versions={"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        ok=not (missing or broken or audit),
        missing=missing,
        broken=broken,
        audit=audit,
        bulkheads=[Serving(connector=name, running=running, waiting=waiting) for name, (running, waiting) in depths],
    )


@endpoint("GET", "/errors", tag="facts", summary="What each error code means", answer=ErrorList)
async def list_errors(asked: Asked[Nothing, Nothing]) -> ErrorList:
    return ErrorList(
        errors=[
            ErrorCode(code=code.value, meaning=status.meaning, http_status=status.http, exit_code=status.exit)
            for code, status in STATUS.items()
        ]
    )


@endpoint("GET", "/schemas/connector", tag="facts", summary="The JSON Schema of connector files", answer=SchemaTold)
async def get_connector_schema(asked: Asked[Nothing, Nothing]) -> SchemaTold:
    """What an editor checks and completes a connector file by."""
    from ...connectors.native.schema import connector_schema

    return SchemaTold(schema=dict(connector_schema()))


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    return [masked(part) for part in value] if isinstance(value, tuple) else value


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


ENDPOINTS: Final[tuple[Endpoint, ...]] = (list_settings, doctor, list_errors, get_connector_schema)
