"""Pages that a cursor continues exactly, kept for their owner and their time; values as JSON that lose nothing."""

from __future__ import annotations

import datetime as dt
import json
import os
import resource
import stat
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypedDict

import pyarrow as pa
import pytest

from jackfield.engine.results import Page, ResultStore, json_rows, json_value
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.table import Table


@dataclass(frozen=True)
class Shape:
    max_rows: int = 1000
    max_bytes: int = 20_000


class Caller(TypedDict):
    principal: str
    tool: str


MINE: Caller = {"principal": "alice", "tool": "shop/orders"}


def numbers(count: int) -> Table:
    return Table.whole(pa.table({"n": list(range(count)), "text": [f"row {number}" for number in range(count)]}))


async def every_page(store: ResultStore, table: Table, size: int, shape: Shape, *, capped: bool = False) -> list[Page]:
    pages = [await store.first(table, size=size, shape=shape, capped=capped, **MINE)]
    while pages[-1].next_cursor is not None:
        pages.append(await store.page(pages[-1].next_cursor, size=size, **MINE))
    return pages


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def shown(pages: list[Page]) -> list[int]:
    return [row["n"] for page in pages for row in page.as_json()["rows"]]


@pytest.mark.anyio
async def test_pages_give_every_row_once_and_in_order(tmp_path: Path) -> None:
    pages = await every_page(ResultStore(tmp_path), numbers(130), 50, Shape())
    assert [page.table.num_rows for page in pages] == [50, 50, 30]
    assert shown(pages) == list(range(130))
    assert [page.truncation_reason for page in pages] == ["page_size", "page_size", None]
    assert [page.truncated for page in pages] == [True, True, False]
    assert {page.total_rows for page in pages} == {130}


@pytest.mark.anyio
async def test_an_answer_of_one_page_keeps_nothing(tmp_path: Path) -> None:
    page = await ResultStore(tmp_path / "results").first(numbers(50), size=50, shape=Shape(), **MINE)
    assert page.as_json() == {
        "rows": json_rows(numbers(50).arrow()),
        "row_count": 50,
        "truncated": False,
        "total_rows": 50,
        "truncation_reason": None,
        "next_cursor": None,
    }
    assert not (tmp_path / "results").exists()


@pytest.mark.anyio
async def test_more_rows_than_the_cap_are_counted_and_not_shown(tmp_path: Path) -> None:
    pages = await every_page(ResultStore(tmp_path), numbers(130), 50, Shape(max_rows=60))
    assert shown(pages) == list(range(60))
    assert (pages[-1].truncated, pages[-1].truncation_reason, pages[-1].total_rows) == (True, "result_cap", 130)


@pytest.mark.anyio
@pytest.mark.parametrize("size", [50, 60, 100])
async def test_the_whole_has_all_rows_also_those_that_no_page_shows(tmp_path: Path, size: int) -> None:
    store = ResultStore(tmp_path)
    pages = await every_page(store, numbers(130), size, Shape(max_rows=60))
    assert len(shown(pages)) == 60
    for page in pages:
        assert page.kept is not None
        assert (page.kept.rows, page.kept.found) == (130, 130)
    assert pages[0].kept is not None
    whole = await store.whole(pages[0].kept.name, principal="alice")
    assert whole.table.column("n").to_pylist() == list(range(130))
    assert (whole.end, whole.total_rows) == (None, 130)


