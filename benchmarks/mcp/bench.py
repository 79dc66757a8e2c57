"""`tools/call` of three servers doing the same work on one Postgres: Jackfield, MCP Toolbox, FastMCP with asyncpg.

A point look-up in 100,000 rows, a page of 1,000 rows, an aggregate over 25,000 rows (of Jackfield over its cached
source); at concurrency 1 and 16; in both eras of MCP. Each server has one processor core to itself, the client and
Postgres have the other. Jackfield validates, audits and holds budgets throughout. The figure is the server's processor
time a call, which varies little on a busy machine where calls a second vary much.

Exits with 1 when a bound of the stateless era does not hold: look-up `at` at most 4 times Toolbox's processor time and
at least 2.5 times less than FastMCP's; look-up through DuckDB at most FastMCP's; the page at most Toolbox's; the
aggregate at least 2.5 times Toolbox's calls a second.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from servers.postgres import PostgresServer  # noqa: E402

HERE = Path(__file__).parent
TOOLBOX = ROOT / ".venv-bench" / "toolbox" / "node_modules" / ".bin" / "toolbox"
SECONDS = float(os.environ.get("BENCH_SECONDS", "4"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "2"))
SERVER_CORE, CLIENT_CORE = "0", "1"
TABLE = """
CREATE TABLE orders AS SELECT g::int8 AS id, (g % 4000)::int AS customer_id,
    (ARRAY['paid', 'new', 'returned'])[1 + g % 3] AS status, (g % 100000 / 100.0)::numeric(12,2) AS amount,
    timestamptz '2024-01-01' + g * interval '1 minute' AS created_at, md5(g::text) AS note
    FROM generate_series(1, 100000) g;
ALTER TABLE orders ADD PRIMARY KEY (id);
ANALYZE orders;
"""
LOOK_UP = "SELECT id, status, amount, created_at FROM orders WHERE id = {id}"
PAGE = "SELECT id, status, amount, created_at FROM orders WHERE id > {after} ORDER BY id LIMIT 1000"
SUM = (
    "SELECT status, count(*) AS orders, sum(amount) AS amount FROM {table}"
    " WHERE customer_id < {below} GROUP BY status ORDER BY status"
)


class Work(NamedTuple):
    """One row of the table: the tool's name at each server that has it, and its arguments."""

    title: str
    tools: Mapping[str, str]
    arguments: Mapping[str, Any]


