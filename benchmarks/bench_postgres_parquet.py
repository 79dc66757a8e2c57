"""Postgres 1,000,000 rows → Parquet, a process for each run, beside dlt tuned: connectorx, one Parquet file.

Ours is a graph: a `postgres` source wired to a `parquet` save, which streams. Runs take turns; medians count: of the
whole process, and of the work alone, after imports. Exits with 1 when our work is not twice as fast as that of dlt, or
we take more memory.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

ROWS = 1_000_000
ROUNDS = 5
LEAST_RATIO = 2.0
TABLE = f"""
CREATE TABLE orders AS SELECT g::int8 AS id, (g % 1000)::int AS customer_id,
    (ARRAY['paid', 'new', 'returned'])[1 + g % 3] AS status, (g % 100000 / 100.0)::numeric(12,2) AS amount,
    g / 7.0::float8 AS weight, timestamptz '2024-01-01' + g * interval '1 minute' AS created_at,
    date '2024-01-01' + g % 700 AS shipped_on, g % 2 = 0 AS is_gift, md5(g::text) AS note
    FROM generate_series(1, {ROWS}) g;
ANALYZE orders;
"""


async def jackfield(dsn: str, folder: Path) -> None:
    import adbc_driver_postgresql.dbapi  # noqa: F401 (the work is measured without imports)
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401

    from jackfield.engine.engine import Engine
    from jackfield.engine.environment import Environment
    from jackfield.graphs.model import Edge, Graph, Node
    from jackfield.nodes import NODE_TYPES

    began = time.perf_counter()
    graph = Graph(
        (
            Node("orders", "postgres", {"dsn": dsn, "table": "orders"}),
            Node("lake", "save", {"type": "parquet", "path": "orders.parquet", "mode": "overwrite"}),
            Node("output", "output"),
        ),
        (Edge("orders", "lake", "rows", "rows"), Edge("lake", "output", "report", "report")),
    )
    async with Engine(NODE_TYPES) as engine:
        await engine.run(graph, {}, environment=Environment(folder=folder))
    print(time.perf_counter() - began)


def dlt(dsn: str, folder: Path) -> None:
    os.environ |= {
        "RUNTIME__DLTHUB_TELEMETRY": "false",
        "RUNTIME__LOG_LEVEL": "ERROR",
        "NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_LOAD_ID": "false",
        "NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_ID": "false",
        "DATA_WRITER__BUFFER_MAX_ITEMS": str(ROWS),
    }
    import connectorx  # noqa: F401
    import dlt as dlt_package
    from dlt.sources.sql_database import sql_table

    began = time.perf_counter()
    credentials = dsn.replace("postgresql:", "postgresql+psycopg2:", 1)  # reflects the table; connectorx reads it
    table = sql_table(credentials=credentials, table="orders", backend="connectorx")
    destination = dlt_package.destinations.filesystem(bucket_url=folder.as_uri())
    pipeline = dlt_package.pipeline(
        "bench", destination=destination, dataset_name="lake", pipelines_dir=str(folder / "pipelines")
    )
    pipeline.run(table, loader_file_format="parquet")
    print(time.perf_counter() - began)


class Cost(NamedTuple):
    work_s: float
    whole_s: float
    megabytes: float


def measured(who: str, dsn: str) -> Cost:
    """One process that does the whole job: seconds, and the most that it was resident."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, __file__, who, dsn, folder], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        whole = time.perf_counter() - began
        process.returncode = status
        assert status == 0, f"{who} failed"
        assert rows_in(Path(folder)) == ROWS, f"{who} wrote {rows_in(Path(folder))} rows"
        return Cost(float(said.split()[-1]), whole, usage.ru_maxrss / 1024)


def rows_in(folder: Path) -> int:
    import pyarrow.parquet as parquet

    files = [file for file in folder.rglob("*.parquet") if "orders" in str(file.relative_to(folder))]
    return sum(parquet.read_metadata(file).num_rows for file in files if "pipelines" not in file.parts)


def main() -> int:
    from servers.postgres import PostgresServer

    peers = ["dlt"] if importlib.util.find_spec("dlt") else []
    found: dict[str, list[Cost]] = {who: [] for who in ["jackfield", *peers]}
    with PostgresServer() as server:
        server.run(TABLE)
        for _ in range(ROUNDS):
            for who, runs in found.items():
                runs.append(measured(who, server.dsn))
    costs = {who: Cost(*(statistics.median(each) for each in zip(*runs, strict=True))) for who, runs in found.items()}
    ours = costs["jackfield"]
    print(f"Postgres {ROWS:,} rows → Parquet; median of {ROUNDS} rounds")
    for who, cost in costs.items():
        print(
            f"  {who:10} work {cost.work_s:6.2f} s {cost.work_s / ours.work_s:6.1f} x"
            f"   process {cost.whole_s:6.2f} s {cost.whole_s / ours.whole_s:6.1f} x   {cost.megabytes:6.0f} MB"
        )
    if not peers:
        return 0
    ratio = costs["dlt"].work_s / ours.work_s
    print(f"{ratio:.1f} x faster than dlt with connectorx (at least {LEAST_RATIO})")
    return int(ratio < LEAST_RATIO or costs["dlt"].megabytes < ours.megabytes)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["jackfield", dsn, folder]:
            asyncio.run(jackfield(dsn, Path(folder)))
        case ["dlt", dsn, folder]:
            dlt(dsn, Path(folder))
        case _:
            sys.exit(main())