@pytest.mark.anyio
async def test_the_whole_of_a_source_that_stopped_early_says_so(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    page = await store.first(numbers(130), size=50, shape=Shape(max_rows=60), capped=True, **MINE)
    assert page.kept is not None
    whole = await store.whole(page.kept.name, principal="alice")
    assert (whole.table.num_rows, whole.end, whole.total_rows) == (130, "source_cap", None)


@pytest.mark.anyio
async def test_of_more_rows_than_there_is_room_for_the_first_are_kept_and_counted(tmp_path: Path) -> None:
    store = ResultStore(tmp_path, max_bytes=40_000)
    other = await store.first(numbers(60), size=50, shape=Shape(), **MINE)
    page = await store.first(numbers(10_000), size=50, shape=Shape(max_rows=60), **MINE)
    assert page.kept is not None
    assert page.kept.found == 10_000
    assert 60 < page.kept.rows < 1_000
    whole = await store.whole(page.kept.name, principal="alice")
    assert whole.table.column("n").to_pylist() == list(range(page.kept.rows))
    assert (whole.end, whole.total_rows) == ("result_cap", 10_000)
    assert other.next_cursor is not None
    assert (await store.page(other.next_cursor, size=50, **MINE)).row_count == 10  # it was not pushed out


@pytest.mark.anyio
async def test_pages_go_on_where_the_disk_has_no_room_for_the_rest(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        pages = await every_page(ResultStore(tmp_path), numbers(10_000), 50, Shape(max_rows=60))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert shown(pages) == list(range(60))
    assert pages[0].kept is not None
    assert (pages[0].kept.rows, pages[0].kept.found) == (60, 10_000)
    assert len(files(tmp_path)) == 1


@pytest.mark.anyio
async def test_a_source_that_stopped_early_leaves_the_total_unknown(tmp_path: Path) -> None:
    pages = await every_page(ResultStore(tmp_path), numbers(60), 50, Shape(), capped=True)
    assert (pages[-1].truncated, pages[-1].truncation_reason, pages[-1].total_rows) == (True, "source_cap", None)


@pytest.mark.anyio
async def test_a_page_holds_no_more_bytes_than_it_may_and_the_next_goes_on(tmp_path: Path) -> None:
    table = Table.whole(pa.table({"n": list(range(20)), "text": ["x" * 100] * 19 + ["y" * 5000]}))
    pages = await every_page(ResultStore(tmp_path), table, 50, Shape(max_bytes=600))
    assert shown(pages) == list(range(20))
    assert pages[0].truncation_reason == "token_budget"
    for page in pages[:-1]:
        assert len(json.dumps(json_rows(page.table), separators=(",", ":"))) <= 600
    assert pages[-1].table.num_rows == 1  # a row larger than a page comes alone


@pytest.mark.anyio
async def test_a_stream_is_paged_too(tmp_path: Path) -> None:
    table = Table.stream(numbers(120).reader())
    assert shown(await every_page(ResultStore(tmp_path), table, 50, Shape())) == list(range(120))


@pytest.mark.anyio
@pytest.mark.parametrize(("principal", "tool"), [("bob", "shop/orders"), ("alice", "shop/customers")])
async def test_a_cursor_is_good_for_its_principal_and_tool_alone(tmp_path: Path, principal: str, tool: str) -> None:
    store = ResultStore(tmp_path)
    page = await store.first(numbers(60), size=50, shape=Shape(), **MINE)
    assert page.next_cursor is not None
    with pytest.raises(JackfieldError) as error:
        await store.page(page.next_cursor, size=50, principal=principal, tool=tool)
    assert error.value.code is Code.RESULT_EXPIRED


@pytest.mark.anyio
async def test_a_cursor_ends_with_its_time(tmp_path: Path) -> None:
    store = ResultStore(tmp_path, ttl_s=0)
    page = await store.first(numbers(60), size=50, shape=Shape(), **MINE)
    assert page.next_cursor is not None
    with pytest.raises(JackfieldError) as error:
        await store.page(page.next_cursor, size=50, **MINE)
    assert error.value.code is Code.RESULT_EXPIRED
    await store.first(numbers(70), size=50, shape=Shape(), **MINE)
    assert len(files(tmp_path)) == 1  # the file of the first was removed


@pytest.mark.anyio
@pytest.mark.parametrize("cursor", ["", "x", "../../etc/passwd", "AAAA", "ä", "Li4vLi4vZXRjL3Bhc3N3ZC4x"])
async def test_what_is_no_cursor_is_said_to_be_none(tmp_path: Path, cursor: str) -> None:
    with pytest.raises(JackfieldError) as error:
        await ResultStore(tmp_path).page(cursor, size=50, **MINE)
    assert error.value.code is Code.VALIDATION_INVALID_PARAMS


@pytest.mark.anyio
async def test_a_torn_file_is_an_expired_result(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    page = await store.first(numbers(60), size=50, shape=Shape(), **MINE)
    assert page.next_cursor is not None
    (file,) = files(tmp_path)
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(JackfieldError) as error:
        await store.page(page.next_cursor, size=50, **MINE)
    assert error.value.code is Code.RESULT_EXPIRED


@pytest.mark.anyio
async def test_kept_results_are_private_and_bounded(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    store = ResultStore(folder, max_bytes=20_000)
    cursors = [(await store.first(numbers(300), size=50, shape=Shape(), **MINE)).next_cursor for _ in range(6)]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in files(folder)} == {0o600}
    assert sum(file.stat().st_size for file in files(folder)) <= 30_000
    assert cursors[-1] is not None
    assert (await store.page(cursors[-1], size=50, **MINE)).table.num_rows == 50


MOMENT = dt.datetime(2024, 2, 29, 12, 30, tzinfo=dt.UTC)

# SQL-13: what each kind of value becomes
VALUES: tuple[tuple[pa.DataType, Any, Any], ...] = (
    (pa.int64(), 2**53 - 1, 2**53 - 1),
    (pa.int64(), 2**53, str(2**53)),
    (pa.uint64(), 2**63, str(2**63)),
    (pa.decimal128(10, 2), Decimal("1.10"), "1.10"),
    (pa.decimal128(38, 0), Decimal(10**30), str(10**30)),
    (pa.decimal128(20, 12), Decimal("0.000000000001"), "0.000000000001"),
    (pa.float64(), 0.1, 0.1),
    (pa.float64(), float("nan"), "NaN"),
    (pa.float64(), float("-inf"), "-Infinity"),
    (pa.bool_(), True, True),
    (pa.string(), "æ\0'\"", "æ\0'\""),
    (pa.binary(), b"\x00\xff", "AP8="),
    (pa.date32(), dt.date(2024, 2, 29), "2024-02-29"),
    (pa.time64("us"), dt.time(10, 0, 0, 250_000), "10:00:00.25"),
    (pa.timestamp("us"), MOMENT.replace(tzinfo=None), "2024-02-29T12:30:00"),
    (pa.timestamp("us", "UTC"), MOMENT, "2024-02-29T12:30:00Z"),
    (pa.timestamp("us", "Europe/Oslo"), MOMENT, "2024-02-29T12:30:00Z"),
    (pa.timestamp("ns"), 1_704_067_200_123_456_789, "2024-01-01T00:00:00.123456789"),
    (pa.timestamp("s"), 2**31 - 1, "2038-01-19T03:14:07"),
    (pa.timestamp("us"), 2**63 - 1, "infinity"),
    (pa.date32(), -(2**31 - 1), "-infinity"),
    (pa.duration("us"), dt.timedelta(days=1, seconds=1.5), "P1DT1.5S"),
    (pa.month_day_nano_interval(), (14, 3, 10**9), "P1Y2M3DT1S"),
    (pa.list_(pa.decimal128(5, 2)), [Decimal("1.10"), None], ["1.10", None]),
    (pa.struct([("a", pa.date32())]), {"a": dt.date(2024, 1, 1)}, {"a": "2024-01-01"}),
    (pa.map_(pa.string(), pa.int64()), [("k", 2**60)], {"k": str(2**60)}),
    (pa.map_(pa.int64(), pa.string()), [(1, "x")], [[1, "x"]]),
    (pa.dictionary(pa.int8(), pa.string()), "x", "x"),
    (pa.null(), None, None),
)


@pytest.mark.parametrize(("kind", "value", "expected"), VALUES, ids=lambda value: str(value)[:40])
def test_a_value_becomes_json_without_loss(kind: pa.DataType, value: Any, expected: Any) -> None:
    """SQL-13"""
    rows = json_rows(pa.table({"v": pa.array([value, None], kind)}))
    assert [row["v"] for row in rows] == [expected, None]
    json.dumps(rows, allow_nan=False)


def test_values_beside_tables_become_json_too() -> None:
    value = {"at": MOMENT, "n": [Decimal("1.0"), 2**60, {1}], "rows": numbers(1), "raw": b"x"}
    assert json_value(value) == {
        "at": "2024-02-29T12:30:00Z",
        "n": ["1.0", str(2**60), [1]],
        "rows": [{"n": 0, "text": "row 0"}],
        "raw": "eA==",
    }
