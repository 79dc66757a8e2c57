"""SQLite and DuckDB files as sources: they can be read, and nothing else, whatever a `query` says."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import duckdb
import pytest
from servers.stand import Stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.file import file_node
from jackfield.nodes.files.base import FileConfiguration
from jackfield.nodes.files.confine import matching
from jackfield.nodes.files.opened import open_all
from jackfield.nodes.files.sqlite import SQLITE
from jackfield.nodes.save import save_node
from jackfield.nodes.scan import EVERYTHING
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio
KINDS = ("sqlite", "duckdb")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as database, database:
        database.executescript("CREATE TABLE orders (id INTEGER); CREATE TABLE other (id INTEGER)")
        database.execute("INSERT INTO orders VALUES (1)")
    with duckdb.connect(str(tmp_path / "a.duckdb")) as duck:
        duck.execute("CREATE TABLE orders AS SELECT 1 AS id; CREATE TABLE other AS SELECT 2 AS id")
    (tmp_path / "secret.csv").write_text("id\n42\n")
    return tmp_path


async def read(folder: Path, kind: str, **configuration: Any) -> list[dict[str, Any]]:
    with anyio.fail_after(20):
        outputs = await file_node.bind("a", {"path": f"a.{kind}"} | configuration)({}, Stand(folder=folder))
    rows: list[dict[str, Any]] = outputs["rows"].to_pylist()
    return rows


@pytest.mark.parametrize("kind", KINDS)
async def test_a_table_is_found_by_its_name_in_any_case(folder: Path, kind: str) -> None:
    assert await read(folder, kind, table="ORDERS") == [{"id": 1}]
    assert await read(folder, kind, query="SELECT id + 1 AS id FROM orders;") == [{"id": 2}]


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_missing_is_told_with_what_is_there(folder: Path, kind: str) -> None:
    with pytest.raises(JackfieldError) as caught:
        await read(folder, kind, table="order")
    assert caught.value.code is Code.SCHEMA_NOT_FOUND
    assert caught.value.details["available"] == ["orders", "other"]
    assert caught.value.hint == "Did you mean 'orders' or 'other'?"
    with pytest.raises(JackfieldError, match="the source must say which"):
        await read(folder, kind)
    with pytest.raises(JackfieldError, match="not both"):
        await read(folder, kind, table="orders", query="SELECT 1")


ATTACKS = {
    "sqlite": [
        "DELETE FROM orders",
        "SELECT 1; DELETE FROM orders",
        "SELECT 1) ; DELETE FROM orders; --",
        "ATTACH '{folder}/other.sqlite' AS o",
        "PRAGMA writable_schema = 1",
        "WITH x AS (SELECT 1) INSERT INTO orders SELECT * FROM x",
        "SELECT load_extension('x')",
        "SELECT * FROM pragma_database_list",
        "SELECT writefile('{folder}/pwned', 'x')",
        "SELECT readfile('{folder}/secret.csv')",
        "VACUUM INTO '{folder}/pwned'",
    ],
    "duckdb": [
        "DELETE FROM orders",
        "SELECT 1; DELETE FROM orders",
        "SELECT 1) ; DELETE FROM orders; --",
        "ATTACH '{folder}/other.duckdb' AS o",
        "SELECT * FROM read_csv('{folder}/secret.csv')",
        "SELECT * FROM '{folder}/secret.csv'",
        "SELECT content FROM read_text('{folder}/secret.csv')",
        "SELECT * FROM glob('{folder}/*')",
        "COPY orders TO '{folder}/pwned'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "WITH x AS (INSERT INTO orders VALUES (9) RETURNING id) SELECT * FROM x",
        "SELECT * FROM query('SELECT * FROM read_csv(''{folder}/secret.csv'')')",
    ],
}


@pytest.mark.parametrize(("kind", "query"), [(kind, query) for kind, queries in ATTACKS.items() for query in queries])
async def test_a_query_cannot_write_or_leave_its_file(folder: Path, kind: str, query: str) -> None:
    before = sorted(path.name for path in _all(folder))
    with pytest.raises(JackfieldError) as caught:
        await read(folder, kind, query=query.replace("{folder}", str(folder)))
    assert "42" not in caught.value.message
    assert sorted(path.name for path in _all(folder)) == before
    assert await read(folder, kind, table="orders") == [{"id": 1}]


def _all(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.mark.parametrize("kind", KINDS)
async def test_a_file_of_another_kind_is_named(folder: Path, kind: str) -> None:
    (folder / f"a.{kind}").write_text("id\n1\n")
    with pytest.raises(JackfieldError) as caught:
        await read(folder, kind, table="orders")
    assert caught.value.code is Code.SOURCE_BAD_REPLY
    assert f"a.{kind}" in caught.value.message


async def test_a_duckdb_file_that_this_process_writes_is_waited_for(folder: Path) -> None:
    writer = duckdb.connect(str(folder / "a.duckdb"))
    async with anyio.create_task_group() as group:

        async def close_later() -> None:
            await anyio.sleep(0.2)  # the reader must meet the open writer first
            writer.close()

        group.start_soon(close_later)
        assert await read(folder, "duckdb", table="orders") == [{"id": 1}]


LOCK = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"


@pytest.fixture
def locked_elsewhere(folder: Path) -> Iterator[None]:
    command = [sys.executable, "-c", LOCK, str(folder / "a.duckdb")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield
        process.kill()


@pytest.mark.usefixtures("locked_elsewhere")
async def test_a_duckdb_file_that_another_process_writes_is_a_passing_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jackfield.nodes.files.duckdb.BUSY_S", 0.1)
    with pytest.raises(JackfieldError) as caught:
        await read(folder, "duckdb", table="orders")
    assert (caught.value.code, caught.value.transient) == (Code.SOURCE_UNREACHABLE, True)


async def test_rows_in_the_write_ahead_log_of_a_sqlite_file_are_seen(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "a.sqlite")) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        context = Stand(folder=folder)
        fire = file_node.bind("a", {"path": "a.sqlite", "table": "orders"})
        assert (await fire({}, context))["rows"].num_rows == 1
        with writer:
            writer.execute("INSERT INTO orders VALUES (2)")
        assert (await fire({}, context))["rows"].num_rows == 2


CRASH = """
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA cache_size = 1")
c.execute("BEGIN IMMEDIATE")
c.executemany("INSERT INTO orders VALUES (?)", ((n,) for n in range(100_000)))
os._exit(9)
"""


@pytest.fixture
def crashed_writer(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", CRASH, str(folder / "a.sqlite")], check=False)


@pytest.mark.usefixtures("crashed_writer")
async def test_half_a_transaction_of_a_killed_writer_is_never_read(folder: Path) -> None:
    assert (folder / "a.sqlite-journal").exists()
    assert await read(folder, "sqlite", table="orders") == [{"id": 1}]


def with_super_journal(folder: Path, victim: Path) -> None:
    """The journal of the killed writer, as if it were part of a transaction over several databases."""
    name = str(victim).encode()
    record = (1 << 30).to_bytes(4) + name + len(name).to_bytes(4) + sum(name).to_bytes(4)
    with (folder / "a.sqlite-journal").open("ab") as journal:
        journal.write(record + bytes.fromhex("d9d505f920a163d7"))


@pytest.mark.usefixtures("crashed_writer")
async def test_reading_never_deletes_what_a_journal_names(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    victim = tmp_path_factory.mktemp("outside") / "precious"
    victim.write_text("x")
    with_super_journal(folder, victim)
    with pytest.raises(JackfieldError, match="names a file to delete") as caught:
        await read(folder, "sqlite", table="orders")
    assert caught.value.code is Code.SOURCE_ERROR
    assert victim.exists()


@pytest.mark.usefixtures("crashed_writer")
async def test_saving_never_deletes_what_a_journal_names(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    victim = tmp_path_factory.mktemp("outside") / "precious"
    victim.write_text("x")
    with_super_journal(folder, victim)
    configuration = {"type": "sqlite", "path": "a.sqlite", "table": "orders", "mode": "append"}
    with pytest.raises(JackfieldError, match="names a file to delete"):
        await save_node.bind("s", configuration)({"rows": Table.from_rows([{"id": 3}])}, Stand(folder=folder))
    assert victim.exists()


@pytest.mark.usefixtures("crashed_writer")
async def test_reading_after_a_killed_writer_changes_nothing_in_the_folder(folder: Path) -> None:
    before = contents(folder)
    assert await read(folder, "sqlite", table="orders") == [{"id": 1}]
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def read_only_log(folder: Path) -> Iterator[None]:
    """A log that no process has open, in a folder that may not be written."""
    subprocess.run([sys.executable, "-c", WAL, str(folder / "a.sqlite")], check=False)
    (folder / "a.sqlite-shm").unlink()
    folder.chmod(0o500)
    yield
    folder.chmod(0o700)


@pytest.mark.usefixtures("read_only_log")
async def test_a_write_ahead_log_is_read_where_nothing_may_be_written(folder: Path) -> None:
    assert (folder / "a.sqlite-wal").exists()
    assert await read(folder, "sqlite", table="orders") == [{"id": 1}, {"id": 2}]


WAL = """
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA journal_mode = WAL")
c.execute("INSERT INTO orders VALUES (2)")
os._exit(9)
"""

ENDLESS = {
    "sqlite": [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n",
    ],
    "duckdb": [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 0 FROM n) SELECT count(*) FROM n",
        "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range = -1",
    ],
}


@pytest.mark.parametrize(("kind", "query"), [(kind, query) for kind in KINDS for query in ENDLESS[kind]])
async def test_an_endless_query_ends_when_its_time_is_over(folder: Path, kind: str, query: str) -> None:
    begun = anyio.current_time()
    with anyio.move_on_after(0.5) as scope:
        await read(folder, kind, query=query)
    assert scope.cancelled_caught
    assert anyio.current_time() - begun < 5


@pytest.mark.parametrize("query", ["SELECT randomblob(1000000000) AS x", "SELECT zeroblob(2000000000) AS x"])
async def test_one_value_as_large_as_memory_is_refused(folder: Path, query: str) -> None:
    with pytest.raises(JackfieldError) as caught:
        await read(folder, "sqlite", query=query)
    assert caught.value.code is Code.BUDGET_EXCEEDED


async def test_a_batch_of_large_values_has_as_many_rows_as_memory_holds(folder: Path) -> None:
    query = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300) SELECT zeroblob(1000000) x FROM n"
    )
    files = open_all(matching("a.sqlite", folder))
    table = SQLITE.read(files, FileConfiguration(path="a.sqlite", query=query), EVERYTHING) if SQLITE.read else None
    assert table is not None
    sizes = [batch.num_rows for batch in table.reader()]
    table.close()
    assert sum(sizes) == 300
    assert max(sizes) <= 100
