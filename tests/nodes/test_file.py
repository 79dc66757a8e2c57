"""The `file` source: formats, types, patterns, pushdown, budgets, and what its errors say."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from servers.stand import Stand

from jackfield.nodes.file import file_node
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio


async def read(folder: Path, port: str = "rows", inputs: dict[str, Any] | None = None, **configuration: Any) -> Table:
    context = Stand(folder=folder)
    with anyio.fail_after(30):
        outputs = await file_node.bind("orders", configuration)(inputs or {}, context)
    table = outputs[port]
    assert isinstance(table, Table)
    return table


async def rows(folder: Path, **configuration: Any) -> list[dict[str, Any]]:
    return (await read(folder, **configuration)).to_pylist()


async def test_csv_types_are_found_in_its_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,day,price,paid\n1,2024-01-31,1.5,true\n2,2024-02-01,,false\n")
    table = await read(tmp_path, path="a.csv")
    assert table.schema.types == [pa.int64(), pa.date32(), pa.float64(), pa.bool_()]
    assert table.to_pylist()[1] == {"id": 2, "day": date(2024, 2, 1), "price": None, "paid": False}


@pytest.mark.parametrize(
    "text", ["007", "F", "+4711", "12E45", "01/02/2024", "nan", "Infinity", "00.5", "2024-1-5", "yes"]
)
async def test_text_that_a_type_would_change_stays_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(f"code,n\n{text},1\n{text},2\n")
    assert await rows(tmp_path, path="a.csv") == [{"code": text, "n": 1}, {"code": text, "n": 2}]


async def test_parquet_and_gzipped_csv_are_told_by_their_suffix(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a\n1\n2\n"))
    assert await rows(tmp_path, path="a.parquet") == await rows(tmp_path, path="./a.csv.gz") == [{"a": 1}, {"a": 2}]


async def test_json_records_give_columns_and_child_tables(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"data": {"items": [{"id": 7, "place": {"city": "Oslo"}, "parts": [{"n": 1}, {"n": 2}]}]}}'
    )
    configuration: dict[str, Any] = {"path": "a.json", "data_path": "data.items", "children": ["parts"]}
    assert (await rows(tmp_path, **configuration))[0]["place_city"] == "Oslo"
    parts = await read(tmp_path, "parts", **configuration)
    assert parts.to_pylist() == [{"_parent_id": 7, "_index": 0, "n": 1}, {"_parent_id": 7, "_index": 1, "n": 2}]


async def test_json_lines_are_read_and_a_bad_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a": 2, "b": "x"}\n')
    assert await rows(tmp_path, path="a.jsonl") == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]


async def test_sqlite_tables_keep_their_types(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.execute("CREATE TABLE t (id INTEGER, day DATE, at TIMESTAMP, ok BOOLEAN, price REAL, note TEXT)")
        database.execute("INSERT INTO t VALUES (1, '2024-01-31', '2024-01-31 10:00:00', 1, 2.5, 'x')")
    table = await read(tmp_path, path="a.db", table="T")
    assert table.schema.types == [pa.int64(), pa.date32(), pa.timestamp("us"), pa.bool_(), pa.float64(), pa.string()]


async def test_a_sqlite_column_of_mixed_values_becomes_text(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.execute("CREATE TABLE t (a INTEGER)")
        database.executemany("INSERT INTO t VALUES (?)", [(1,), ("x",), (None,)])
    assert await rows(tmp_path, path="a.db") == [{"a": "1"}, {"a": "x"}, {"a": None}]


async def test_duckdb_files_are_read_by_table_or_query(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as database:
        database.execute("CREATE TABLE t AS SELECT 1 AS a, 12345678901234567.89::DECIMAL(20, 2) AS d")
    assert await rows(tmp_path, path="a.duckdb") == [{"a": 1, "d": Decimal("12345678901234567.89")}]
    assert await rows(tmp_path, path="a.duckdb", query="SELECT a + 1 AS b FROM t;") == [{"b": 2}]
