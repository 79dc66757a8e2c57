"""The Parquet data set: partitions, modes, plain readers, and what it refuses to replace."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import anyio
import duckdb
import pyarrow as pa
import pytest
from servers.stand import Stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.file import file_node
from jackfield.nodes.saves import swap
from jackfield.nodes.saves.base import Saved
from jackfield.nodes.saves.dataset import ParquetSave
from jackfield.nodes.saves.parquet import SAVE
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio
ONE, TWO = date(2024, 1, 1), date(2024, 1, 2)


def rows(*values: tuple[int, str, date | None]) -> pa.Table:
    ids, names, days = zip(*values, strict=True)
    return pa.table({"id": ids, "day": pa.array(days, pa.date32()), "name": names})


async def save(folder: Path, table: pa.Table, idempotency_key: str = "", **fields: Any) -> Saved:
    config = ParquetSave.model_validate({"path": "out/sales", "partition_by": ["day"]} | fields)
    stream = Table.stream(pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(1))))
    with anyio.fail_after(30):
        return await SAVE.save(config, stream, Stand(folder=folder, idempotency_key=idempotency_key))


def found(folder: Path) -> set[tuple[int, str, date | None]]:
    """By a plain reader, with the pattern that anyone would use."""
    query = f"SELECT id, name, day FROM read_parquet('{folder}/out/sales/**/*.parquet', hive_types={{'day': DATE}})"
    return set(duckdb.connect().sql(query).fetchall())


def inodes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in folder.rglob("*.parquet")}


@pytest.fixture(params=["exchange", "two renames"])
def exchange(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "two renames":
        monkeypatch.setattr(swap, "exchange", lambda folder, one, other: False)


@pytest.mark.usefixtures("exchange")
async def test_append_upsert_and_overwrite(tmp_path: Path) -> None:
    await save(tmp_path, rows((1, "a", ONE), (2, "b", TWO)))
    await save(tmp_path, rows((3, "c", TWO), (4, "d", None)))
    assert found(tmp_path) == {(1, "a", ONE), (2, "b", TWO), (3, "c", TWO), (4, "d", None)}
    await save(tmp_path, rows((2, "moved", ONE), (5, "e", TWO)), mode="upsert", key=["id"])
    assert found(tmp_path) == {(1, "a", ONE), (2, "moved", ONE), (3, "c", TWO), (4, "d", None), (5, "e", TWO)}
    await save(tmp_path, rows((9, "z", ONE)), mode="overwrite")
    assert found(tmp_path) == {(9, "z", ONE)}
    assert os.listdir(tmp_path / "out") == ["sales"]


async def test_appending_copies_no_old_file(tmp_path: Path) -> None:
    await save(tmp_path, rows((1, "a", ONE)))
    before = inodes(tmp_path)
    await save(tmp_path, rows((2, "b", ONE)))
    assert before.items() < inodes(tmp_path).items()


async def test_a_file_source_reads_the_folder_with_its_partitions(tmp_path: Path) -> None:
    await save(tmp_path, rows((1, "a", ONE), (2, "b", None)))
    outputs = await file_node.bind("sales", {"path": "out/sales", "format": "parquet"})({}, Stand(folder=tmp_path))
    by_id = sorted(outputs["rows"].to_pylist(), key=lambda row: row["id"])
    assert by_id == [{"id": 1, "name": "a", "day": ONE}, {"id": 2, "name": "b", "day": None}]


async def test_a_repeated_idempotency_key_writes_nothing(tmp_path: Path) -> None:
    await save(tmp_path, rows((1, "a", ONE), (2, "b", ONE)), "key")
    again = await save(tmp_path, rows((1, "a", ONE), (2, "b", ONE)), "key")
    assert again == Saved(2, "out/sales", repeated=True)
    assert len(found(tmp_path)) == 2


async def test_a_folder_that_holds_other_files_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "out/sales").mkdir(parents=True)
    (tmp_path / "out/sales/thesis.txt").write_text("years of work")
    with pytest.raises(JackfieldError, match=r"holds 'thesis\.txt'") as caught:
        await save(tmp_path, rows((1, "a", ONE)), mode="overwrite")
    assert caught.value.code is Code.CONFIG_INVALID
    assert (tmp_path / "out/sales/thesis.txt").read_text() == "years of work"
    answer = await SAVE.can_save(ParquetSave(path="out/sales", partition_by=("day",)), Stand(folder=tmp_path))
    assert not answer.ok


async def test_a_crash_between_the_two_renames_is_mended(tmp_path: Path) -> None:
    await save(tmp_path, rows((1, "a", ONE)))
    (tmp_path / "out/sales").rename(tmp_path / "out/.sales.jackfield-old")
    await save(tmp_path, rows((2, "b", ONE)))
    assert found(tmp_path) == {(1, "a", ONE), (2, "b", ONE)}
