"""The servers that other tests stand on."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer


def test_postgres_gives_a_database_of_ones_own(postgres: PostgresServer) -> None:
    with postgres.database("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, NULL), (2, 'æ')") as dsn:
        name = dsn.rpartition("/")[2]
        assert postgres.run("SELECT * FROM t ORDER BY a", name) == [["1", "\\N"], ["2", "æ"]]
    assert postgres.run(f"SELECT count(*) FROM pg_database WHERE datname = '{name}'") == [["0"]]


def test_mariadb_gives_a_database_of_ones_own(mariadb: MariaDBServer) -> None:
    with mariadb.database("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, NULL), (2, 'æ')") as dsn:
        name = dsn.rpartition("/")[2]
        assert mariadb.run("SELECT * FROM t ORDER BY a", name) == [["1", "NULL"], ["2", "æ"]]
    assert mariadb.run(f"SELECT count(*) FROM information_schema.schemata WHERE schema_name = '{name}'") == [["0"]]


def test_a_server_ends_when_its_owner_is_killed() -> None:
    program = (
        "import sys, os, time\n"
        "from servers.postgres import PostgresServer\n"
        "server = PostgresServer().__enter__()\n"
        "print(server.pid, server._folder.path, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    here = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": here},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    pid, folder = done.stdout.split()
    try:
        end = time.monotonic() + 10
        while still_runs(int(pid)):
            assert time.monotonic() < end, "the server outlived its owner by 10 seconds"
            time.sleep(0.02)
    finally:
        shutil.rmtree(folder)


def still_runs(pid: int) -> bool:
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text("utf-8")
    except FileNotFoundError:
        return False
