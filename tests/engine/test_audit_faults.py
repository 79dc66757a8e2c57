"""AUD-07: what cannot be recorded does not happen, or is not answered; and nothing that happened is forgotten."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from servers.audit import a_line, read

from jackfield.engine.audit.log import MOST_KEPT, AuditLog
from jackfield.engine.audit.verify import verify
from jackfield.graphs.errors import Code, JackfieldError

FULL_DISK = """
import json, os, resource, signal, sys
from pathlib import Path
from jackfield.engine.audit.line import Line
from jackfield.engine.audit.log import AuditLog
from jackfield.graphs.errors import JackfieldError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[1])
log = AuditLog(folder, retry_s=0).open()
log.append(Line(tool="before", category="WRITE"))
room = (folder / "audit.log").stat().st_size + 100
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
told = []
for attempt in (lambda: log.append(Line(tool="during", category="WRITE")), lambda: log.require("WRITE")):
    try:
        attempt()
    except JackfieldError as error:
        told.append(error.as_json())
during = (folder / "audit.log").read_bytes()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.require("WRITE")
seq = log.append(Line(tool="after", category="WRITE"))
log.close()
print(json.dumps({"told": told, "during": during.decode(), "seq": seq}))
"""


def test_aud_07_a_full_disk_refuses_writes_and_the_line_of_the_one_that_was_made_comes_later(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    found = json.loads(done.stdout)
    made, refused = found["told"]
    assert (made["code"], made["details"]) == ("AUDIT_UNAVAILABLE", {"made": True})
    assert "succeeded" in made["message"]
    assert "Do not make it again" in made["hint"]
    assert (refused["code"], refused["details"]) == ("AUDIT_UNAVAILABLE", {})
    assert str(tmp_path) not in json.dumps(found["told"])
    assert len(found["during"].splitlines()) == 1
    assert [(line["seq"], line["tool"]) for line in read(tmp_path)] == [(1, "before"), (2, "during"), (3, "after")]
    assert found["seq"] == 3
    assert verify(tmp_path).fault is None


def remove_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def move_folder(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))


def remove_file(folder: Path) -> None:
    (folder / "audit.log").unlink()


def replace_file(folder: Path) -> None:
    content = (folder / "audit.log").read_bytes()
    (folder / "audit.log").unlink()
    (folder / "new").write_bytes(content.replace(b"cat", b"dog"))
    (folder / "new").rename(folder / "audit.log")


def forbid(folder: Path) -> None:
    (folder / "audit.log").chmod(0o400)


def append_to(folder: Path) -> None:
    with (folder / "audit.log").open("ab") as file:
        file.write(b"mine\n")


def shorten(folder: Path) -> None:
    with (folder / "audit.log").open("r+b") as file:
        file.truncate(10)


HARMS = [remove_folder, move_folder, remove_file, replace_file, forbid, append_to, shorten]


@pytest.mark.parametrize("harm", HARMS)
def test_aud_07_a_file_that_is_not_as_it_was_left_refuses_what_writes_before_it_runs(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    folder = tmp_path / "audit"
    with AuditLog(folder) as log:
        log.append(a_line())
        harm(folder)
        for category in ("WRITE", "ACTION", "SKILL", "READ", None):
            with pytest.raises(JackfieldError) as caught:
                log.require(category)
            assert caught.value.code is Code.AUDIT_UNAVAILABLE
            assert caught.value.http_status == 503
            assert str(tmp_path) not in str(caught.value.as_json())
        assert log.notes


@pytest.mark.parametrize("harm", HARMS)
def test_aud_07_reading_goes_on_only_where_the_workspace_says_so(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    folder = tmp_path / "audit"
    with AuditLog(folder, read_without=True) as log:
        log.append(a_line())
        harm(folder)
        log.require("READ")
        assert log.append(a_line()) == 0
        assert log.waiting == 1
        with pytest.raises(JackfieldError, match="cannot be written"):
            log.require("WRITE")


def test_aud_07_an_answer_that_cannot_be_recorded_is_not_given(tmp_path: Path) -> None:
    with AuditLog(tmp_path / "audit") as log:
        shutil.rmtree(tmp_path / "audit")
        with pytest.raises(JackfieldError) as caught:
            log.append(a_line(category="READ"))
        assert (caught.value.code, caught.value.details) == (Code.AUDIT_UNAVAILABLE, {})
        assert log.append(a_line(error="SOURCE_ERROR")) == 0, "a call that failed keeps its own error"
        assert log.waiting == 2


def test_it_goes_on_when_the_file_is_back_and_what_waited_is_written_with_its_own_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "audit"
    now = [1_800_000_000.0]
    with AuditLog(folder, read_without=True, retry_s=0, clock=lambda: now[0]) as log:
        log.append(a_line(1))
        folder.rename(tmp_path / "aside")
        log.append(a_line(2))
        now[0] += 60
        for _ in range(3):
            log.require("READ")
        (tmp_path / "aside").rename(folder)
        assert log.append(a_line(3)) == 3
        assert log.waiting == 0
    assert [record.getMessage() for record in caplog.records] == [
        "The audit cannot be written: No such file or directory.",
        "The audit is written again: 1 lines that waited are in it.",
    ], "each is told once"
    lines = read(folder)
    assert [line["rows"] for line in lines] == [1, 2, 3]
    assert [line["ts"][14:16] for line in lines] == ["00", "00", "01"]
    assert verify(folder).fault is None


def test_a_folder_that_was_emptied_goes_on_where_it_ended_so_that_the_loss_shows(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    with AuditLog(folder, retry_s=0) as log:
        log.append(a_line(1))
        shutil.rmtree(folder)
        with pytest.raises(JackfieldError):
            log.require("WRITE")
        folder.mkdir()
        log.require("WRITE")
        assert log.append(a_line(2)) == 2
        assert any("a new one goes on at line 2" in note for note in log.notes)
    fault = verify(folder).fault
    assert fault is not None
    assert fault.found == "The audit begins with line 2."


def test_a_file_that_was_replaced_is_not_written_to(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    with AuditLog(folder, retry_s=0) as log:
        log.append(a_line(1))
        replace_file(folder)
        content = (folder / "audit.log").read_bytes()
        with pytest.raises(JackfieldError, match="was replaced"):
            log.require("WRITE")
        for _ in range(2):
            with pytest.raises(JackfieldError, match="is not the file that was written"):
                log.require("WRITE")
        assert (folder / "audit.log").read_bytes() == content


def test_what_waits_is_written_at_the_latest_when_the_log_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    with AuditLog(folder, read_without=True) as log:
        folder.rename(tmp_path / "aside")
        log.append(a_line(1))
        (tmp_path / "aside").rename(folder)
    assert [line["rows"] for line in read(folder)] == [1]
    assert log.lost == 0


def test_only_so_many_lines_wait_and_those_given_up_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    with AuditLog(folder, read_without=True) as log:
        shutil.rmtree(folder)
        for number in range(MOST_KEPT + 7):
            log.append(a_line(number))
        assert (log.waiting, log.lost) == (MOST_KEPT, 7)
    assert log.lost == MOST_KEPT + 7


def test_a_folder_that_cannot_be_made_is_told_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    folder = tmp_path / "state" / "audit"
    with pytest.raises(JackfieldError) as caught:
        AuditLog(folder).open()
    assert caught.value.code is Code.AUDIT_UNAVAILABLE
    assert str(folder) in caught.value.message
    with AuditLog(folder, read_without=True) as log:
        log.require("READ")
        with pytest.raises(JackfieldError):
            log.require("WRITE")


def test_a_second_writer_that_came_meanwhile_keeps_the_log_closed(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    with AuditLog(folder, retry_s=0) as log:
        log.append(a_line(1))
        folder.rename(tmp_path / "aside")
        with pytest.raises(JackfieldError):
            log.require("WRITE")
        (tmp_path / "aside").rename(folder)
        with AuditLog(folder) as other:
            other.append(a_line(2))
            with pytest.raises(JackfieldError, match="Another process"):
                log.require("WRITE")
    assert verify(folder).fault is None
