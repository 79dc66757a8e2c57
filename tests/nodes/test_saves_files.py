"""Saves into single files: the modes of each format, what is refused, idempotency, and leaving no trace of failure."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from local_context import LocalContext

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.file import file_node
from jackfield.nodes.saves import by_name
from jackfield.nodes.saves.base import Saved
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio
FORMATS = ("parquet", "csv", "json", "jsonl")


def streamed(table: pa.Table, batch_rows: int = 2) -> Table:
    return Table.stream(pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(batch_rows))))


async def save(folder: Path, kind: str, rows: pa.Table, idempotency_key: str = "", **fields: Any) -> Saved:
    save_type = by_name()[kind]
    config = save_type.configuration.model_validate({"path": f"a.{kind}"} | fields)
    with anyio.fail_after(30):
        return await save_type.save(config, streamed(rows), LocalContext(folder, idempotency_key=idempotency_key))


async def saved(folder: Path, kind: str) -> list[dict[str, Any]]:
    outputs = await file_node.bind("a", {"path": f"a.{kind}"})({}, LocalContext(folder))
    rows: list[dict[str, Any]] = outputs["rows"].to_pylist()
    return rows


def rows(*pairs: tuple[int, str | None]) -> pa.Table:
    return pa.table({"id": [pair[0] for pair in pairs], "name": pa.array([pair[1] for pair in pairs], pa.string())})


@pytest.mark.parametrize("kind", FORMATS)
async def test_append_overwrite_and_upsert(tmp_path: Path, kind: str) -> None:
    await save(tmp_path, kind, rows((1, "a"), (2, "b"), (3, "c")))
    await save(tmp_path, kind, rows((4, "=cmd()")).select(["name", "id"]), mode="append")
    assert [row["id"] for row in await saved(tmp_path, kind)] == [1, 2, 3, 4]
    await save(tmp_path, kind, rows((2, 'x "quoted", text'), (5, None)), mode="upsert", key=["id"])
    after = {row["id"]: row["name"] for row in await saved(tmp_path, kind)}
    assert after == {1: "a", 2: 'x "quoted", text', 3: "c", 4: "=cmd()", 5: None}
    await save(tmp_path, kind, rows((9, "z")), mode="overwrite")
    assert await saved(tmp_path, kind) == [{"id": 9, "name": "z"}]
    assert os.listdir(tmp_path) == [f"a.{kind}"]
