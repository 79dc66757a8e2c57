"""The audits of several processes read as one: pages, export and following, by time and without a line twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers.audit import a_line

from jackfield.engine.audit.export import ndjson_parts
from jackfield.engine.audit.log import AuditLog
from jackfield.engine.audit.reading import EVERYTHING, Filter
from jackfield.engine.audit.several import follow_all, read_pages
from jackfield.engine.audit.table import query

RUNS = [f"r{number}" for number in range(1, 91)]


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """90 lines, a second apart, written by two processes in turns of one and two lines, in several files each."""
    now = [1_800_000_000.0]
    found = {name: tmp_path / name for name in ("audit", "audit-2")}
    first, second = (AuditLog(folder, max_bytes=6_000, clock=lambda: now[0]) for folder in found.values())
    with first, second:
        for number, run in enumerate(RUNS):
            now[0] += 1
            (second if number % 3 else first).append(a_line(number, run=run, principal="ann" if number % 2 else "bob"))
    return found


def runs(text: bytes) -> list[str]:
    return [json.loads(line)["run"] for line in text.splitlines()]


@pytest.mark.parametrize("limit", [1, 7, 1_000])
@pytest.mark.parametrize("wanted", [EVERYTHING, Filter(principal="ann")], ids=["all", "some"])
def test_pages_come_newest_first_over_all_audits(folders: dict[str, Path], limit: int, wanted: Filter) -> None:
    found: list[str] = []
    page = read_pages(folders, wanted, limit=limit)
    found += [line["run"] for line in page.lines]
    while page.before is not None:
        assert len(page.lines) == limit
        page = read_pages(folders, wanted, limit=limit, before=page.before)
        found += [line["run"] for line in page.lines]
    assert found == (RUNS if wanted is EVERYTHING else RUNS[1::2])[::-1]


def test_lines_and_audits_that_come_while_pages_are_read_change_none_of_them(folders: dict[str, Path]) -> None:
    page = read_pages(folders, limit=1)
    for name in ("audit", "audit-2", "audit-3"):
        folders[name] = folders["audit"].with_name(name)
        with AuditLog(folders[name]) as log:
            log.append(a_line(0, run="later"))
    assert page.before is not None
    rest = read_pages(folders, limit=1_000, before=page.before)
    assert [line["run"] for line in (*page.lines, *rest.lines)] == RUNS[::-1]


def test_an_export_is_oldest_first_over_all_audits(folders: dict[str, Path]) -> None:
    assert runs(b"".join(ndjson_parts(list(folders.values())))) == RUNS


@pytest.mark.anyio
async def test_sql_reads_the_lines_of_all_audits(folders: dict[str, Path]) -> None:
    found = await query(list(folders.values()), "SELECT count(*) AS n, count(DISTINCT run) AS runs FROM audit")
    assert found.arrow().to_pylist() == [{"n": 90, "runs": 90}]


def test_following_gives_each_new_line_of_all_audits_and_of_one_that_begins(folders: dict[str, Path]) -> None:
    expected = [f"new{number}" for number in range(30)]
    remaining = iter(expected)
    last = {name: folder.joinpath("audit.log").read_bytes().splitlines()[-1] for name, folder in folders.items()}

    def write_more() -> bool:
        run = next(remaining, None)
        if run is None:
            return False
        name = ("audit", "audit-2", "audit-3")[int(run[3:]) % 3 if int(run[3:]) < 15 else 0]
        folders[name] = folders["audit"].with_name(name)
        with AuditLog(folders[name], max_bytes=2_000) as log:
            log.append(a_line(0, run=run))
        return True

    assert sorted(runs(b"\n".join(follow_all(lambda: folders, last, write_more)))) == sorted(expected)
