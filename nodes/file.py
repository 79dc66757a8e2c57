"""The `file` source: CSV, JSON, Parquet, SQLite and DuckDB files, confined to the connector's folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from .base import ROWS, SCAN, Context, Effect, Inputs, Outputs, node
from .blocking import in_thread
from .files.base import FileConfiguration, FileFormat
from .files.confine import matching
from .files.opened import Opened, open_all
from .scan import EVERYTHING, Scan
from .source import SOURCE_INPUTS, SOURCE_OUTPUTS, source_ports
from .table import Table

CACHED_BYTES: Final = 64_000_000  # files up to this size are read whole and kept while they do not change


@node(
    "file",
    description="Rows of CSV, JSON, JSON lines, Parquet, SQLite or DuckDB files",
    effect=Effect.READS,
    configuration=FileConfiguration,
    inputs=SOURCE_INPUTS,
    outputs=SOURCE_OUTPUTS,
    ports_of=source_ports,
)
async def file_node(config: FileConfiguration, inputs: Inputs, context: Context) -> Outputs:
    from .files.formats import format_of

    scan: Scan = inputs.get(SCAN, EVERYTHING)
    kind = format_of(config)
    path = context.secrets.expand(config.path)
    files = await in_thread(lambda: open_all(matching(path, context.folder, context.roots)))
    if files.size < CACHED_BYTES or kind.read_all is not None:
        return dict(await kept(kind, files, config, context))
    table = await in_thread(lambda: kind.read(files, config, scan))
    if not context.streams:
        await in_thread(table.arrow, cancel=table.cancel)
    context.note("pulled", source=context.node, rows=table.num_rows, bytes=files.size, scan=scan.as_json())
    return {ROWS: table}


async def kept(kind: FileFormat, files: Opened, config: FileConfiguration, context: Context) -> Mapping[str, Table]:
    """All rows, from the cache while the files are as they were."""
    pulled = False

    async def pull() -> Mapping[str, Table]:
        nonlocal pulled
        pulled = True
        table = await in_thread(lambda: kind.read(files, config, EVERYTHING))
        await in_thread(table.arrow, cancel=table.cancel)
        return {ROWS: table}

    key = f"file:{files.stamp}:{config.model_dump_json(exclude={'cache_ttl_s', 'timeout_s'})}"
    ttl = math.inf if config.cache_ttl_s is None else config.cache_ttl_s
    try:
        tables = await context.cache.tables(key, ttl, pull)
    finally:
        if not pulled:
            files.close()
    context.note("pulled", source=context.node, rows=tables[ROWS].num_rows, bytes=files.size, cached=not pulled)
    return tables
