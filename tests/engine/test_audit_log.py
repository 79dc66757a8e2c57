"""Writing the audit: one line a call, whatever is in it; files that are full; one writer.

The cases are AUD-01, AUD-04 of the project's list.
"""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import unicodedata
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.audit import a_line, files, fill, read

from jackfield.engine.audit.chain import START, line_hash, read_head
from jackfield.engine.audit.line import KEYS, Line
from jackfield.engine.audit.log import AuditLog
from jackfield.engine.audit.verify import verify
from jackfield.graphs.errors import Code, JackfieldError

HOLDER = """
import sys
from pathlib import Path
from jackfield.engine.audit.log import AuditLog
AuditLog(Path(sys.argv[1])).open()
print("open", flush=True)
sys.stdin.read()
"""
SPEC_KEYS = ("ts", "tool", "args", "rows", "bytes", "duration_ms", "error", "session_id")
HOSTILE = ['\n{"tool":"x"}', "\u2028", "\u2029", "\x85", "\x1b[31m", "\x00", "\ud800", "\u202e", "\x7f", "\x9b2J", "\r"]


def test_a_line_has_the_keys_of_the_specification_first_and_then_ours(tmp_path: Path) -> None:
    with AuditLog(tmp_path) as log:
        log.append(
            a_line(
                3, bytes=120, duration_ms=1.23456, error="SOURCE_ERROR", session_id="s1", run="r1", pushed=["species"]
            )
        )
    (line,) = read(tmp_path)
    assert tuple(line) == KEYS
    assert tuple(line)[: len(SPEC_KEYS)] == SPEC_KEYS
    assert tuple(line)[-2:] == ("seq", "prev")
    assert (line["args"], line["rows"], line["bytes"]) == ({"species": "cat", "n": 3}, 3, 120)
    assert (line["duration_ms"], line["error"], line["session_id"]) == (1.235, "SOURCE_ERROR", "s1")
    assert (line["run"], line["pushed"], line["decision"]) == ("r1", ["species"], "allowed")
    assert abs((datetime.fromisoformat(line["ts"]) - datetime.now().astimezone()).total_seconds()) < 60
    assert line["ts"].endswith("Z")


