"""A file of the workspace discovered: its rows, by the node that will read them."""

from __future__ import annotations

import json
import os
from typing import Final

from ...connectors.discovery.columns import columns_of
from ...connectors.discovery.envelope import Envelope, envelope_of
from ...connectors.discovery.found import Found
from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Json
from ...nodes.blocking import in_thread
from ...nodes.files.confine import locate, open_file
from ..app import UPLOADS
from .bench import Bench
from .configuration import checked
from .sampling import counted, sample

LARGEST: Final = 16 * 2**20  # bytes of a JSON file that is looked into for its records


async def discover_file(bench: Bench, source: dict[str, Json]) -> list[Found]:
    """The rows of a file below `connectors/` or `uploads/`, or a root that the operator declared.

    Raises what reading it raises: for a path outside, a file that is not there, one that is not what it seems.
    """
    warnings: tuple[str, ...] = ()
    place = checked(bench, source)
    try:
        found = await sample(bench, place)
    except JackfieldError as error:
        envelope = await in_thread(lambda: _envelope(bench, source)) if error.code is Code.SOURCE_BAD_REPLY else None
        if envelope is None or not envelope.path:
            raise
        source, warnings = {**source, "data_path": envelope.path}, envelope.warnings
        place = checked(bench, source)
        found = await sample(bench, place)
    name = str(source["id"])
    rows = found.rows.num_rows if found.is_whole else await counted(bench, place)
    return [Found(name, source, columns_of(found.rows, name), rows, True, warnings=warnings)]


def _envelope(bench: Bench, source: dict[str, Json]) -> Envelope | None:
    """Where the records of a JSON file are that is no plain list; None for any other file, and for a large one."""
    path = str(source["path"])
    is_json = source.get("format", "json" if path.lower().endswith(".json") else "") == "json"
    if not is_json or "data_path" in source:
        return None
    roots = (bench.workspace / UPLOADS, *bench.app.settings.roots)
    with os.fdopen(open_file(locate(path, bench.connectors, roots)), "rb") as file:
        content = file.read(LARGEST + 1)
    try:
        return envelope_of(json.loads(content), str(source["id"])) if len(content) <= LARGEST else None
    except (ValueError, RecursionError):
        return None
