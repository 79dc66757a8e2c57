"""The `file` source: formats, types, patterns, pushdown, budgets, and what its errors say."""

from __future__ import annotations

import gzip
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from local_context import LocalContext

from jackfield.nodes.file import file_node
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio


async def read(folder: Path, port: str = "rows", inputs: dict[str, Any] | None = None, **configuration: Any) -> Table:
    context = LocalContext(folder)
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
