"""How commands end when something outside goes wrong: unwritable output, SIGTERM, kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from servers.http import Hang, HttpServer

from .conftest import Cli
from .test_call import ROWS, TOOLS, connector
from .test_interrupt import READ

COMMAND = [sys.executable, "-m", "jackfield.surfaces.cli"]
BIG = {"id": "keep_all", "name": "Keep all", "category": "WRITE", "parameters": [],
       "description": "Write many rows into the file.",
       "sql": "SELECT a.range * b.range AS n, md5(a.range::VARCHAR) AS t FROM range(1000000) a, range(1000) b, one",
       "save": {"to": "kept", "mode": "overwrite"}}  # fmt: skip
SMALL = {**BIG, "id": "keep_one", "name": "Keep one", "sql": "SELECT id FROM one"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return connector(tmp_path, [{"id": "sales", "type": "rows", "rows": ROWS}], TOOLS)


@pytest.mark.parametrize("name", ["r.xlsx", "r.sqlite", "r.doc", "r"])
def test_a_name_that_says_another_format_is_refused_before_anything_runs(cli: Cli, shop: Path, name: str) -> None:
    outcome = cli("call", shop, "list_sales", "-o", shop.parent / name)
    assert outcome.code == 2
    assert "does not say in which format to write" in outcome.err
    assert not (shop.parent / name).exists()
    assert cli("call", shop, "list_sales", "-o", shop.parent / name, "--format", "csv").code == 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="/proc is what can not be written")
def test_a_file_that_cannot_be_written_is_no_bug(cli: Cli, shop: Path) -> None:
    for name in ("/proc/x.csv", "/proc/x.json", "/proc/x.txt"):
        outcome = cli("call", shop, "list_sales", "-o", name)
        assert outcome.code == 3
        assert outcome.err.startswith(f"SOURCE_ERROR: {name} cannot be written: ")
    drawn = cli("plan", shop, "list_sales", "-o", "/proc/x.svg")
    assert drawn.err.startswith("SOURCE_ERROR: /proc/x.svg cannot be written: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
@pytest.mark.parametrize("arguments", [["call", "list_sales"], ["call", "list_sales", "--format", "csv"], ["show"]])
def test_a_full_standard_output_is_said_and_is_no_bug(shop: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [*COMMAND, arguments[0], str(shop), *arguments[1:]]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 3, done.stderr
    assert "SOURCE_ERROR: Standard output cannot be written: No space left on device." in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_termination_ends_a_call_as_ctrl_c_does(tmp_path: Path) -> None:
    hang = Hang()
    with HttpServer({"/animals": hang}) as server:
        source = {"id": "animals", "type": "rest", "url": f"{server.url}/animals"}
        path = connector(tmp_path, [source], [READ])
        process = subprocess.Popen([*COMMAND, "call", str(path), "list_animals"], stderr=subprocess.PIPE, text=True)
        assert hang.arrived.wait(20)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=10)
        assert hang.closed.wait(1)
    assert process.returncode == 143
    assert "CANCELLED: " in err
    assert "Traceback" not in err


def test_a_termination_while_stdin_is_read_leaves_no_folder(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "temporary").mkdir()
    process = subprocess.Popen(
        [*COMMAND, "save", str(tmp_path / "t.csv"), "-"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
    )  # fmt: skip
    assert appears(tmp_path / "temporary", "jackfield-*/stdin")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 143
    assert "CANCELLED: " in err
    assert list((tmp_path / "temporary").iterdir()) == []


def test_what_a_killed_save_left_is_gone_after_the_next_start(cli: Cli, tmp_path: Path) -> None:
    saves = [{"id": "kept", "type": "parquet", "path": "out/kept.parquet"}]
    other = {**READ, "id": "list_one", "name": "List one", "sql": "SELECT id FROM one LIMIT 5"}
    one = {"id": "one", "type": "rows", "rows": [{"id": 1}]}
    path = connector(tmp_path, [one], [BIG, SMALL, other], saves=saves)
    assert cli("call", path, "keep_one").code == 0
    before = listing(tmp_path / "out")
    process = subprocess.Popen([*COMMAND, "call", str(path), "keep_all"], stderr=subprocess.PIPE)
    assert appears(tmp_path / "out", "*jackfield-tmp*"), process.communicate(timeout=10)
    process.kill()
    process.communicate(timeout=10)
    assert listing(tmp_path / "out") != before, "it was killed in the middle"
    assert cli("call", path, "list_one").code == 0, "any start cleans, not only the same save"
    assert listing(tmp_path / "out") == before


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def appears(folder: Path, pattern: str, within: float = 30.0) -> bool:
    """Whether a file of another process comes to be, in time."""
    ends = time.perf_counter() + within
    while time.perf_counter() < ends:
        if any(folder.glob(pattern)) or any(folder.glob(f".{pattern}")):
            return True
        time.sleep(0.02)
    return False


def test_a_database_that_is_away_leaves_nothing_but_our_own_words_on_stderr(process: Cli, tmp_path: Path) -> None:
    dsn = "postgresql://ada@127.0.0.1:9/zoo"
    path = connector(tmp_path, [{"id": "animals", "type": "postgres", "dsn": dsn, "table": "animals"}], [READ])
    outcome = process("call", path, "list_animals")
    assert outcome.code == 3
    assert outcome.err.startswith("SOURCE_UNREACHABLE: ")
    assert "WARNING" not in outcome.err
    assert "/dev/null" not in outcome.err