WORKS = (
    Work(
        "look-up",
        {
            "jackfield at": "find_order_at",
            "jackfield duckdb": "find_order",
            "toolbox": "find_order",
            "fastmcp": "find_order",
        },
        {"id": [1, 100_000]},
    ),
    Work(
        "page of 1000",
        {"jackfield at": "page_orders_at", "toolbox": "page_orders", "fastmcp": "page_orders"},
        {"after": [1, 98_000]},
    ),
    Work(
        "aggregate",
        {"jackfield cached": "sum_orders", "toolbox": "sum_orders", "fastmcp": "sum_orders"},
        {"below": [998, 1000]},
    ),
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def jackfield_connector() -> dict[str, Any]:
    def tool(id: str, sql: str, parameter: str, **more: Any) -> dict[str, Any]:
        return {
            "id": id,
            "name": id,
            "category": "READ",
            "description": "Return orders, as the other servers do.",
            "sql": sql,
            "parameters": [{"name": parameter, "type": "int", "description": "A number", "required": True}],
            "result": {"page_size": 1000, "max_rows": 1000, "max_bytes": 1_000_000},
            **more,
        }

    dsn = "{{ env:BENCH_DSN }}"
    return {
        "name": "Bench",
        "slug": "bench",
        "version": "1.0.0",
        "sources": [
            {"id": "orders", "type": "postgres", "dsn": dsn, "table": "orders"},
            {"id": "kept", "type": "postgres", "dsn": dsn, "table": "orders", "cache_ttl_s": 3600},
        ],
        "tools": [
            tool("find_order_at", LOOK_UP.format(id=":id"), "id", at="orders"),
            tool("find_order", LOOK_UP.format(id=":id"), "id"),
            tool("page_orders_at", PAGE.format(after=":after"), "after", at="orders"),
            tool("sum_orders", SUM.format(table="kept", below=":below"), "below"),
        ],
    }


def toolbox_tools(server: PostgresServer) -> str:
    parts = urlsplit(server.dsn)

    def tool(name: str, sql: str, parameter: str) -> str:
        return (
            f"  {name}:\n    kind: postgres-sql\n    source: bench\n    description: Return orders.\n"
            f"    parameters:\n      - name: {parameter}\n        type: integer\n        description: A number.\n"
            f"    statement: {sql}\n"
        )

    return (
        f"sources:\n  bench:\n    kind: postgres\n    host: {parts.hostname}\n    port: {parts.port}\n"
        f"    database: {parts.path[1:]}\n    user: {parts.username}\n    password: {server.password}\ntools:\n"
        + tool("find_order", LOOK_UP.format(id="$1"), "id")
        + tool("page_orders", PAGE.format(after="$1"), "after")
        + tool("sum_orders", SUM.format(table="orders", below="$1"), "below")
    )


@contextmanager
def started(name: str, command: list[str], port: int, folder: Path, variables: Mapping[str, str]) -> Iterator[int]:
    """The server as a process on its own core; its process id, once it answers."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            ["taskset", "-c", SERVER_CORE, *command],
            cwd=folder,
            env={**os.environ, **variables},
            stdout=log,
            stderr=log,
        )
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/mcp", timeout=1)
                break
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise SystemExit(f"{name} did not start:\n" + (folder / f"{name}.log").read_text()[-2000:])
        yield process.pid
    finally:
        process.terminate()
        process.wait(20)


def measured(
    url: str, era: str, tool: str, concurrency: int, pid: int, arguments: Mapping[str, Any]
) -> dict[str, float]:
    """The median by processor time of some rounds."""
    command = ["taskset", "-c", CLIENT_CORE, sys.executable, str(HERE / "load.py"), url, era, tool]
    command += [str(concurrency), str(SECONDS), str(pid), json.dumps(arguments)]
    done = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(ROUNDS)
    ]
    return dict(sorted(done, key=lambda one: one["cpu_us"])[(len(done) - 1) // 2])


def main() -> int:
    if not TOOLBOX.exists() or shutil.which("taskset") is None:
        raise SystemExit("scripts/bench-mcp installs what this needs")
    chosen = sys.argv[1:]
    found: dict[tuple[str, str, str, int], dict[str, float]] = {}
    with PostgresServer() as server, tempfile.TemporaryDirectory() as name, ExitStack() as servers:
        folder = Path(name)
        server.run(TABLE)
        (folder / "bench.connector.json").write_text(json.dumps(jackfield_connector()), "utf-8")
        (folder / "tools.yaml").write_text(toolbox_tools(server), "utf-8")
        ports = {name: free_port() for name in ("jackfield", "toolbox", "fastmcp")}
        python = str(ROOT / ".venv-bench" / "bin" / "python")
        commands = {
            "jackfield": [
                *(str(ROOT / ".venv-bench" / "bin" / "jackfield"), "serve", "bench.connector.json"),
                *("--port", str(ports["jackfield"])),
            ],
            "toolbox": [
                *(str(TOOLBOX), "--config", "tools.yaml", "-p", str(ports["toolbox"])),
                *("--disable-version-check", "--disable-reload", "--log-level", "ERROR"),
            ],
            "fastmcp": [python, str(HERE / "fastmcp_server.py"), server.dsn, str(ports["fastmcp"])],
        }
        pids = {
            name: servers.enter_context(
                started(name, command, ports[name], folder, {"BENCH_DSN": server.dsn, "GOMAXPROCS": "1"})
            )
            for name, command in commands.items()
        }
        print(
            f"{'':14}{'server':18}{'era':11}{'c':>3}{'cpu µs':>9}{'calls/s':>9}{'p50 ms':>8}{'p99 ms':>8}{'bytes':>8}"
        )
        for work in WORKS:
            if chosen and work.title.split()[0] not in chosen:
                continue
            for era in ("stateless", "handshake"):
                for concurrency in (1, 16):
                    for label, tool in work.tools.items():
                        host = label.split()[0]
                        url = f"http://127.0.0.1:{ports[host]}/mcp"
                        one = measured(url, era, tool, concurrency, pids[host], work.arguments)
                        found[work.title, label, era, concurrency] = one
                        print(
                            f"{work.title:14}{label:18}{era:11}{concurrency:3}{one['cpu_us']:9.0f}{one['rps']:9.0f}"
                            f"{one['p50_ms']:8.2f}{one['p99_ms']:8.1f}{one['bytes']:8.0f}",
                            flush=True,
                        )
    return verdict(found)


def verdict(found: Mapping[tuple[str, str, str, int], dict[str, float]]) -> int:
    """Prints each bound beside what was measured, at concurrency 16 in the stateless era."""

    def cpu(work: str, label: str) -> float:
        return found[work, label, "stateless", 16]["cpu_us"]

    def rps(work: str, label: str) -> float:
        return found[work, label, "stateless", 16]["rps"]

    bounds: list[tuple[str, float, float, bool]] = []
    if ("look-up", "toolbox", "stateless", 16) in found:
        toolbox, fastmcp = cpu("look-up", "toolbox"), cpu("look-up", "fastmcp")
        at, through = cpu("look-up", "jackfield at"), cpu("look-up", "jackfield duckdb")
        bounds += [
            ("look-up `at` / Toolbox, processor time", at / toolbox, 4.0, at <= 4 * toolbox),
            ("FastMCP / look-up `at`, processor time", fastmcp / at, 2.5, fastmcp >= 2.5 * at),
            ("look-up through DuckDB / FastMCP, processor time", through / fastmcp, 1.0, through <= fastmcp),
        ]
    if ("page of 1000", "toolbox", "stateless", 16) in found:
        ratio = cpu("page of 1000", "jackfield at") / cpu("page of 1000", "toolbox")
        bounds.append(("page of 1000 / Toolbox, processor time", ratio, 1.0, ratio <= 1))
    if ("aggregate", "toolbox", "stateless", 16) in found:
        ratio = rps("aggregate", "jackfield cached") / rps("aggregate", "toolbox")
        bounds.append(("aggregate / Toolbox, calls a second", ratio, 2.5, ratio >= 2.5))
    for what, ratio, bound, held in bounds:
        print(f"{what:52}{ratio:7.2f}  bound {bound:g}  {'held' if held else 'MISSED'}")
    return int(not all(held for *_, held in bounds))


if __name__ == "__main__":
    sys.exit(main())
