"""Delta and Iceberg saves: modes, idempotency, and the files that a killed save leaves."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import anyio
import deltalake
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from servers.stand import Stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.saves import by_name, extra
from jackfield.nodes.saves.base import Saved
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio
FIELDS: dict[str, dict[str, Any]] = {"delta": {"path": "lake"}, "iceberg": {"path": "lake", "table": "sales.orders"}}
KINDS = tuple(FIELDS)


def rows(*pairs: tuple[int, str | None]) -> pa.Table:
    return pa.table({"id": [pair[0] for pair in pairs], "name": pa.array([pair[1] for pair in pairs], pa.string())})


async def save(folder: Path, kind: str, table: pa.Table, idempotency_key: str = "", **fields: Any) -> Saved:
    save_type = by_name()[kind]
    config = save_type.configuration.model_validate(FIELDS[kind] | fields)
    stream = Table.stream(pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(1))))
    with anyio.fail_after(30):
        return await save_type.save(config, stream, Stand(folder=folder, idempotency_key=idempotency_key))


def found(folder: Path, kind: str) -> dict[int, str | None]:
    """What the format's own library reads."""
    if kind == "delta":
        table = pa.table(deltalake.DeltaTable(str(folder / "lake")).to_pyarrow_table())
    else:
        catalog = SqlCatalog("default", uri=f"sqlite:///{folder}/lake/catalog.db", warehouse=f"file://{folder}/lake")
        table = catalog.load_table("sales.orders").scan().to_arrow()
        catalog.engine.dispose()
    pairs: list[dict[str, Any]] = table.to_pylist()
    result = {pair["id"]: pair["name"] for pair in pairs}
    assert len(result) == len(pairs)
    return result


@pytest.mark.parametrize("kind", KINDS)
async def test_append_and_overwrite(tmp_path: Path, kind: str) -> None:
    await save(tmp_path, kind, rows((1, "a"), (2, "b")))
    await save(tmp_path, kind, rows((3, None)))
    assert found(tmp_path, kind) == {1: "a", 2: "b", 3: None}
    await save(tmp_path, kind, rows((9, "z")), mode="overwrite")
    assert found(tmp_path, kind) == {9: "z"}
    assert os.listdir(tmp_path) == ["lake"]


async def test_delta_upserts_and_partitions(tmp_path: Path) -> None:
    await save(tmp_path, "delta", rows((1, "a"), (2, "b")), mode="upsert", key=["id"], partition_by=["name"])
    await save(tmp_path, "delta", rows((2, "x"), (3, "c")), mode="upsert", key=["id"])
    assert found(tmp_path, "delta") == {1: "a", 2: "x", 3: "c"}
    assert (tmp_path / "lake/name=a").is_dir()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_repeated_idempotency_key_writes_nothing(tmp_path: Path, kind: str) -> None:
    await save(tmp_path, kind, rows((1, "a"), (2, "b")), "key-1")
    again = await save(tmp_path, kind, rows((1, "a"), (2, "b")), "key-1")
    await save(tmp_path, kind, rows((3, "c")), "key-2")
    assert (again.repeated, again.rows) == (True, 2)
    assert found(tmp_path, kind) == {1: "a", 2: "b", 3: "c"}


@pytest.mark.parametrize("kind", KINDS)
async def test_other_columns_are_refused_before_anything_is_written(tmp_path: Path, kind: str) -> None:
    await save(tmp_path, kind, rows((1, "a")))
    with pytest.raises(JackfieldError) as caught:
        await save(tmp_path, kind, pa.table({"id": [2], "other": ["x"]}))
    assert caught.value.code is Code.SCHEMA_CHANGED
    assert found(tmp_path, kind) == {1: "a"}


@pytest.mark.parametrize("kind", KINDS)
async def test_files_of_a_killed_save_are_removed_and_no_others(tmp_path: Path, kind: str) -> None:
    await save(tmp_path, kind, rows((1, "a")))
    (tmp_path / ".lake.jackfield-writing").write_text(str(time.time() - 5))
    left, foreign = tmp_path / "lake/left.parquet", tmp_path / "lake/foreign.parquet"
    left.write_bytes(b"half")
    foreign.write_bytes(b"of another writer, long before")
    os.utime(foreign, (1_000_000_000, 1_000_000_000))
    await save(tmp_path, kind, rows((2, "b")))
    assert (left.exists(), foreign.exists()) == (False, True)
    assert found(tmp_path, kind) == {1: "a", 2: "b"}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None)
    with pytest.raises(JackfieldError) as caught:
        await save(tmp_path, kind, rows((1, "a")))
    assert caught.value.code is Code.CONFIG_INVALID
    assert f"pip install 'jackfield[{kind}]'" in caught.value.hint
