"""Files too large to keep: streamed, with the columns, predicates and limit that suffice, and never fewer rows."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from servers.stand import Stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes import file as file_module
from jackfield.nodes.file import file_node
from jackfield.nodes.scan import Predicate, Scan
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio
ROWS = 1_000
FORMATS = ("csv", "parquet", "sqlite", "duckdb", "jsonl")
DAYS = [date(2024, 1, 1 + number % 28) for number in range(ROWS)]


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as large."""
    monkeypatch.setattr(file_module, "CACHED_BYTES", 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("large")
    table = pa.table(
        {
            "Id": list(range(ROWS)),
            "name": [f"n{number % 7}" for number in range(ROWS)],
            "price": [number / 4 for number in range(ROWS)],
            "day": pa.array(DAYS, pa.date32()),
        }
    )
    pq.write_table(table, place / "a.parquet")
    with duckdb.connect(str(place / "a.duckdb")) as database:
        database.register("given", table)
        database.execute("CREATE TABLE a AS SELECT * FROM given")
        database.execute(f"COPY given TO '{place}/a.csv' (HEADER)")
    with closing(sqlite3.connect(place / "a.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE a (Id INTEGER, name TEXT, price REAL, day DATE)")
        given = [(row["Id"], row["name"], row["price"], str(row["day"])) for row in table.to_pylist()]
        connection.executemany("INSERT INTO a VALUES (?, ?, ?, ?)", given)
    lines = (json.dumps(row, default=str) for row in table.to_pylist())
    (place / "a.jsonl").write_text("\n".join(lines))
    return place


async def read(folder: Path, kind: str, scan: Scan, *, streams: bool = True, **configuration: Any) -> Table:
    context = Stand(folder=folder, streams=streams)
    with anyio.fail_after(30):
        outputs = await file_node.bind("a", {"path": f"a.{kind}"} | configuration)({"scan": scan}, context)
    table = outputs["rows"]
    assert isinstance(table, Table)
    assert table.is_stream is streams
    return table


@pytest.mark.parametrize("kind", FORMATS)
async def test_only_the_columns_that_are_asked_for_are_read(folder: Path, kind: str) -> None:
    table = await read(folder, kind, Scan(("DAY", "id", "unknown")))
    assert sorted(name.lower() for name in table.schema.names) == ["day", "id"]
    assert table.arrow().num_rows == ROWS


PREDICATES = {
    "whole": Predicate("id", "<", 10),
    "in": Predicate("ID", "in", (3, 5, 2_000)),
    "number": Predicate("price", ">=", 200.0),
    "text": Predicate("name", "=", "n3"),
    "date": Predicate("day", "=", date(2024, 1, 3)),
    "text against a number": Predicate("name", "=", 3),
    "number against a text": Predicate("id", "=", "3"),
    "column that is not there": Predicate("nothing", "=", 1),
    "text with a quote": Predicate("name", "=", "x' OR 1=1 --"),
}


def holds(predicate: Predicate, row: dict[str, Any]) -> bool:
    """What SQL says of a value of the column's own type."""
    value = {name.lower(): found for name, found in row.items()}[predicate.column.lower()]
    wanted = predicate.value
    match predicate.operator:
        case "<":
            return bool(value < wanted)
        case ">=":
            return bool(value >= wanted)
        case "in":
            return value in wanted
    return bool(value == wanted)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", PREDICATES)
async def test_predicates_take_away_no_row_that_is_wanted(folder: Path, kind: str, name: str) -> None:
    predicate = PREDICATES[name]
    found = (await read(folder, kind, Scan(None, (predicate,), limit=None))).to_pylist()
    if name in ("text against a number", "number against a text", "column that is not there"):
        assert len(found) == ROWS
        return
    whole = (await read(folder, kind, Scan())).to_pylist()
    wanted = [row for row in whole if holds(predicate, row)]
    assert [row for row in found if holds(predicate, row)] == wanted
    if kind in ("csv", "parquet", "duckdb"):
        assert found == wanted


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb", "sqlite"])
async def test_a_limit_holds_only_while_every_predicate_is_applied(folder: Path, kind: str) -> None:
    exact = Scan(None, (Predicate("id", ">=", 100),), limit=5)
    assert [row["Id"] for row in (await read(folder, kind, exact)).to_pylist()] == [100, 101, 102, 103, 104]
    dropped = Scan(None, (Predicate("nothing", "=", 1),), limit=5)
    assert (await read(folder, kind, dropped)).arrow().num_rows == ROWS


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb", "sqlite"])
async def test_a_stream_that_is_closed_early_lets_go_of_its_files(folder: Path, kind: str) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = open_files()
    table = await read(folder, kind, Scan())
    table.reader().read_next_batch()
    table.close()
    del table
    assert open_files() <= before


async def test_where_the_run_allows_no_stream_the_rows_come_whole(folder: Path) -> None:
    assert (await read(folder, "parquet", Scan(("id",)), streams=False)).num_rows == ROWS


async def test_a_declared_schema_holds_in_a_stream(folder: Path) -> None:
    schema = {"Id": "string", "price": "decimal(10,2)"}
    table = await read(folder, "csv", Scan(("id", "price")), schema=schema)
    assert table.schema.types == [pa.string(), pa.decimal128(10, 2)]
    assert str(table.to_pylist()[5]["price"]) == "1.25"


async def test_json_lines_that_drift_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jackfield.nodes.files.json.CHUNK", 30)
    given: list[dict[str, Any]] = [{"a": 1}, {"a": 2.5, "b": {"c": 1}}, {"a": None}, {"d": 7}, {"d": "seven"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
    found = (await read(tmp_path, "jsonl", Scan())).to_pylist()
    assert [row["a"] for row in found] == [1.0, 2.5, None, None, None]
    assert [row["b_c"] for row in found] == [None, 1, None, None, None]
    assert [row["d"] for row in found] == [None, None, None, "7", "seven"]


async def test_a_sqlite_column_that_changes_its_kind_late_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jackfield.nodes.files.sqlite.BATCH_ROWS", 10)
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as database, database:
        database.execute("CREATE TABLE a (n INTEGER)")
        database.executemany("INSERT INTO a VALUES (?)", [*((value,) for value in range(50)), ("late",)])
    table = await read(tmp_path, "sqlite", Scan())
    with pytest.raises(JackfieldError) as caught:
        table.arrow()
    assert caught.value.code is Code.TYPE_MISMATCH
    assert caught.value.details["column"] == "n"
    declared = await read(tmp_path, "sqlite", Scan(), schema={"n": "string"})
    assert declared.to_pylist()[-1] == {"n": "late"}
