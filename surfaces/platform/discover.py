"""`elliot_discover_source`: what is at an address, in a database or in a file, as sources that are ready to use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import anyio

from ...connectors.discovery.found import Found
from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Json
from .bench import Bench
from .configuration import KINDS, native_source
from .discover_database import discover_database
from .discover_file import discover_file
from .discover_rest import discover_rest
from .fitting import many, one
from .tool import PlatformTool, answer_of, hints, object_of
from .variables import require_allowed

PATIENCE_S: Final = 120.0
COLUMNS: Final[Mapping[str, Json]] = {
    "type": "array",
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "type": {"type": "string"}}},
}


async def discovered(bench: Bench, source_type: str, config: Mapping[str, Any], name: str) -> list[Found]:
    """What a source of this kind is, several where it has several tables. Raises what looking at it raises."""
    return await found_in(bench, native_source(source_type, config, name))


async def found_in(bench: Bench, source: dict[str, Json]) -> list[Found]:
    """What is in a native source object in its first spelling. ACCESS_DENIED for a variable that may not go there."""
    require_allowed(bench, source)
    match source["type"]:
        case "rest":
            return await discover_rest(bench, source)
        case "postgres":
            return await discover_database(bench, "postgres", source)
        case "mysql":
            return await discover_database(bench, "mysql", source)
        case _:
            return await discover_file(bench, source)


async def run(bench: Bench, arguments: Mapping[str, Any], principal: str) -> dict[str, Json]:
    name = arguments["name"] or ""
    with anyio.move_on_after(PATIENCE_S) as patience:
        found = await discovered(bench, arguments["source_type"], arguments["config"], name)
    if patience.cancelled_caught:
        raise JackfieldError(
            Code.SOURCE_TIMEOUT,
            f"The source was not looked at to the end in {PATIENCE_S:.0f} s.",
            "Name one table or one address: less is looked at then.",
        )
    for each in found:
        bench.remember(principal, each)
    if len(found) == 1:
        return {**one(found[0]), "tables": []}
    return {
        "source_id": None,
        "table_name": None,
        "row_count": None,
        "row_count_is_exact": False,
        "columns": [],
        "warnings": [],
        "pagination": None,
        "auth": next((dict(each.auth) for each in found if each.auth), None),
        "source": None,
        "tables": many(found),
    }


NULLABLE: Final = ["object", "null"]
DISCOVER: Final = PlatformTool(
    name="elliot_discover_source",
    title="Discover a source",
    description=(
        "Show what is in a REST API, an OpenAPI document, a database or a file: its columns, keys, pages, the "
        "credentials it needs, and a source object for build-connector. Changes nothing there, but the variables that "
        "config names are sent to it as credentials: those that the person allowed in discover.variables, or that a "
        "served connector sends there. Secrets are named, never given: write {{ env:NAME }} in an address, or "
        "auth.secret_key."
    ),
    input_schema=object_of(
        {
            "source_type": {"type": "string", "enum": list(KINDS), "description": "What it is; openapi for a document"},
            "config": {
                "type": "object",
                "description": (
                    "rest: {url, params?, headers?, auth?, data_path?, pagination?}; postgres and mysql: {dsn, table? "
                    "or query?}, without them every table; file: {path, format?, data_path?, table?} where path is "
                    "that of an upload (uploads/…) or below connectors/. The fields of a connector's source all hold"
                ),
            },
            "name": {"type": "string", "description": "What to call it in SQL, snake_case; by its address if absent"},
        },
        ("source_type", "config"),
    ),
    output_schema=answer_of(
        {
            "source_id": {"type": ["string", "null"], "description": "Name it so in build-connector"},
            "table_name": {"type": ["string", "null"]},
            "row_count": {"type": ["integer", "null"]},
            "columns": COLUMNS,
            "warnings": {"type": "array", "items": {"type": "string"}},
            "pagination": {"type": NULLABLE},
            "auth": {"type": NULLABLE, "description": "required, and what to add where credentials are needed"},
            "source": {"type": NULLABLE, "description": "The source object of a connector file"},
            "tables": {
                "type": "array",
                "items": {"type": "object"},
                "description": "The same of each, where there are several tables or operations",
            },
        }
    ),
    annotations=hints(outside=True),  # what is sent where is the caller's choice, so a client should ask before
    run=run,
)
