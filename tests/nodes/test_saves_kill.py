"""kill -9 during each kind of save, 50 times each: the target is the old state or the new, and nothing is left over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer

KILLS = 50
FILES: dict[str, dict[str, Any]] = {
    "parquet": {"path": "target.parquet"},
    "partitioned parquet": {"path": "target", "partition_by": ["part"]},
    "csv": {"path": "target.csv"},
    "json": {"path": "target.json"},
    "jsonl": {"path": "target.jsonl"},
    "duckdb": {"path": "target.duckdb", "table": "t"},
    "sqlite": {"path": "target.sqlite", "table": "t"},
    "delta": {"path": "target"},
    "iceberg": {"path": "target", "table": "t"},
}


def killed(kind: str, fields: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The tally of the rounds; fails with what the child said of a torn target."""
    script = Path(__file__).with_name("killed_saves.py")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, str(script), kind, json.dumps(fields), str(folder), str(KILLS), "7"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    tally: dict[str, Any] = json.loads(done.stdout)
    return tally


@pytest.mark.parametrize("name", FILES)
def test_a_killed_save_leaves_the_old_file_or_the_new(name: str, tmp_path: Path) -> None:
    fields = FILES[name]
    tally = killed(name.split()[-1], fields, tmp_path)
    assert tally["kills"] == KILLS
    assert tally["old"] >= 5, tally
    assert tally["left"] == [fields["path"]], tally


@pytest.mark.parametrize("kind", ["postgres", "mysql"])
def test_a_killed_save_leaves_the_old_table_or_the_new(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    server: PostgresServer | MariaDBServer = request.getfixturevalue("postgres" if kind == "postgres" else "mariadb")
    with server.database("CREATE TABLE t (id bigint PRIMARY KEY, generation bigint, part varchar(10))") as dsn:
        tally = killed(kind, {"dsn": dsn, "table": "t"}, tmp_path)
    assert tally["kills"] == KILLS
    assert tally["old"] >= 5, tally
