"""Ctrl-C: exit 130, and nothing is left running: the request is closed and the query is gone from the server."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi as adbc  # type: ignore[import-untyped]
from servers.http import Hang, HttpServer
from servers.postgres import PostgresServer

from .test_call import connector

READ = {"id": "list_animals", "name": "List animals", "category": "READ",
        "description": "Return a few animals, any kind.", "parameters": [],
        "sql": "SELECT * FROM animals LIMIT 5"}  # fmt: skip


def start(path: Path, tool: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "jackfield.surfaces.cli", "call", str(path), tool]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def interrupted(process: subprocess.Popen[str]) -> tuple[float, str]:
    """How long the process took to end after Ctrl-C, and what it said."""
    began = time.perf_counter()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130, err
    assert out == ""
    return time.perf_counter() - began, err


def test_ctrl_c_closes_the_request_and_exits_130(tmp_path: Path) -> None:
    hang = Hang()
    with HttpServer({"/animals": hang}) as server:
        source = {"id": "animals", "type": "rest", "url": f"{server.url}/animals"}
        process = start(connector(tmp_path, [source], [READ]), "list_animals")
        assert hang.arrived.wait(20)
        seconds, err = interrupted(process)
        assert hang.closed.wait(1)
    assert seconds < 2
    assert "CANCELLED: " in err
    assert "Traceback" not in err


def test_ctrl_c_ends_the_query_at_the_server(tmp_path: Path, postgres: PostgresServer) -> None:
    with postgres.database("CREATE TABLE animals (id int)") as dsn:
        source = {"id": "animals", "type": "postgres", "dsn": dsn, "query": SLOW}
        process = start(connector(tmp_path, [source], [READ]), "list_animals")
        with adbc.connect(postgres.dsn) as watcher:
            running = wait_until(watcher, 1)
            assert running, process.communicate(timeout=10)
            seconds, err = interrupted(process)
            assert wait_until(watcher, 0, within=1.0)
    assert seconds < 2
    assert "Traceback" not in err


SLOW = "SELECT a.n FROM generate_series(1, 100000) AS a(n), generate_series(1, 100000) AS b(n) WHERE a.n + b.n < 0"


def wait_until(watcher: Any, count: int, within: float = 20.0) -> bool:
    """Whether the server comes to run `count` of our slow queries in time."""
    ends = time.perf_counter() + within
    while time.perf_counter() < ends:
        with watcher.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
                " AND query LIKE '%generate_series(1, 100000)%' AND pid <> pg_backend_pid()"
            )
            if (cursor.fetchone()[0] > 0) == (count > 0):
                return True
        watcher.rollback()
        time.sleep(0.02)
    return False
