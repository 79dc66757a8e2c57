"""`jackfield audit`: tail, query, verify, export, also while the log is being written.

The cases are AUD-11 of the project's list.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from servers.audit import a_line

from jackfield.engine.audit.line import KEYS
from jackfield.engine.audit.log import AuditLog
from jackfield.surfaces.auditing import audit_folder, audit_log
from jackfield.surfaces.settings import load

from .conftest import Cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with 25 recorded calls in several files; the folder of its audit."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jackfield.toml").write_text("[audit]\nmax_bytes = 5000\n")
    settings = load()
    with audit_log(settings) as log:
        for number in range(1, 26):
            error = "SOURCE_ERROR" if number % 5 == 0 else None
            log.append(a_line(number, tool=f"=t{number % 2}", error=error, session_id=f"s{number % 3}"))
    assert audit_folder(settings) == tmp_path / ".jackfield" / "audit"
    return audit_folder(settings)


def test_tail_prints_the_last_lines_as_they_were_written(cli: Cli, folder: Path) -> None:
    lines = [json.loads(line) for line in cli("audit", "tail", "-n", 12).out.splitlines()]
    assert [line["seq"] for line in lines] == list(range(14, 26))
    assert cli("audit", "tail", "-n", 0).out == ""
    assert len(cli("audit", "tail").out.splitlines()) == 10
    assert cli("audit", "tail", "-n", 1).out.encode() == (folder / "audit.log").read_bytes().splitlines(True)[-1]


def test_tail_goes_on_with_each_new_line_until_ctrl_c(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "jackfield.surfaces.cli", "audit", "tail", "-n", "1", "-f"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as child:
        assert child.stdout is not None
        assert json.loads(child.stdout.readline())["seq"] == 25
        with audit_log(load()) as log:
            for number in range(26, 46):  # the files are full several times
                log.append(a_line(number))
                assert json.loads(child.stdout.readline())["seq"] == number
        os.kill(child.pid, signal.SIGINT)
        assert child.wait(30) == 130


def test_query_answers_sql_in_every_format_while_the_log_is_open(cli: Cli, folder: Path, tmp_path: Path) -> None:
    sql = "SELECT tool, count(*) AS calls, max(rows) AS most FROM audit WHERE error IS NULL GROUP BY 1 ORDER BY 1"
    with audit_log(load()) as log:
        log.append(a_line(26, tool="=t0"))
        rows = cli("audit", "query", sql, "--format", "json").json
    assert rows == {
        "rows": [{"tool": "=t0", "calls": 11, "most": 26}, {"tool": "=t1", "calls": 10, "most": 23}],
        "row_count": 2,
    }
    assert cli("audit", "query", sql).out.splitlines()[-1].split() == ["=t1", "10", "23"]
    assert cli("audit", "query", sql, "-o", "found.parquet").code == 0
    assert pq.read_table(tmp_path / "found.parquet").to_pylist() == rows["rows"]


def test_aud_11_neither_export_nor_query_gives_a_spreadsheet_a_formula(cli: Cli, folder: Path, tmp_path: Path) -> None:
    answered = cli("audit", "query", "SELECT DISTINCT tool, -1 AS n FROM audit ORDER BY 1", "--format", "csv")
    assert list(csv.reader(io.StringIO(answered.out))) == [["tool", "n"], ["'=t0", "-1"], ["'=t1", "-1"]]
    assert cli("audit", "export", "--format", "csv", "-o", "audit.csv").code == 0
    with (tmp_path / "audit.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == KEYS
    assert {row[1] for row in rows} == {"'=t0", "'=t1"}
    assert len(rows) == 25


def test_export_takes_the_lines_that_are_asked_for(cli: Cli, folder: Path) -> None:
    lines = cli("audit", "export", "--format", "ndjson", "--error", "SOURCE_ERROR", "--session", "s1").out.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [10, 25]
    assert cli("audit", "export", "--format", "ndjson", "--since", "1h", "--tool", "=t1").out.count("\n") == 13
    assert cli("audit", "export", "--format", "ndjson", "--until", "2001-01-01").out == ""
    refused = cli("audit", "export", "--since", "soon")
    assert refused.code == 2
    assert "'soon' is no time" in refused.err


def test_verify_says_what_it_read_and_names_the_first_bad_line(cli: Cli, folder: Path) -> None:
    sound = cli("audit", "verify")
    assert (sound.code, sound.out) == (0, "25 lines as they were written: 1 to 25.\n")
    path = sorted(folder.glob("audit-*.log"))[1]
    lines = path.read_bytes().splitlines(True)
    path.write_bytes(b"".join([lines[0], lines[1].replace(b"cat", b"dog"), *lines[2:]]))
    bad = cli("audit", "verify")
    assert bad.code == 1
    assert bad.out.startswith(f"{path.name}:2: Line ")
    found = cli("audit", "verify", "--format", "json")
    assert found.code == 1
    assert found.json["ok"] is False
    assert (found.json["fault"]["file"], found.json["fault"]["line"]) == (path.name, 2)


def test_verify_holds_the_lines_to_a_copy_of_the_head_record(cli: Cli, folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "kept.json"
    copy.write_bytes((folder / "head.json").read_bytes())
    assert cli("audit", "verify", "--against", copy).code == 0
    shutil.rmtree(folder)
    with audit_log(load()) as log:
        for number in range(30):
            log.append(a_line(number))
    assert cli("audit", "verify").code == 0
    found = cli("audit", "verify", "--against", copy)
    assert found.code == 1
    assert "Line 25 is not what was written" in found.out
    copy.write_text("{}")
    assert cli("audit", "verify", "--against", copy).code == 2


def test_files_moved_away_are_a_fault_until_it_is_said_that_they_were(cli: Cli, folder: Path) -> None:
    min(folder.glob("audit-*.log")).unlink()
    missing = cli("audit", "verify")
    assert missing.code == 1
    assert "--archived" in missing.out
    accepted = cli("audit", "verify", "--archived")
    assert accepted.code == 0
    assert "are not here" in accepted.err


@pytest.fixture
def beside(folder: Path) -> Path:
    """The audit of a second process, with three lines after those of the first."""
    found = folder.with_name("audit-2")
    with AuditLog(found) as log:
        for number in range(1, 4):
            log.append(a_line(number, tool="beside"))
    return found


def test_each_command_reads_the_audits_of_all_processes_of_the_workspace(cli: Cli, beside: Path) -> None:
    tools = [json.loads(line)["tool"] for line in cli("audit", "tail", "-n", 5).out.splitlines()]
    assert tools == ["=t0", "=t1", "beside", "beside", "beside"]
    counted = cli("audit", "query", "SELECT count(*) AS n FROM audit", "--format", "json")
    assert counted.json["rows"] == [{"n": 28}]
    assert cli("audit", "export", "--format", "ndjson", "--tool", "beside").out.count("\n") == 3
    assert cli("audit", "verify").out.splitlines() == [
        "audit: 25 lines as they were written: 1 to 25.",
        "audit-2: 3 lines as they were written: 1 to 3.",
    ]


def test_only_names_one_audit(cli: Cli, beside: Path) -> None:
    assert cli("audit", "tail", "-n", 50, "--only", "audit-2").out.count("\n") == 3
    counted = cli("audit", "query", "SELECT count(*) AS n FROM audit", "--format", "json", "--only", "audit")
    assert counted.json["rows"] == [{"n": 25}]
    assert cli("audit", "export", "--format", "ndjson", "--only", "audit").out.count("\n") == 25
    assert cli("audit", "verify", "--only", "audit-2").out == "3 lines as they were written: 1 to 3.\n"
    wrong = cli("audit", "verify", "--only", "audit-3")
    assert wrong.code == 2
    assert "There is no audit 'audit-3'." in wrong.err
    assert "audit-2" in wrong.err


def test_a_fault_in_any_audit_is_found_and_a_kept_record_is_of_the_one_that_is_named(
    cli: Cli, folder: Path, beside: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "kept.json"
    copy.write_bytes((beside / "head.json").read_bytes())
    assert cli("audit", "verify", "--against", copy, "--only", "audit-2").code == 0
    assert cli("audit", "verify", "--against", folder / "head.json").code == 0
    log = beside / "audit.log"
    log.write_bytes(log.read_bytes().replace(b"cat", b"dog", 1))
    bad = cli("audit", "verify")
    assert bad.code == 1
    assert "audit-2: audit.log:1: Line 1 is not what was written" in bad.out
    found = cli("audit", "verify", "--format", "json").json
    assert (found["ok"], found["fault"]["line"]) == (False, 1)
    assert {name: one["ok"] for name, one in found["audits"].items()} == {"audit": True, "audit-2": False}


def test_tail_follows_also_the_audit_of_a_process_that_starts_meanwhile(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "jackfield.surfaces.cli", "audit", "tail", "-n", "1", "-f"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as child:
        assert child.stdout is not None
        assert json.loads(child.stdout.readline())["seq"] == 25
        with AuditLog(folder.with_name("audit-2")) as log:
            log.append(a_line(1, tool="beside"))
            assert json.loads(child.stdout.readline())["tool"] == "beside"
        os.kill(child.pid, signal.SIGINT)
        assert child.wait(30) == 130


@pytest.mark.parametrize("command", [["tail"], ["query", "SELECT 1"], ["verify"], ["export"]])
def test_where_nothing_was_recorded_each_says_so(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = cli("audit", *command)
    assert outcome.code == 2
    assert "There is no audit in" in outcome.err
    assert not (tmp_path / ".jackfield").exists()


def test_reading_the_audit_imports_nothing_heavy(folder: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from jackfield.surfaces.cli import main; code = main(['audit', 'verify']);"
        "sys.exit(code or bool({'duckdb', 'pyarrow', 'mcp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
