"""Run by `test_saves_kill.py` in a process of its own: saves in forked children, killed at random moments.

This process imports everything and starts no thread, so that forking it is safe and quick. Each round forks a child
that saves and is killed, then a child that reads the target with the format's plain reader and tells what it found.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import anyio
import duckdb
import pyarrow as pa
from servers.stand import stand

from jackfield.nodes.saves import by_name
from jackfield.nodes.table import Table

Row = tuple[int, int]  # id, generation
BATCH_ROWS = 40
BATCHES = 5
PAUSE_S = 0.002
WARM = ("asyncio", "anyio._backends._asyncio", "pyarrow.dataset", "msgspec", "ctypes", "jackfield.nodes.files.duck")
WARM_KINDS = {
    "delta": ("deltalake",),
    "iceberg": ("pyiceberg.catalog.sql", "pyiceberg.io.pyarrow", "sqlalchemy.dialects.sqlite", "pyiceberg.avro.file"),
    "postgres": ("adbc_driver_postgresql.dbapi",),
    "mysql": ("asyncmy",),
}
FIELDS: list[pa.Field[Any]] = [
    pa.field("id", pa.int64()),
    pa.field("generation", pa.int64()),
    pa.field("part", pa.string()),
]
SCHEMA = pa.schema(FIELDS)


def batch(ids: range, generation: int) -> pa.RecordBatch:
    parts = [f"p{value % 3}" for value in ids]
    return pa.RecordBatch.from_arrays(
        [pa.array(ids), pa.array([generation] * len(ids), pa.int64()), pa.array(parts)], schema=SCHEMA
    )


def slowed(name: str) -> None:
    """Let kills land just before and just after a step that matters."""
    real: Callable[..., Any] = getattr(os, name)

    def slow(*args: Any, **kwargs: Any) -> Any:
        time.sleep(PAUSE_S)
        result = real(*args, **kwargs)
        time.sleep(PAUSE_S)
        return result

    setattr(os, name, slow)


async def save(kind: str, fields: dict[str, Any], folder: Path, first: int, generation: int) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(BATCHES):
            yield batch(range(first + number * BATCH_ROWS, first + (number + 1) * BATCH_ROWS), generation)
            time.sleep(PAUSE_S)

    save_type = by_name()[kind]
    config = save_type.configuration.model_validate(fields)
    table = Table.stream(pa.RecordBatchReader.from_batches(SCHEMA, batches()))
    async with stand(folder=folder) as context:
        await save_type.save(config, table, context)


def in_child(work: Callable[[], object]) -> int:
    """The process id of a child that does `work` and ends without any farewell of Python's."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def read(kind: str, fields: dict[str, Any], folder: Path) -> set[Row] | None:
    """All rows of the target, each once, read in a child; None when there is no target yet."""
    answer, tell = os.pipe()
    child = in_child(lambda: write_all(tell, json.dumps(READERS[kind](folder / fields.get("path", ""), fields))))
    os.close(tell)
    with os.fdopen(answer, "rb") as pipe:
        text = pipe.read()
    assert os.waitpid(child, 0)[1] == 0, "the target cannot be read"
    rows = json.loads(text)
    if rows is None:
        return None
    found = [(int(row[0]), int(row[1])) for row in rows]
    assert len(found) == len(set(found)), "the target holds rows twice"
    return set(found)


def write_all(descriptor: int, text: str) -> None:
    with os.fdopen(descriptor, "wb") as pipe:
        pipe.write(text.encode())


Found = list[list[int]] | None


def read_file(path: Path, fields: dict[str, Any]) -> Found:
    if not path.exists():
        return None
    functions = {".parquet": "read_parquet", ".csv": "read_csv", ".json": "read_json", ".jsonl": "read_json"}
    function, pattern = functions.get(path.suffix, "read_parquet"), path if path.is_file() else f"{path}/**/*.parquet"
    return duckdb.connect().sql(f"SELECT id, generation FROM {function}('{pattern}')").fetchall()  # type: ignore[return-value]


def read_duckdb(path: Path, fields: dict[str, Any]) -> Found:
    if not path.exists():
        return None
    with duckdb.connect(str(path)) as database:  # as the next writer will: this replays the log
        return database.sql("SELECT id, generation FROM t").fetchall()  # type: ignore[return-value]


def read_sqlite(path: Path, fields: dict[str, Any]) -> Found:
    if not path.exists():
        return None
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return database.execute("SELECT id, generation FROM t").fetchall()


def read_delta(path: Path, fields: dict[str, Any]) -> Found:
    import deltalake

    if not deltalake.DeltaTable.is_deltatable(str(path)):
        return None
    return pairs(pa.table(deltalake.DeltaTable(str(path)).to_pyarrow_table()))


