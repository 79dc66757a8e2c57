"""The `file` source: CSV, JSON, Parquet, SQLite and DuckDB files, confined to the connector's folder."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from .base import ROWS, SCAN, Context, Effect, Inputs, Outputs, node
from .blocking import in_thread
from .files.base import FileConfiguration, FileFormat, Read
from .files.confine import WILD, matching
from .files.opened import Opened, open_all
from .files.shape import counted, obeying, shaped
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

    def opened() -> Opened:
        return open_all(matching(path, context.folder, context.roots, f"*{kind.suffixes[0]}"))

    # Looking at one file is cheaper than a thread.
    is_many = WILD.search(path) is not None or "\x00" in path or (context.folder / path).is_dir()
    files = await in_thread(opened) if is_many else opened()
    if kind.read is not None and files.size >= CACHED_BYTES and not config.children:
        tables: Mapping[str, Table] = {ROWS: await pulled(kind.read, files, config, asked(config, scan), context)}
    else:
        tables = await kept(kind, files, config, context)
    return {port: shaped(table, config, scan, is_untyped=kind.is_untyped) for port, table in tables.items()}


def asked(config: FileConfiguration, scan: Scan) -> Scan:
    """What of `scan` may be applied before a declared schema is: under `evolve` the columns, else nothing."""
    if config.declared is None:
        return scan
    return Scan(scan.columns) if config.contract == "evolve" else EVERYTHING


async def pulled(read: Read, files: Opened, config: FileConfiguration, scan: Scan, context: Context) -> Table:
    """The rows that `scan` asks for: a stream where the run may have one."""
    table = await in_thread(lambda: owned(read, files, config, scan), cancel=files.ending.tell)
    table = obeying(table, config, scan, files.text)
    table = counted(table, context.budget)
    if not context.streams:
        await in_thread(table.arrow, cancel=table.cancel)
    context.note("pulled", source=context.node, rows=table.num_rows, bytes=files.size, scan=scan.as_json())
    return table


async def kept(kind: FileFormat, files: Opened, config: FileConfiguration, context: Context) -> Mapping[str, Table]:
    """All rows, from the cache while the files are as they were."""
    fresh = False

    async def pull() -> Mapping[str, Table]:
        nonlocal fresh
        fresh = True
        if kind.read_all is not None:
            read_all = kind.read_all
            tables = await in_thread(lambda: read_all(files, config, context.budget.spend_bytes))
            context.budget.spend_rows(tables[ROWS].num_rows or 0)
            return tables
        assert kind.read is not None
        read = kind.read
        table = await in_thread(lambda: owned(read, files, config, EVERYTHING), cancel=files.ending.tell)
        table = obeying(table, config, EVERYTHING, files.text)
        table = counted(table, context.budget)
        await in_thread(table.arrow, cancel=table.cancel)
        return {ROWS: table}

    key = f"{context.connector}|file:{files.stamp}:{config.model_dump_json(exclude={'cache_ttl_s', 'timeout_s'})}"
    ttl = math.inf if config.cache_ttl_s is None else config.cache_ttl_s
    try:
        tables = await context.cache.tables(key, ttl, pull)
    finally:
        if not fresh:
            files.close()
    context.note("pulled", source=context.node, rows=tables[ROWS].num_rows, bytes=files.size, cached=not fresh)
    return tables


def owned(read: Read, files: Opened, config: FileConfiguration, scan: Scan) -> Table:
    """A table that closes `files`; they are closed as well when there is no table."""
    try:
        return read(files, config, scan)
    except BaseException:
        files.close()
        raise
