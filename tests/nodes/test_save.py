"""The `save` kind: passing rows on, its report, `canSave`, and what it refuses before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from servers.stand import Stand

from jackfield.nodes.save import save_node
from jackfield.nodes.saves import passing
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio


def streamed(table: pa.Table, batch_rows: int = 2) -> Table:
    return Table.stream(pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(batch_rows))))


async def save(folder: Path, rows: Table, **configuration: Any) -> dict[str, Any]:
    context = Stand(folder=folder, streams=True)
    with anyio.fail_after(30):
        return await save_node.bind("lake", configuration)({"rows": rows}, context)


async def test_a_save_passes_its_rows_on_and_reports(tmp_path: Path) -> None:
    rows = pa.table({"a": [1, 2, 3]})
    outputs = await save(tmp_path, streamed(rows), type="parquet", path="out/a.parquet")
    assert outputs["rows"].to_pylist() == rows.to_pylist()
    assert outputs["report"] == {
        "type": "parquet",
        "mode": "append",
        "rows": 3,
        "target": "out/a.parquet",
        "repeated": False,
    }
    assert pq.read_table(tmp_path / "out/a.parquet").equals(rows)


async def test_many_rows_pass_through_a_file_and_stay_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passing, "IN_MEMORY", 20)
    rows = pa.table({"a": list(range(100))})
    outputs = await save(tmp_path, streamed(rows), type="parquet", path="a.parquet")
    assert outputs["rows"].is_stream
    assert outputs["rows"].arrow().equals(rows)