def read_iceberg(path: Path, fields: dict[str, Any]) -> Found:
    from pyiceberg.catalog.sql import SqlCatalog

    if not (path / "catalog.db").exists():
        return None
    catalog = SqlCatalog("default", uri=f"sqlite:///{path}/catalog.db", warehouse=f"file://{path}")
    if not catalog.table_exists("default.t"):
        return None
    return pairs(catalog.load_table("default.t").scan().to_arrow())


def read_postgres(path: Path, fields: dict[str, Any]) -> Found:
    dbapi: Any = importlib.import_module("adbc_driver_postgresql.dbapi")
    with dbapi.connect(fields["dsn"]) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('t') IS NOT NULL")
        if not cursor.fetchone()[0]:
            return None
        cursor.execute("SELECT id, generation FROM t")
        rows: Found = cursor.fetchall()
        return rows


def read_mysql(path: Path, fields: dict[str, Any]) -> Found:
    return anyio.run(read_mysql_table, fields["dsn"])


async def read_mysql_table(dsn: str) -> Found:
    import asyncmy

    url = urlsplit(dsn)
    settings: dict[str, Any] = {"user": unquote(url.username or ""), "password": unquote(url.password or "")}
    connection = await asyncmy.connect(host=url.hostname, port=url.port, db=url.path.strip("/"), **settings)
    try:
        async with connection.cursor() as cursor:
            await cursor.execute("SHOW TABLES LIKE 't'")
            if not await cursor.fetchall():
                return None
            await cursor.execute("SELECT id, generation FROM t")
            return list(await cursor.fetchall())
    finally:
        connection.close()


def pairs(table: pa.Table) -> Found:
    return [[row["id"], row["generation"]] for row in table.to_pylist()]


READERS: dict[str, Callable[[Path, dict[str, Any]], Found]] = {
    "parquet": read_file,
    "csv": read_file,
    "json": read_file,
    "jsonl": read_file,
    "duckdb": read_duckdb,
    "sqlite": read_sqlite,
    "delta": read_delta,
    "iceberg": read_iceberg,
    "postgres": read_postgres,
    "mysql": read_mysql,
}


def rounds(kind: str, fields: dict[str, Any], folder: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kill `kills` saves. The target must be as it was, or as the save would have left it, each time."""
    chance = random.Random(seed)
    modes = [mode for mode in by_name()[kind].modes if mode != "upsert" or kind != "iceberg"]
    state: set[Row] = set()
    tally = {"old": 0, "new": 0, "finished": 0, "kills": 0}
    span = 0.2
    generation = 0
    while tally["kills"] < kills:
        generation += 1
        mode = chance.choice(modes) if len(state) < 3_000 else "overwrite"
        first = generation * 10_000 if mode != "upsert" else chance.choice([row[0] for row in sorted(state)] or [0])
        whole = {(value, generation) for value in range(first, first + BATCHES * BATCH_ROWS)}
        ids = {row[0] for row in whole}
        new = {"append": state | whole, "overwrite": whole, "upsert": whole | {r for r in state if r[0] not in ids}}
        settings = fields | {"mode": mode} | ({"key": ["id"]} if mode == "upsert" else {})
        started = time.monotonic()
        child = in_child(partial(anyio.run, save, kind, settings, folder, first, generation))
        time.sleep(0 if generation == 1 else chance.uniform(0, span))
        if generation > 1:
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            tally["kills"] += 1
        else:
            assert status == 0, f"the save failed by itself ({mode})"
            tally["finished"] += 1
            span = time.monotonic() - started if generation == 1 else span * 0.95
        found = read(kind, fields, folder) or set()
        if status == 0 or found != state:
            assert found == new[mode], f"{kind} {mode}: torn after {tally}: {len(state)} -> {len(found)} rows"
            tally["new"] += os.WIFSIGNALED(status)
        else:
            tally["old"] += 1
            span *= 1.03
        state = found
    clean = in_child(partial(anyio.run, save, kind, fields | {"mode": "overwrite"}, folder, 0, 0))
    assert os.waitpid(clean, 0)[1] == 0
    return tally | {"left": sorted(name for name in os.listdir(folder))}


if __name__ == "__main__":
    for step in ("replace", "rename", "fsync"):
        slowed(step)
    for module in WARM + WARM_KINDS.get(sys.argv[1], ()):
        importlib.import_module(module)
    kind_, folder_ = sys.argv[1], Path(sys.argv[3])
    print(json.dumps(rounds(kind_, json.loads(sys.argv[2]), folder_, int(sys.argv[4]), int(sys.argv[5]))))
