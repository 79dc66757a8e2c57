"""Reading the audit back: pages, filters, following, SQL and CSV."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.audit import a_line, fill, read

from jackfield.engine.audit.backwards import BLOCK, lines_from_end
from jackfield.engine.audit.export import csv_parts, ndjson_parts
from jackfield.engine.audit.following import follow, last_lines
from jackfield.engine.audit.line import KEYS
from jackfield.engine.audit.log import AuditLog
from jackfield.engine.audit.reading import Filter, moment, read_page
from jackfield.engine.audit.table import query
from jackfield.graphs.errors import Code, JackfieldError

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """60 lines in several files, a second apart; each third failed, each other is of `find_order`."""
    now = [1_800_000_000.0]
    with AuditLog(tmp_path, max_bytes=6_000, clock=lambda: now[0]) as log:
        for number in range(1, 61):
            now[0] += 1
            log.append(
                a_line(
                    number,
                    tool="find_order" if number % 2 else "list_animals",
                    error=None if number % 3 else "SOURCE_ERROR",
                    principal="ann" if number % 5 else "bob",
                    session_id=f"s{number % 4}",
                )
            )
    return tmp_path


def seqs(folder: Path, wanted: Filter, **page: Any) -> list[int]:
    return [line["seq"] for line in read_page(folder, wanted, **page).lines]


def test_pages_come_newest_first_and_go_on_through_all_files(folder: Path) -> None:
    found, before = [], None
    while True:
        page = read_page(folder, limit=7, before=before)
        found += [line["seq"] for line in page.lines]
        before = page.before
        if before is None:
            break
        assert len(page.lines) == 7
    assert found == list(range(60, 0, -1))


def test_a_page_stays_the_same_while_lines_are_added(folder: Path) -> None:
    page = read_page(folder, limit=10)
    fill(folder, 5)
    assert seqs(folder, Filter(), limit=3, before=page.before) == [50, 49, 48]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(tool="find_order"), [59, 57, 55]),
        (Filter(error="SOURCE_ERROR"), [60, 57, 54]),
        (Filter(failed=True, principal="bob"), [60, 45, 30]),
        (Filter(failed=False, tool="list_animals"), [58, 56, 52]),
        (Filter(session_id="s3", principal="bob"), [55, 35, 15]),
        (Filter(tool="find_orde"), []),
        (Filter(tool="cat"), []),
        (Filter(until="2027-01-15T08:00:03.000Z"), [2, 1]),
        (Filter(since="2027-01-15T08:00:59.000Z"), [60, 59]),
        (Filter(since="2027-01-15T08:00:10.000Z", until="2027-01-15T08:00:12.000Z"), [11, 10]),
    ],
)
def test_a_page_holds_the_lines_that_are_asked_for(folder: Path, wanted: Filter, expected: list[int]) -> None:
    assert seqs(folder, wanted, limit=3) == expected


def test_a_search_stops_after_so_many_bytes_and_says_where_to_go_on(folder: Path) -> None:
    found, before, pages = [], None, 0
    while True:
        page = read_page(folder, Filter(principal="bob"), max_scanned=3_000, before=before)
        found += [line["seq"] for line in page.lines]
        before, pages = page.before, pages + 1
        if before is None:
            break
    assert found == list(range(60, 0, -5))
    assert pages > 5


def test_a_clock_that_was_set_back_hides_no_line(tmp_path: Path) -> None:
    now = [1_800_000_000.0]
    with AuditLog(tmp_path, clock=lambda: now[0]) as log:
        for moment_ in (100, 50, 120):
            now[0] = 1_800_000_000.0 + moment_
            log.append(a_line())
    assert seqs(tmp_path, Filter(since="2027-01-15T08:01:35.000Z")) == [3, 1]


def test_what_is_no_line_is_passed_over(folder: Path) -> None:
    with (folder / "audit.log").open("ab") as file:
        file.write(b'nonsense\n[1]\n{"seq":"x"}\n\xff\n{"torn')
    assert seqs(folder, Filter(), limit=2) == [60, 59]
    assert len(b"".join(csv_parts(folder)).splitlines()) == 61


@given(
    lines=st.lists(st.binary(max_size=200).map(lambda text: text.replace(b"\n", b"")), max_size=30), tail=st.booleans()
)
@settings(deadline=None, max_examples=60)
def test_lines_from_the_end_are_those_from_the_start_turned_round(lines: list[bytes], tail: bool) -> None:
    content = b"".join(line + b"\n" for line in lines) + (b"rest" if tail else b"")
    placed = list(lines_from_end(io.BytesIO(content)))
    if tail:
        first = placed.pop(0)
        assert (first.text, first.is_whole) == (b"rest", False)
    assert [one.text for one in placed] == lines[::-1]
    assert all(one.is_whole and content[one.start :].startswith(one.text + b"\n") for one in placed)


def test_lines_longer_than_a_block_are_read_whole() -> None:
    lines = [bytes([65 + number]) * (BLOCK * number // 2 + 7) for number in range(5)]
    content = b"".join(line + b"\n" for line in lines)
    assert [one.text for one in lines_from_end(io.BytesIO(content))] == lines[::-1]


def test_the_last_lines_come_from_as_many_files_as_it_takes(folder: Path) -> None:
    texts = [line["seq"] for line in read(folder)]
    assert len(last_lines(folder, 50)) == 50
    assert len(last_lines(folder, 1_000)) == len(texts) == 60


def test_following_gives_each_new_line_over_rotations_and_a_new_folder(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    folder.mkdir()
    log = AuditLog(folder, max_bytes=3_000)
    written = 0

    def write_more() -> bool:
        nonlocal written
        if written == 0:
            log.open()
        if written == 60:
            return False
        for _ in range(3):
            written += 1
            log.append(a_line(written))
        return True

    found = list(follow(folder, b"", write_more))
    log.close()
    assert [line["seq"] for line in read(folder)] == list(range(1, 61))
    assert found == b"".join(ndjson_parts(folder)).splitlines()


def test_following_begins_behind_the_line_that_was_seen(folder: Path) -> None:
    seen = last_lines(folder, 1)[0]
    fill(folder, 2)
    assert list(follow(folder, seen, lambda: False)) == last_lines(folder, 2)
    assert list(follow(folder, None, lambda: False)) == []


@pytest.mark.anyio
async def test_sql_over_the_audit_sees_every_line_of_every_file(folder: Path) -> None:
    rows = await query(
        folder,
        """SELECT tool, count(*) AS calls, count(error) AS errors, sum(CAST(args->>'$.n' AS INTEGER)) AS n,
                  min(ts) AS first, max(duration_ms) AS slowest
           FROM audit WHERE principal = :who GROUP BY tool ORDER BY tool""",
        {"who": "bob"},
    )
    first, second = rows.to_pylist()
    assert (first["tool"], first["calls"], first["errors"], first["n"]) == ("find_order", 6, 2, 180)
    assert (second["tool"], second["calls"], second["errors"], second["n"]) == ("list_animals", 6, 2, 210)
    assert first["first"] == datetime(2027, 1, 15, 8, 0, 5)  # noqa: DTZ001 - the column is UTC without a zone
    whole = await query(folder, "SELECT * FROM audit")
    assert tuple(whole.schema.names) == KEYS
    assert whole.num_rows == 60


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT * FROM read_text('/etc/passwd')", Code.QUERY_INVALID),
        ("DELETE FROM audit", Code.QUERY_INVALID),
        ("SELECT nothing FROM audit", Code.SCHEMA_NOT_FOUND),
        ("SELECT * FROM other", Code.SCHEMA_NOT_FOUND),
    ],
)
async def test_sql_over_the_audit_reaches_nothing_else(folder: Path, sql: str, code: Code) -> None:
    with pytest.raises(JackfieldError) as caught:
        await query(folder, sql)
    assert caught.value.code is code


@pytest.mark.anyio
async def test_sql_reads_on_over_a_line_whose_values_were_changed_by_hand(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    path = tmp_path / "audit.log"
    text = path.read_text().replace('"rows":1', '"rows":"many"').replace('"ts":"', '"ts":"x', 1)
    path.write_text(
        text.replace('"tool":"list_animals"', '"tool":["x"]', 1).replace('"duration_ms":0.0', '"duration_ms":[]', 1)
    )
    rows = (await query(tmp_path, "SELECT ts, tool, rows, duration_ms FROM audit ORDER BY seq")).to_pylist()
    assert rows[0] == {"ts": None, "tool": '["x"]', "rows": None, "duration_ms": None}
    assert rows[1]["rows"] == 2


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1", "\n=1"])
def test_aud_11_no_cell_of_the_csv_begins_like_a_formula(tmp_path: Path, text: str) -> None:
    with AuditLog(tmp_path) as log:
        log.append(a_line(-3, tool=text, client=text, message=text))
    header, row = csv.reader(io.StringIO(b"".join(csv_parts(tmp_path)).decode(), newline=""))
    assert tuple(header) == KEYS
    cells = dict(zip(header, row, strict=True))
    assert cells["tool"] == cells["client"] == cells["message"] == f"'{text}"
    assert cells["rows"] == "-3", "a number is no formula"
    assert cells["args"] == '{"species":"cat","n":-3}'
    assert cells["error"] == ""


def test_the_csv_holds_the_lines_that_are_asked_for_oldest_first(folder: Path) -> None:
    text = b"".join(csv_parts(folder, Filter(principal="bob"))).decode()
    assert [row["seq"] for row in csv.DictReader(io.StringIO(text))] == [str(number) for number in range(5, 61, 5)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21", "2026-11-21T00:00:00.000Z"),
        ("2026-11-21T08:30", "2026-11-21T08:30:00.000Z"),
        ("2026-11-21T08:30:00.125+02:00", "2026-11-21T06:30:00.125Z"),
        ("90s", "2026-11-21T11:58:30.000Z"),
        ("30m", "2026-11-21T11:30:00.000Z"),
        ("2h", "2026-11-21T10:00:00.000Z"),
        ("7d", "2026-11-14T12:00:00.000Z"),
    ],
)
def test_a_time_may_be_a_day_a_moment_or_how_long_ago(text: str, expected: str) -> None:
    assert moment(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "5", "5w", "999999d", "-1h"])
def test_what_is_no_time_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(JackfieldError, match="is no time"):
        moment(text, NOW)


def test_a_page_is_whole_whenever_it_is_read(folder: Path) -> None:
    with AuditLog(folder, max_bytes=2_000) as log:
        for number in range(20):
            log.append(a_line(number))
            assert seqs(folder, Filter(), limit=9) == list(range(61 + number, 52 + number, -1))
