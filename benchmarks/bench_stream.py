"""2 GB through source → filter → save: seconds, and the most that the process was resident, beside bare DuckDB.

Ours is a WRITE tool of a connector: a CSV or Parquet source, a SELECT that keeps nine rows of ten, a save as Parquet.
DuckDB does the same by one COPY, with 512 MB of memory allowed. Needs 6 GB of disk in the temporary folder. Exits with
1 when ours was ever above 512 MB.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

LEAST_BYTES = 2_000_000_000
MOST_MEGABYTES = 512
SQL = "SELECT id, name, price, day, region, note FROM sales WHERE price > 100"
ROWS = (
    "SELECT i AS id, 'customer ' || (i * 7919 % 1000003) AS name, (i * 37 % 100000) / 100.0 AS price,"
    " DATE '2020-01-01' + (i % 2000)::INT AS day, i % 97 AS region, md5(i::VARCHAR) AS note FROM range({}) t(i)"
)
KINDS = {"csv": (26_000_000, "FORMAT csv, HEADER"), "parquet": (29_000_000, "FORMAT parquet, COMPRESSION uncompressed")}


def make(kind: str, path: Path) -> None:
    import duckdb

    rows, options = KINDS[kind]
    with duckdb.connect(config={"threads": 2, "memory_limit": "1GB", "preserve_insertion_order": False}) as database:
        database.execute(f"COPY ({ROWS.format(rows)}) TO '{path}' ({options})")
    assert path.stat().st_size >= LEAST_BYTES * 0.98, path.stat().st_size


async def jackfield(kind: str, folder: Path) -> None:
    from jackfield.surfaces.app import App

    os.environ["JACKFIELD_CALL_MAX_ROWS"] = "1000000000"
    tool = {
        "id": "export",
        "name": "Export",
        "category": "WRITE",
        "description": "Write the dear sales into a Parquet file.",
        "sql": SQL,
        "parameters": [],
        "save": {"to": "lake", "mode": "overwrite"},
        "timeout_s": 900,
    }
    document = {
        "name": "Sales",
        "slug": "sales",
        "version": "1.0.0",
        "sources": [{"id": "sales", "type": kind, "path": f"./sales.{kind}"}],
        "tools": [tool],
        "saves": [{"id": "lake", "type": "parquet", "path": "./out.parquet"}],
    }
    path = folder / "sales.connector.json"
    path.write_text(json.dumps(document))
    async with App([path], variables={}) as app:
        await app.call("sales", "export", {})


def duck(kind: str, folder: Path) -> None:
    import duckdb

    with duckdb.connect(config={"memory_limit": "512MB", "threads": 2}) as database:
        database.execute(f"CREATE VIEW sales AS FROM '{folder}/sales.{kind}'")
        database.execute(f"COPY ({SQL}) TO '{folder}/out.parquet' (FORMAT parquet, COMPRESSION zstd)")


class Cost(NamedTuple):
    seconds: float
    megabytes: float


def measured(who: str, kind: str, folder: Path) -> Cost:
    """One process that does the whole job."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, __file__, who, kind, str(folder)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    assert status == 0, f"{who} failed"
    return Cost(time.perf_counter() - began, usage.ru_maxrss / 1024)


def rows_of(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.ParquetFile(path).metadata.num_rows)


def main() -> int:
    worst = 0.0
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            source = folder / f"sales.{kind}"
            make(kind, source)
            print(f"{kind} of {source.stat().st_size / 1e9:.2f} GB → filter → Parquet")
            kept = set()
            for who in ("jackfield", "duckdb"):
                cost = measured(who, kind, folder)
                kept.add(rows_of(folder / "out.parquet"))
                print(f"  {who:10} {cost.seconds:6.1f} s   {cost.megabytes:5.0f} MB at most")
                worst = max(worst, cost.megabytes) if who == "jackfield" else worst
            assert len(kept) == 1, f"not the same rows: {kept}"
    print(f"{worst:.0f} MB resident at most (limit {MOST_MEGABYTES})")
    return int(worst > MOST_MEGABYTES)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["jackfield", kind, folder]:
            asyncio.run(jackfield(kind, Path(folder)))
        case ["duckdb", kind, folder]:
            duck(kind, Path(folder))
        case _:
            sys.exit(main())
