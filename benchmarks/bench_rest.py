"""REST 100,000 records → a DuckDB file, whole process each, beside dlt by default and dlt tuned.

The API is one process that answers pages of 1,000 records from memory. Ours is a graph: a `rest` source wired to a
`duckdb` save. `dlt-tuned` is dlt's REST client with its settings turned to speed: Parquet between its steps, no nested
tables, large buffers. `dlt-arrow` moreover yields each page as an Arrow table that the author's code makes, which skips
dlt's normalizer, and its care for records that differ. Runs take turns; medians count: of the whole process, and of the
work alone, after imports. Exits with 1 when our work is not five times faster than that of tuned dlt, or we take more
memory than either.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

RECORDS, PAGE = 100_000, 1_000
ROUNDS = 5
LEAST_RATIO = 5


def record(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"Item number {number}",
        "price": round(number * 0.37, 2),
        "active": number % 3 == 0,
        "created_at": f"2025-03-0{1 + number % 9}T12:00:00Z",
        "tag": None if number % 4 else f"t{number % 9}",
    }


async def serve() -> None:
    """The API: `/items?page=N`, with the total in each reply. Prints its port."""
    pages = [
        json.dumps({"total": RECORDS, "items": [record(number) for number in range(start, start + PAGE)]}).encode()
        for start in range(0, RECORDS, PAGE)
    ]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                query = head.split(b" ", 2)[1].partition(b"?")[2]
                number = int(dict(pair.split(b"=") for pair in query.split(b"&"))[b"page"])
                body = pages[number - 1] if number <= len(pages) else b'{"total": 0, "items": []}'
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
                )
                writer.write(body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def jackfield(url: str, path: Path) -> None:
    import duckdb  # noqa: F401 (what the run imports by itself; the work is measured without imports)
    import pyarrow.compute
    import pyarrow.json  # noqa: F401

    from jackfield.engine.engine import Engine
    from jackfield.engine.environment import Environment
    from jackfield.graphs.model import Edge, Graph, Node
    from jackfield.nodes import NODE_TYPES

    began = time.perf_counter()
    pagination = {
        "strategy": "page",
        "size_param": "size",
        "page_size": PAGE,
        "max_pages": 1000,
        "total_field": "total",
    }
    source = {"url": f"{url}/items", "data_path": "items", "pagination": pagination}
    graph = Graph(
        (
            Node("items", "rest", source),
            Node("lake", "save", {"type": "duckdb", "path": path.name, "table": "items", "mode": "overwrite"}),
            Node("output", "output"),
        ),
        (Edge("items", "lake", "rows", "rows"), Edge("lake", "output", "report", "report")),
    )
    async with Engine(NODE_TYPES) as engine:
        await engine.run(graph, {}, environment=Environment(folder=path.parent))
    print(time.perf_counter() - began)


def dlt(url: str, path: Path, tuned: bool, arrow: bool) -> None:
    os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}
    if tuned:
        os.environ |= {
            "NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_LOAD_ID": "false",
            "NORMALIZE__PARQUET_NORMALIZER__ADD_DLT_ID": "false",
            "DATA_WRITER__BUFFER_MAX_ITEMS": str(RECORDS),
            "EXTRACT__WORKERS": "2",
            "NORMALIZE__WORKERS": "2",
        }
    import dlt as dlt_package
    import duckdb  # noqa: F401 (dlt imports it when it loads; the work is measured without imports)
    import pyarrow as pa
    from dlt.sources.helpers.rest_client import RESTClient
    from dlt.sources.helpers.rest_client.paginators import PageNumberPaginator

    began = time.perf_counter()
    paginator = PageNumberPaginator(base_page=1, total_path=None, maximum_page=RECORDS // PAGE + 1)
    client = RESTClient(url, paginator=paginator, data_selector="items")

    @dlt_package.resource(name="items", max_table_nesting=0 if tuned else None)
    def items() -> Any:
        for page in client.paginate("/items", params={"size": PAGE}):
            yield pa.Table.from_pylist(page) if arrow else page

    destination = dlt_package.destinations.duckdb(str(path))
    pipeline = dlt_package.pipeline(
        "bench", destination=destination, dataset_name="main_", pipelines_dir=str(path.parent)
    )
    pipeline.run(items(), loader_file_format="parquet" if tuned else None)
    print(time.perf_counter() - began)


class Cost(NamedTuple):
    work_s: float
    whole_s: float
    megabytes: float


def measured(who: str, url: str) -> Cost:
    """One process that does the whole job: seconds, and the most that it was resident."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "items.duckdb")
        began = time.perf_counter()
        process = subprocess.Popen([sys.executable, __file__, who, url, str(path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        said = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        whole = time.perf_counter() - began
        process.returncode = status
        assert status == 0, f"{who} failed"
        assert rows_in(path) == RECORDS, f"{who} wrote {rows_in(path)} rows"
        return Cost(float(said.split()[-1]), whole, usage.ru_maxrss / 1024)


def rows_in(path: Path) -> int:
    import duckdb

    with duckdb.connect(str(path), read_only=True) as connection:
        tables = connection.sql("SELECT schema_name FROM duckdb_tables() WHERE table_name = 'items'").fetchall()
        counted = connection.sql(f'SELECT count(*) FROM "{tables[0][0]}".items').fetchall()
        return int(counted[0][0])


def main() -> int:
    peers = ["dlt", "dlt-tuned", "dlt-arrow"] if importlib.util.find_spec("dlt") else []
    server = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    found: dict[str, list[Cost]] = {who: [] for who in ["jackfield", *peers]}
    try:
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}"
        for turn in range(ROUNDS):
            for who, runs in found.items():
                if turn == 0 or who != "dlt":  # half a minute each
                    runs.append(measured(who, url))
    finally:
        server.terminate()
        server.wait()
    costs = {who: Cost(*(statistics.median(each) for each in zip(*runs, strict=True))) for who, runs in found.items()}
    ours = costs["jackfield"]
    print(f"REST {RECORDS:,} records → DuckDB file; median of {ROUNDS} rounds")
    for who, cost in costs.items():
        print(
            f"  {who:10} work {cost.work_s:6.2f} s {cost.work_s / ours.work_s:6.1f} x"
            f"   process {cost.whole_s:6.2f} s {cost.whole_s / ours.whole_s:6.1f} x   {cost.megabytes:6.0f} MB"
        )
    if not peers:
        return 0
    ratio = costs["dlt-tuned"].work_s / ours.work_s
    print(f"{ratio:.1f} x faster than tuned dlt (at least {LEAST_RATIO})")
    return int(ratio < LEAST_RATIO or any(costs[peer].megabytes < ours.megabytes for peer in peers))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve"]:
            asyncio.run(serve())
        case ["jackfield", url, path]:
            asyncio.run(jackfield(url, Path(path)))
        case [who, url, path]:
            dlt(url, Path(path), tuned=who != "dlt", arrow=who == "dlt-arrow")
        case _:
            sys.exit(main())
