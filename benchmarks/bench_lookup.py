"""A point look-up on a Postgres table of 1,000,000 rows, beside ADBC on a connection that is kept.

`through DuckDB` is a tool whose SQL runs in DuckDB over what was pushed to Postgres; `at` is a tool whose SQL runs
whole in Postgres. Both are whole calls: arguments checked, the graph run with its events, a connection leased. The
peer executes the same look-up by ADBC, in a worker thread as a server has to, and, for comparison, in the event loop
itself; so does asyncpg, by which both tools read short answers once ADBC has told what they are. All are timed in
turns. Exits with 1 when the call through DuckDB takes more than 5 times ADBC, the call `at` more than 1.5 times, or the
look-up is not 300 times faster than the same SQL over a full pull.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import anyio.to_thread
import asyncpg
from adbc_driver_postgresql import dbapi
from servers.postgres import PostgresServer

from jackfield.surfaces.app import App

ROWS = 1_000_000
ROUNDS = 600
MOST_THROUGH, MOST_AT, LEAST_PULL = 5.0, 1.5, 300.0
TABLE = f"""
CREATE TABLE orders AS SELECT g::int8 AS id, (g % 1000)::int AS customer_id,
    (ARRAY['paid', 'new', 'returned'])[1 + g % 3] AS status, (g % 100000 / 100.0)::numeric(12,2) AS amount,
    timestamptz '2024-01-01' + g * interval '1 minute' AS created_at, md5(g::text) AS note
    FROM generate_series(1, {ROWS}) g;
ALTER TABLE orders ADD PRIMARY KEY (id);
ANALYZE orders;
"""
SQL = "SELECT id, status, amount, created_at FROM orders WHERE id = :id"
# The same order out of the whole table, which is what is fetched when nothing is pushed.
PULL = "SELECT * FROM orders WHERE id + 0 = :id"


def connector(folder: Path) -> Path:
    parameter = {"name": "id", "type": "int", "description": "Number of the order", "required": True}

    def tool(id: str, sql: str, **more: str) -> dict[str, Any]:
        text = "Return one order by its number."
        return {
            "id": id,
            "name": id,
            "category": "READ",
            "description": text,
            "sql": sql,
            "parameters": [parameter],
            **more,
        }

    file = folder / "shop.json"
    sources = [{"id": "orders", "type": "postgres", "dsn": "{{ env:BENCH_DSN }}", "table": "orders"}]
    tools = [tool("through", SQL), tool("at", SQL, at="orders"), tool("pull", PULL)]
    file.write_text(
        json.dumps({"name": "Shop", "slug": "shop", "version": "1.0.0", "sources": sources, "tools": tools}), "utf-8"
    )
    return file


async def turns(rounds: int, *calls: Callable[[int], Awaitable[object]]) -> list[float]:
    """Median microseconds of each, measured in turns."""
    times: list[list[float]] = [[] for _ in calls]
    for call in calls:
        for number in range(min(20, rounds)):
            await call(number + 1)
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds):
            for call, taken in zip(calls, times, strict=True):
                began = time.perf_counter()
                await call(1 + number * 7919 % ROWS)
                taken.append((time.perf_counter() - began) * 1e6)
    finally:
        gc.enable()
    return [statistics.median(taken) for taken in times]


async def main() -> int:
    with PostgresServer() as server, tempfile.TemporaryDirectory() as folder:
        server.run(TABLE)
        os.environ["BENCH_DSN"] = server.dsn
        connection = dbapi.connect(server.dsn, autocommit=True)

        def look_up(number: int) -> Any:
            with connection.cursor() as cursor:
                cursor.execute("SELECT id, status, amount, created_at FROM orders WHERE id = $1::int8", (number,))
                return cursor.fetch_arrow_table()

        async def in_loop(number: int) -> object:
            return look_up(number)

        async def in_thread(number: int) -> object:
            return await anyio.to_thread.run_sync(look_up, number)

        alone = await asyncpg.connect(server.dsn)

        async def by_asyncpg(number: int) -> object:
            return await alone.fetch("SELECT id, status, amount, created_at FROM orders WHERE id = $1::int8", number)

        async with App([connector(Path(folder))]) as app:

            def tool(name: str) -> Callable[[int], Awaitable[object]]:
                return lambda number: app.call("shop", name, {"id": number})

            calls = in_loop, in_thread, by_asyncpg, tool("at"), tool("through")
            bare, theirs, least, at, through = await turns(ROUNDS, *calls)
            (pull,) = await turns(5, tool("pull"))
        await alone.close()
        connection.close()
    print(f"Point look-up in {ROWS:,} rows, µs (median of {ROUNDS}, in turns)")
    for name, took in (
        ("ADBC, blocking the event loop", bare),
        ("ADBC, in a worker thread", theirs),
        ("asyncpg, on the event loop", least),
        ("tool `at` Postgres", at),
        ("tool through DuckDB", through),
        ("tool over a full pull", pull),
    ):
        print(f"  {name:32}{took:12.0f}{took / theirs:10.2f} x")
    held = at <= MOST_AT * theirs and through <= MOST_THROUGH * theirs and pull >= LEAST_PULL * through
    print(
        f"at most {MOST_AT} x `at`, {MOST_THROUGH} x through DuckDB, and {LEAST_PULL:.0f} x faster than a full pull"
        f" ({pull / through:.0f} x): {'held' if held else 'MISSED'}"
    )
    return int(not held)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