def test_each_line_carries_the_hash_of_the_one_before_and_the_head_that_of_the_last(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    texts = (tmp_path / "audit.log").read_bytes().splitlines()
    lines = read(tmp_path)
    assert [line["seq"] for line in lines] == [1, 2, 3]
    assert [line["prev"] for line in lines] == [START, line_hash(texts[0]), line_hash(texts[1])]
    head = read_head(tmp_path)
    assert head is not None
    assert (head.file, head.seq, head.hash) == ("audit.log", 3, line_hash(texts[2]))


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_aud_01_whatever_a_caller_writes_it_is_one_line_that_no_terminal_obeys(tmp_path: Path, text: str) -> None:
    with AuditLog(tmp_path) as log:
        log.append(a_line(tool=f"t{text}", args={f"k{text}": [f"v{text}"]}, client=f"c{text}", message=f"m{text}"))
        log.append(a_line(2))
    written = (tmp_path / "audit.log").read_bytes()
    assert len(written.decode().splitlines()) == 2  # splitlines also ends lines at U+2028, U+0085 and the like
    assert all(
        unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp")
        for character in written.decode()[:-1].replace("\n", "")
    )
    shown = text.encode("utf-8", "backslashreplace").decode()
    line = json.loads(written.splitlines()[0])
    assert line["tool"] == f"t{shown}"
    assert line["args"] == {f"k{shown}": [f"v{shown}"]}
    assert (line["client"], line["message"]) == (f"c{shown}", f"m{shown}")


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.binary(max_size=20)
    | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(tool=st.text(st.characters()), args=st.dictionaries(st.text(st.characters(), max_size=8), anything, max_size=4))
@settings(deadline=None, max_examples=150)
def test_aud_01_any_arguments_make_exactly_one_line_of_json(
    tmp_path_factory: pytest.TempPathFactory, tool: str, args: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("audit")
    with AuditLog(folder) as log:
        log.append(a_line(tool=tool, args=args))
    assert len((folder / "audit.log").read_bytes().decode().splitlines()) == 1
    (line,) = read(folder)
    assert tuple(line) == KEYS
    assert verify(folder).fault is None


def test_what_json_cannot_say_is_told_as_text(tmp_path: Path) -> None:
    deep: Any = "bottom"
    for _ in range(5_000):
        deep = [deep]
    with AuditLog(tmp_path) as log:
        log.append(a_line(args={"thing": object(), "huge": 1 << 100_000, "nan": float("nan"), "deep": deep}))
    (line,) = read(tmp_path)
    assert line["args"]["thing"] == "a value of type object"
    assert line["args"]["huge"] == "a whole number of 100001 bits"
    assert line["args"]["nan"] is None
    assert "deeper than 32 levels" in json.dumps(line["args"]["deep"])


def test_a_name_of_any_length_leaves_a_line_short(tmp_path: Path) -> None:
    with AuditLog(tmp_path) as log:
        log.append(Line(tool="t" * 10**6, client="c" * 10**6, session_id="s" * 10**6, message="m" * 10**6))
    assert (tmp_path / "audit.log").stat().st_size < 4_096


def test_folder_and_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "audit"
    fill(folder, 30, max_bytes=4_000)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert len(files(folder)) > 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_a_full_file_gets_a_name_of_its_own_and_the_chain_goes_on(tmp_path: Path) -> None:
    fill(tmp_path, 40, max_bytes=4_000)
    *full, current = files(tmp_path)
    assert current.name == "audit.log"
    assert all(path.stat().st_size <= 4_000 for path in full)
    firsts = [json.loads(path.read_bytes().splitlines()[0]) for path in full]
    assert [path.name for path in full] == [
        f"audit-{line['ts'].replace(':', '-')}-{line['seq']:012d}.log" for line in firsts
    ]
    assert [line["seq"] for line in read(tmp_path)] == list(range(1, 41))
    verdict = verify(tmp_path)
    assert (verdict.fault, verdict.lines, verdict.files) == (None, 40, len(full) + 1)


def test_the_first_line_of_another_day_begins_a_file_and_a_clock_set_back_begins_none(tmp_path: Path) -> None:
    midnight = 86_400 * 20_000
    now = [midnight - 1.0]
    with AuditLog(tmp_path, clock=lambda: now[0]) as log:
        for moment in (midnight - 1, midnight - 0.5, midnight, midnight - 5, midnight + 10):
            now[0] = moment
            log.append(a_line())
    first, second = files(tmp_path)
    assert first.name == "audit-2024-10-03T23-59-59.000Z-000000000001.log"
    assert (len(first.read_bytes().splitlines()), len(second.read_bytes().splitlines())) == (2, 3)


def test_a_file_of_an_earlier_day_is_full_when_the_next_process_writes(tmp_path: Path) -> None:
    for day in (20_000, 20_001):
        with AuditLog(tmp_path, clock=lambda: 86_400.0 * day) as log:  # noqa: B023 - called in this round only
            log.append(a_line())
    assert [len(path.read_bytes().splitlines()) for path in files(tmp_path)] == [1, 1]


def test_opening_again_goes_on_with_the_same_file_and_chain(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    fill(tmp_path, 2)
    with AuditLog(tmp_path) as log:
        assert log.append(a_line()) == 5
        assert not log.notes
    assert [line["seq"] for line in read(tmp_path)] == [1, 2, 3, 4, 5]
    assert verify(tmp_path).fault is None


def test_one_process_writes_and_a_second_is_told_which(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        with pytest.raises(JackfieldError) as caught:
            AuditLog(tmp_path).open()
        assert caught.value.code is Code.CONFIG_INVALID
        assert str(child.pid) in caught.value.message
        assert str(tmp_path) in caught.value.message
        assert caught.value.details == {"key": "state", "process": child.pid}
    finally:
        child.communicate(timeout=30)
    fill(tmp_path, 1)


def test_a_log_that_is_not_open_refuses(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    for use in (lambda: log.require("WRITE"), lambda: log.append(a_line())):
        with pytest.raises(JackfieldError) as caught:
            use()
        assert caught.value.code is Code.AUDIT_UNAVAILABLE
