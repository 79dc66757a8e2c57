"""Saves into single files: the modes of each format, what is refused, idempotency, and leaving no trace of failure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pytest
from servers.stand import Stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.file import file_node
from jackfield.nodes.saves import by_name
from jackfield.nodes.saves.base import Saved
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio
FORMATS = ("parquet", "csv", "json", "jsonl")
DATABASES = ("duckdb", "sqlite")
ALL = (*FORMATS, *DATABASES)
TABLE: dict[str, dict[str, Any]] = {kind: {"table": "orders"} for kind in DATABASES}


def streamed(table: pa.Table, batch_rows: int = 2) -> Table:
    return Table.stream(pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(batch_rows))))


async def save(folder: Path, kind: str, rows: pa.Table, idempotency_key: str = "", **fields: Any) -> Saved:
    save_type = by_name()[kind]
    config = save_type.configuration.model_validate({"path": f"a.{kind}"} | TABLE.get(kind, {}) | fields)
    with anyio.fail_after(30):
        return await save_type.save(config, streamed(rows), Stand(folder=folder, idempotency_key=idempotency_key))


async def saved(folder: Path, kind: str) -> list[dict[str, Any]]:
    outputs = await file_node.bind("a", {"path": f"a.{kind}"} | TABLE.get(kind, {}))({}, Stand(folder=folder))
    rows: list[dict[str, Any]] = outputs["rows"].to_pylist()
    return rows


def rows(*pairs: tuple[int, str | None]) -> pa.Table:
    return pa.table({"id": [pair[0] for pair in pairs], "name": pa.array([pair[1] for pair in pairs], pa.string())})


@pytest.mark.parametrize("kind", ALL)
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


TYPES = pa.table(
    {
        "whole": pa.array([1, None], pa.int64()),
        "exact": pa.array([Decimal("12345678901234567.89"), None], pa.decimal128(20, 2)),
        "real": pa.array([0.1, None], pa.float64()),
        "flag": pa.array([True, None], pa.bool_()),
        "day": pa.array([date(2024, 1, 31), None], pa.date32()),
        "at": pa.array([datetime(2024, 1, 31, 10, 0, 0, 123456, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "local": pa.array([datetime(2024, 1, 31, 10, tzinfo=UTC).replace(tzinfo=None), None], pa.timestamp("us")),
        "text": pa.array(["007", None], pa.string()),
    }
)


@pytest.mark.parametrize("kind", ALL)
async def test_values_come_back_as_they_were(tmp_path: Path, kind: str) -> None:
    await save(tmp_path, kind, TYPES)
    declared = {"schema": {"exact": "decimal(20,2)"}} if kind in ("csv", "json", "jsonl", "sqlite") else {}
    configuration = {"path": f"a.{kind}"} | TABLE.get(kind, {}) | declared
    outputs = await file_node.bind("a", configuration)({}, Stand(folder=tmp_path))
    assert outputs["rows"].arrow().select(TYPES.column_names).to_pylist() == TYPES.to_pylist()


@pytest.mark.parametrize("kind", ALL)
async def test_a_repeated_idempotency_key_writes_nothing(tmp_path: Path, kind: str) -> None:
    first = await save(tmp_path, kind, rows((1, "a"), (2, "b")), "key-1")
    again = await save(tmp_path, kind, rows((1, "a"), (2, "b")), "key-1")
    other = await save(tmp_path, kind, rows((3, "c")), "key-2")
    assert (first.repeated, again.repeated, other.repeated) == (False, True, False)
    assert (first.rows, again.rows, other.rows) == (2, 2, 1)
    assert [row["id"] for row in await saved(tmp_path, kind)] == [1, 2, 3]


MISFITS = {
    "same key twice": (rows((1, "x"), (1, "y")), Code.VALIDATION_INVALID_PARAMS),
    "no key": (pa.table({"id": pa.array([None], pa.int64()), "name": ["x"]}), Code.VALIDATION_INVALID_PARAMS),
    "key is no column": (pa.table({"name": ["x"]}), Code.SCHEMA_NOT_FOUND),
    "new column": (pa.table({"id": [1], "name": ["x"], "more": [1]}), Code.SCHEMA_CHANGED),
}


@pytest.mark.parametrize(
    ("kind", "bad", "code"),
    [
        pytest.param(kind, *misfit, id=f"{kind}-{name}")
        for kind in ALL
        for name, misfit in MISFITS.items()
        if name != "new column" or kind not in ("json", "jsonl")  # JSON records need not be alike
    ],
)
async def test_rows_that_do_not_fit_change_nothing(tmp_path: Path, kind: str, bad: pa.Table, code: Code) -> None:
    await save(tmp_path, kind, rows((1, "a")))
    before = (tmp_path / f"a.{kind}").read_bytes()
    with pytest.raises(JackfieldError) as caught:
        await save(tmp_path, kind, bad, mode="upsert", key=["id"])
    assert caught.value.code is code
    assert caught.value.hint
    assert await saved(tmp_path, kind) == [{"id": 1, "name": "a"}]
    assert kind == "duckdb" or (tmp_path / f"a.{kind}").read_bytes() == before
    assert os.listdir(tmp_path) == [f"a.{kind}"]


@pytest.mark.parametrize("kind", ["parquet", "duckdb", "sqlite"])
async def test_a_column_of_another_kind_is_a_type_mismatch(tmp_path: Path, kind: str) -> None:
    await save(tmp_path, kind, rows((1, "a")))
    with pytest.raises(JackfieldError) as caught:
        await save(tmp_path, kind, pa.table({"id": ["one"], "name": ["x"]}))
    assert caught.value.code is Code.TYPE_MISMATCH
    assert caught.value.details["column"] == "id"
    assert await saved(tmp_path, kind) == [{"id": 1, "name": "a"}]


@pytest.mark.parametrize("kind", ALL)
async def test_a_source_that_fails_half_way_changes_nothing(tmp_path: Path, kind: str) -> None:
    await save(tmp_path, kind, rows((1, "a")))
    broken = JackfieldError(Code.SOURCE_ERROR, "The source broke.")

    def batches() -> Iterator[pa.RecordBatch]:
        yield from rows((2, "b")).to_batches()
        raise broken

    table = Table.stream(pa.RecordBatchReader.from_batches(rows().schema, batches()))
    save_type = by_name()[kind]
    config = save_type.configuration.model_validate({"path": f"a.{kind}"} | TABLE.get(kind, {}))
    with pytest.raises(JackfieldError) as caught:
        await save_type.save(config, table, Stand(folder=tmp_path))
    assert caught.value is broken
    assert await saved(tmp_path, kind) == [{"id": 1, "name": "a"}]
    assert os.listdir(tmp_path) == [f"a.{kind}"]
