"""One tool call over a warm source of 10,000 rows, beside bare DuckDB on the same Arrow table.

The source is a REST API whose rows are kept, and, in the column "file", a CSV file whose rows are kept while it stays
as it is, which each call looks at. Ours is the whole call: arguments checked, the graph run with its events, the SQL on
a cursor of the locked database in a read-only transaction. All are timed in turns. The seed promises fewer than 5 ms
for an isolated call. Exits with 1 when the median call takes more than 1.5 times bare DuckDB, or 5 ms.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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


def connector(folder: Path, slug: str, source: dict[str, object]) -> Path:
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
    source["id"] = "animals"
    file = folder / f"{slug}.json"
    document = {"name": slug, "slug": slug, "version": "1.0.0", "sources": [source], "tools": tools}
    file.write_text(json.dumps(document))
    return file


@contextmanager
def served() -> Iterator[str]:
    """The address of the animals as JSON."""
    body = json.dumps(animals().to_pylist()).encode()

    class Animals(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Animals) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/animals"
        server.shutdown()


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
    print(f"{'ms (median)':12}{'bare DuckDB':>13}{'locked query':>14}{'call':>9}{'file':>9}{'call/bare':>11}")
    with tempfile.TemporaryDirectory() as name, served() as address:
        folder = Path(name)
        pa.csv.write_csv(table, folder / "animals.csv")
        rest = connector(folder, "rest", {"type": "rest", "url": address, "cache_ttl_s": 3600})
        file = connector(folder, "file", {"type": "csv", "path": "animals.csv"})
        async with App([rest, file]) as app:
            for tool, sql in QUERIES.items():
                arguments = ARGUMENTS[tool]
                text = sql.replace(":", "$")

                async def peer(text: str = text, given: dict[str, object] = arguments) -> object:
                    return bare.sql(text, params=given).to_arrow_table()

                async def query(sql: str = sql, given: dict[str, object] = arguments) -> object:
                    return await session.query(sql, given, {"animals": whole})

                async def kept(tool: str = tool, given: dict[str, object] = arguments) -> object:
                    return await app.call("rest", tool, given)

                async def on_disk(tool: str = tool, given: dict[str, object] = arguments) -> object:
                    return await app.call("file", tool, given)

                theirs, locked, ours, looked_at = await turns(peer, query, kept, on_disk)
                print(f"{tool:12}{theirs:13.3f}{locked:14.3f}{ours:9.3f}{looked_at:9.3f}{ours / theirs:11.2f}")
                failed = failed or ours > MOST * theirs or looked_at > SEED_MS
    database.close()
    bare.close()
    print(
        f"a call may take {MOST} times bare DuckDB, and the seed's {SEED_MS:.0f} ms: {'MISSED' if failed else 'held'}"
    )
    return int(failed)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
