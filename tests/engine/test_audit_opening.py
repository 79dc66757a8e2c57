"""What a crash or somebody's hand left in the folder, and how the next process goes on from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from servers.audit import a_line, files, fill, read

from jackfield.engine.audit.log import AuditLog
from jackfield.engine.audit.verify import verify


def opened(folder: Path) -> list[str]:
    """Open, write one line and close; what was told."""
    with AuditLog(folder) as log:
        log.append(a_line(99))
        return list(log.notes)


def test_a_torn_last_line_is_moved_aside_and_told(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    with (tmp_path / "audit.log").open("ab") as file:
        file.write(b'{"ts":"2026-11-21T')
    (note,) = opened(tmp_path)
    (torn,) = tmp_path.glob("torn-*.part")
    assert torn.read_bytes() == b'{"ts":"2026-11-21T'
    assert "last 18 bytes" in note
    assert torn.name in note
    assert [line["seq"] for line in read(tmp_path)] == [1, 2, 3, 4]
    assert verify(tmp_path).fault is None


def test_a_file_that_is_one_torn_line_is_mended(tmp_path: Path) -> None:
    fill(tmp_path, 0)
    (tmp_path / "audit.log").write_bytes(b'{"ts"')
    assert len(opened(tmp_path)) == 1
    assert [line["seq"] for line in read(tmp_path)] == [1]
    assert verify(tmp_path).fault is None


def test_a_head_record_one_line_behind_is_what_a_kill_may_leave(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    head = (tmp_path / "head.json").read_bytes()
    fill(tmp_path, 1)
    (tmp_path / "head.json").write_bytes(head)
    assert verify(tmp_path).fault is None
    assert opened(tmp_path) == []
    assert verify(tmp_path).fault is None
    assert len(read(tmp_path)) == 5


def test_a_kill_between_the_renaming_and_the_new_file_loses_nothing(tmp_path: Path) -> None:
    fill(tmp_path, 12, max_bytes=5_000)
    *_, current = files(tmp_path)
    lines = current.read_bytes().splitlines()
    first = read(tmp_path)[-len(lines)]
    current.rename(tmp_path / f"audit-{first['ts'].replace(':', '-')}-{first['seq']:012d}.log")
    assert verify(tmp_path).fault is None
    assert opened(tmp_path) == []
    assert [line["seq"] for line in read(tmp_path)] == list(range(1, 14))
    assert verify(tmp_path).fault is None


def cut(folder: Path) -> None:
    path = folder / "audit.log"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]))


def edit(folder: Path) -> None:
    path = folder / "audit.log"
    path.write_bytes(path.read_bytes().replace(b'"n":5', b'"n":6'))


def remove(folder: Path) -> None:
    (folder / "audit.log").unlink()


def empty(folder: Path) -> None:
    (folder / "audit.log").write_bytes(b"")


def replace(folder: Path) -> None:
    (folder / "audit.log").write_bytes(b"something else\n")


def lengthen(folder: Path) -> None:
    path = folder / "audit.log"
    last = path.read_bytes().splitlines(keepends=True)[-1]
    path.write_bytes(path.read_bytes() + last.replace(b'"seq":5', b'"seq":6') + last.replace(b'"seq":5', b'"seq":7'))


@pytest.mark.parametrize("harm", [cut, edit, remove, empty, replace, lengthen])
def test_what_is_more_than_a_crash_is_told_and_no_restart_hides_it(
    tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    fill(tmp_path, 5)
    harm(tmp_path)
    before = verify(tmp_path).fault
    assert before is not None
    assert opened(tmp_path)
    after = verify(tmp_path).fault
    assert after is not None
    fill(tmp_path, 3)
    assert verify(tmp_path).fault == after


def test_a_missing_head_record_is_told_once_and_made_anew(tmp_path: Path) -> None:
    fill(tmp_path, 5)
    (tmp_path / "head.json").unlink()
    (note,) = opened(tmp_path)
    assert "head.json was missing" in note
    assert verify(tmp_path).fault is None


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_bytes(b"")
    folder = tmp_path / "audit"
    folder.mkdir()
    (folder / "audit.log").symlink_to(target)
    log = AuditLog(folder, read_without=True).open()
    assert not log.is_available
    log.close()
    assert target.read_bytes() == b""
