"""One tool call over a warm source of 10,000 rows, beside bare DuckDB on the same Arrow table.

Ours is the whole call: arguments checked, the graph run with its events, the SQL on a cursor of the locked database in
a read-only transaction. Peer and call are timed in turns. The seed promises fewer than 5 ms for an isolated call.
Exits with 1 when the median call takes more than 1.5 times bare DuckDB, or 5 ms.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv

from jackfield.engine.tables import Database
from jackfield.nodes.table import Table
from jackfield.surfaces.app import App

MOST = 1.5
SEED_MS = 5.0
ROWS = 10_000
ROUNDS = 400
QUERIES = {
    "look_up": "SELECT id, species, weight FROM animals WHERE id = :id",
    "filtered": "SELECT id, weight FROM animals WHERE (:species IS NULL OR species = :species) LIMIT 100",
    "grouped": "SELECT species, count(*) AS n, avg(weight) AS w FROM animals WHERE id > :id GROUP BY ALL ORDER BY 1",
}
ARGUMENTS = {"look_up": {"id": 77}, "filtered": {"species": "s7"}, "grouped": {"id": 100}}
TYPES = {"id": "int", "species": "string"}


def animals() -> pa.Table:
    return pa.table(
        {
            "id": list(range(ROWS)),
            "species": [f"s{number % 50}" for number in range(ROWS)],
            "weight": [number * 0.5 for number in range(ROWS)],
        }
    )


def connector(folder: Path) -> Path:
    pa.csv.write_csv(animals(), folder / "animals.csv")
    tools = [
        {
            "id": name,
            "name": name,
            "category": "READ",
            "description": f"Return the animals of the {name} query.",
            "sql": sql,
            "parameters": [
                {"name": given, "type": TYPES[given], "description": "What to look for"} for given in ARGUMENTS[name]
            ],
        }
        for name, sql in QUERIES.items()
    ]
    sources = [{"id": "animals", "type": "csv", "path": "animals.csv"}]
    file = folder / "zoo.json"
    file.write_text(json.dumps({"name": "Zoo", "slug": "zoo", "version": "1.0.0", "sources": sources, "tools": tools}))
    return file


async def turns(*calls: Callable[[], Awaitable[object]]) -> list[float]:
    """Median milliseconds of each, measured in turns."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        for _ in range(20):
            await call()
    gc.collect()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for call, taken in zip(calls, times, strict=True):
                began = time.perf_counter()
                await call()
                taken.append((time.perf_counter() - began) * 1e3)
    finally:
        gc.enable()
    return [statistics.median(taken) for taken in times]


async def main() -> int:
    table = animals()
    bare = duckdb.connect()
    bare.register("animals", table)
    database = Database()
    session = database.session()
    whole = Table.whole(table)
    failed = False
    print(f"{'10,000 rows, ms (median)':26}{'bare DuckDB':>13}{'locked query':>14}{'tool call':>11}{'call/bare':>11}")
    with tempfile.TemporaryDirectory() as folder:
        async with App([connector(Path(folder))]) as app:
            for name, sql in QUERIES.items():
                arguments = ARGUMENTS[name]
                text = sql.replace(":", "$")

                async def peer(text: str = text, given: dict[str, object] = arguments) -> object:
                    return bare.sql(text, params=given).to_arrow_table()

                async def query(sql: str = sql, given: dict[str, object] = arguments) -> object:
                    return await session.query(sql, given, {"animals": whole})

                async def call(name: str = name, given: dict[str, object] = arguments) -> object:
                    return await app.call("zoo", name, given)

                theirs, locked, ours = await turns(peer, query, call)
                print(f"{name:26}{theirs:13.3f}{locked:14.3f}{ours:11.3f}{ours / theirs:11.2f}")
                failed = failed or ours > MOST * theirs or ours > SEED_MS
    database.close()
    bare.close()
    print(
        f"a call may take {MOST} times bare DuckDB, and the seed's {SEED_MS:.0f} ms: {'MISSED' if failed else 'held'}"
    )
    return int(failed)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
