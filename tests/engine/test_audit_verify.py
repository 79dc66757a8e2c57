"""AUD-06: whatever is done to the lines, `verify` names the first bad one."""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from servers.audit import a_line, files, fill

from jackfield.engine.audit import places
from jackfield.engine.audit.chain import line_hash, link_of, read_head
from jackfield.engine.audit.log import AuditLog
from jackfield.engine.audit.verify import Verdict, verify
from jackfield.graphs.errors import Code, JackfieldError

LINES = 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An audit of one file."""
    fill(tmp_path / "audit", LINES)
    return tmp_path / "audit"


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """An audit of several files."""
    fill(tmp_path / "audit", 40, max_bytes=4_000)
    return tmp_path / "audit"


def changed(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def edited(line: bytes) -> bytes:
    return line.replace(b'"cat"', b'"dog"')


def place(verdict: Verdict) -> tuple[str, int]:
    assert verdict.fault is not None, "nothing was found"
    return verdict.fault.file, verdict.fault.line


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (lambda lines: [*lines[:4], *lines[5:]], 5, "Line 6 follows 4: line 5 is not here"),
        (lambda lines: [*lines[:4], *lines[7:]], 5, "Line 8 follows 4: lines 5 to 7 are not here"),
        (lambda lines: lines[1:], 1, "The file begins with line 2"),
        (lambda lines: [*lines[:4], edited(lines[4]), *lines[5:]], 5, "Line 5 is not what was written"),
        (lambda lines: [edited(lines[0]), *lines[1:]], 1, "Line 1 is not what was written"),
        (lambda lines: [*lines[:-2], edited(lines[-2]), lines[-1]], 11, "Line 11 is not what was written"),
        (lambda lines: [*lines[:-1], edited(lines[-1])], 12, "Line 12 is not what was written"),
        (lambda lines: [*lines[:4], lines[5], lines[4], *lines[6:]], 5, "Line 6 follows 4"),
        (lambda lines: [*lines[:5], *lines[4:]], 6, "After line 5 comes line 5, again"),
        (lambda lines: [*lines, lines[-1]], 13, "After line 12 comes line 12, again"),
        (lambda lines: [*lines, lines[0]], 13, "After line 12 comes line 1, which is out of order"),
        (lambda lines: lines[:-1], 12, "The audit ends after line 11"),
        (lambda lines: lines[:3], 4, "The audit ends after line 3"),
        (lambda lines: [], 1, "The audit ends after line 0"),
        (lambda lines: [*lines[:4], b"\n", *lines[4:]], 5, "This is no line of the audit: it is empty"),
        (lambda lines: [*lines[:4], b"{}\n", *lines[4:]], 5, 'This is no line of the audit: "{}"'),
        (lambda lines: [*lines[:4], lines[4][:40] + b"\n", *lines[5:]], 5, "This is no line of the audit"),
        (lambda lines: [*lines[:4], lines[4].replace(b'"seq":5', b'"seq":50'), *lines[5:]], 5, "Line 50 follows 4"),
        (lambda lines: [*lines[:4], lines[4].replace(b'"prev":"', b'"prev":"0'), *lines[5:]], 5, "Line 5 is not what"),
        (lambda lines: [*lines[:4], b"\xff\xfe" + lines[4], *lines[5:]], 5, "This is no line of the audit"),
    ],
    ids=["one deleted", "some deleted", "the first deleted", "one edited", "the first edited", "last but one edited",
         "the last edited", "two swapped", "one doubled", "the last doubled", "the first again", "the last cut",
         "many cut", "emptied", "an empty line", "a foreign line", "a line cut short", "its number edited",
         "its link edited", "no text"],
)  # fmt: skip
def test_aud_06_the_first_bad_line_is_named(
    folder: Path, change: Callable[[list[bytes]], list[bytes]], line: int, words: str
) -> None:
    assert verify(folder).fault is None
    changed(folder / "audit.log", change)
    verdict = verify(folder)
    assert place(verdict) == ("audit.log", line)
    assert str(verdict.fault).startswith(f"audit.log:{line}: {words}")
    assert verdict.fault is not None
    assert verdict.fault.expected


def test_aud_06_a_file_replaced_by_one_that_is_sound_in_itself_is_found(folder: Path, tmp_path: Path) -> None:
    fill(tmp_path / "forged", LINES)
    forged = (tmp_path / "forged" / "audit.log").read_bytes()
    (folder / "audit.log").write_bytes(forged)
    assert place(verify(folder)) == ("audit.log", LINES)
    fill(tmp_path / "longer", LINES + 5)
    (folder / "audit.log").write_bytes((tmp_path / "longer" / "audit.log").read_bytes())
    assert place(verify(folder)) == ("audit.log", LINES)


def test_aud_06_lines_added_behind_the_record_are_found(folder: Path) -> None:
    path = folder / "audit.log"
    for number in range(2):
        text = path.read_bytes().splitlines()[-1]
        link = link_of(text)
        assert link is not None
        forged = text.replace(link.prev.encode(), line_hash(text).encode())
        forged = forged.replace(f'"seq":{link.seq}'.encode(), f'"seq":{link.seq + 1}'.encode())
        path.write_bytes(path.read_bytes() + forged + b"\n")
        verdict = verify(folder)
        if number == 0:  # a crash between the line and its record leaves as much
            assert verdict.fault is None
            assert "one line behind" in verdict.notes[0]
    assert place(verdict) == ("audit.log", LINES + 2)


def test_aud_06_a_whole_chain_written_anew_is_found_by_a_record_that_was_kept_elsewhere(tmp_path: Path) -> None:
    fill(tmp_path / "audit", LINES)
    kept = read_head(tmp_path / "audit")
    fill(tmp_path / "audit", 3)
    assert verify(tmp_path / "audit", against=kept).fault is None
    fill(tmp_path / "forged", LINES + 3)
    assert verify(tmp_path / "forged").fault is None
    verdict = verify(tmp_path / "forged", against=kept)
    assert place(verdict) == ("audit.log", LINES)
    assert "as the record that was kept says" in str(verdict.fault)
    fill(tmp_path / "shorter", LINES - 3)
    assert place(verify(tmp_path / "shorter", against=kept)) == ("audit.log", LINES - 2)


@pytest.mark.parametrize("text", [None, b"", b"{}", b"nonsense"])
def test_aud_06_without_the_head_record_the_end_cannot_be_vouched_for(folder: Path, text: bytes | None) -> None:
    if text is None:
        (folder / "head.json").unlink()
    else:
        (folder / "head.json").write_bytes(text)
    assert place(verify(folder)) == ("head.json", 0)


def test_aud_06_in_files_that_are_full_too(several: Path) -> None:
    path = files(several)[2]
    changed(path, lambda lines: [*lines[:1], edited(lines[1]), *lines[2:]])
    assert place(verify(several)) == (path.name, 2)


def test_aud_06_the_last_line_of_a_full_file_is_vouched_for_by_the_next_file(several: Path) -> None:
    path = files(several)[2]
    lines = path.read_bytes().splitlines()
    changed(path, lambda lines: [*lines[:-1], edited(lines[-1])])
    assert place(verify(several)) == (path.name, len(lines))


@pytest.mark.parametrize("index", [0, 2, -1])
def test_aud_06_a_file_that_is_gone_is_missed(several: Path, index: int) -> None:
    path = files(several)[index]
    following = files(several)[index + 1] if index != -1 else files(several)[-2]
    last = len(following.read_bytes().splitlines())
    path.unlink()
    assert place(verify(several)) == ((following.name, 1) if index != -1 else (following.name, last + 1))


def test_aud_06_two_files_that_changed_names_are_found(several: Path) -> None:
    _, second, third, *_ = files(several)
    shutil.copy(second, several / "aside")
    shutil.copy(third, second)
    shutil.copy(several / "aside", third)
    assert place(verify(several)) == (second.name, 1)


def test_files_moved_away_are_accepted_where_that_is_said(several: Path) -> None:
    first, second, *_ = files(several)
    first.unlink()
    assert place(verify(several)) == (second.name, 1)
    verdict = verify(several, archived=True)
    assert verdict.fault is None
    assert "are not here" in verdict.notes[0]
    changed(second, lambda lines: lines[1:])
    assert place(verify(several, archived=True)) == (second.name, 1)


def test_a_torn_last_line_is_what_a_crash_may_leave_and_only_in_the_current_file(several: Path) -> None:
    with (several / "audit.log").open("ab") as file:
        file.write(b'{"ts":"2026')
    verdict = verify(several)
    assert verdict.fault is None
    assert "not whole yet (11 bytes)" in verdict.notes[0]
    path = files(several)[0]
    path.write_bytes(path.read_bytes()[:-1])
    assert place(verify(several)) == (path.name, len(path.read_bytes().splitlines()))


def test_nothing_recorded_is_an_error_and_no_clean_bill(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(JackfieldError) as caught:
            verify(folder)
        assert caught.value.code is Code.SCHEMA_NOT_FOUND


def test_an_audit_that_has_no_line_yet_is_sound(tmp_path: Path) -> None:
    fill(tmp_path, 0)
    assert verify(tmp_path) == Verdict(1, 0, 0, 0)


def test_any_one_change_is_found_at_or_before_the_line_after_it(several: Path, tmp_path: Path) -> None:
    chance = random.Random(20261121)
    for round_number in range(150):
        copy = tmp_path / f"copy{round_number}"
        shutil.copytree(several, copy)
        path = chance.choice([one for one in files(copy) if one.stat().st_size])
        content = path.read_bytes()
        at = chance.randrange(len(content))
        match chance.randrange(3):
            case 0:
                torn = content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :]
            case 1:
                torn = content[:at] + content[at + 1 :]
            case _:
                torn = content[:at] + chance.choice([b"\n", b"x", b" "]) + content[at:]
        path.write_bytes(torn)
        verdict = verify(copy)
        assert verdict.fault is not None, (path.name, at)
        line = content[:at].count(b"\n") + 1
        named = [one.name for one in files(copy)].index(verdict.fault.file)
        here = [one.name for one in files(copy)].index(path.name)
        assert (named, verdict.fault.line) == (here, line) or named == here + 1 or verdict.fault.line == line + 1
        shutil.rmtree(copy)


def test_verify_is_right_while_lines_are_being_written(tmp_path: Path) -> None:
    over = threading.Event()
    verdicts: list[Verdict] = []
    failures: list[BaseException] = []

    def look() -> None:
        try:
            while not over.is_set():
                verdicts.append(verify(tmp_path))
        except BaseException as error:
            failures.append(error)

    with AuditLog(tmp_path, max_bytes=20_000) as log:
        log.append(a_line())
        thread = threading.Thread(target=look)
        thread.start()
        number = 0
        while (len(verdicts) < 40 or verdicts[-1].lines == verdicts[0].lines) and not failures and number < 200_000:
            number += 1
            log.append(a_line(number))
        over.set()
        thread.join()
    assert not failures
    assert len(verdicts) >= 40
    assert [verdict.fault for verdict in verdicts if verdict.fault] == []
    assert verdicts[-1].lines > verdicts[0].lines


@pytest.mark.parametrize("times", [1, 2, 3])
def test_files_that_become_full_while_they_are_listed_are_not_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    with AuditLog(tmp_path, max_bytes=600) as log:  # a line a file
        log.append(a_line())
        listed = places.rotated

        def late(folder: Path) -> tuple[places.Rotated, ...]:
            for number in range(times):
                log.append(a_line(number))
            return listed(folder)

        monkeypatch.setattr(places, "rotated", late)
        verdict = verify(tmp_path)
        monkeypatch.undo()
    assert verdict.fault is None, str(verdict.fault)
    assert verdict.lines == 1
    assert verify(tmp_path).lines == 1 + times


def test_the_head_record_has_one_size_so_that_one_write_replaces_it(folder: Path) -> None:
    before = (folder / "head.json").stat().st_size
    fill(folder, 100)
    assert (folder / "head.json").stat().st_size == before
    assert json.loads((folder / "head.json").read_bytes())["seq"] == LINES + 100


def test_a_head_record_that_does_not_fit_its_check_is_none(folder: Path) -> None:
    record = (folder / "head.json").read_bytes()
    (folder / "head.json").write_bytes(record.replace(b'"seq":12', b'"seq":11'))
    assert read_head(folder) is None
    assert place(verify(folder)) == ("head.json", 0)
