"""The `save` kind: passing rows on, its report, `canSave`, and what it refuses before anything runs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from servers.stand import Stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.files.confine import locate
from jackfield.nodes.save import save_node
from jackfield.nodes.saves import passing
from jackfield.nodes.saves.atomic import locked
from jackfield.nodes.saves.starting import clean_targets
from jackfield.nodes.table import Table


def streamed(table: pa.Table, batch_rows: int = 10_000) -> Table:
    return Table.stream(pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(batch_rows))))


async def save(folder: Path, rows: Table, **configuration: Any) -> dict[str, Any]:
    context = Stand(folder=folder, streams=True)
    with anyio.fail_after(30):
        return await save_node.bind("lake", configuration)({"rows": rows}, context)


@pytest.mark.anyio
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


@pytest.mark.anyio
async def test_many_rows_pass_through_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passing, "IN_MEMORY", 20)
    rows = pa.table({"a": list(range(100_000))})
    before = pa.total_allocated_bytes()
    outputs = await save(tmp_path, streamed(rows), type="parquet", path="a.parquet")
    assert not outputs["rows"].is_stream
    assert pa.total_allocated_bytes() - before < rows.nbytes
    assert outputs["rows"].arrow().equals(rows)


@pytest.mark.anyio
async def test_can_save_answers_in_words_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    questions = {
        "out/a.parquet": "",
        "../a.parquet": "leads out of the connector's folder",
        "taken/a.parquet": "'taken' is not a folder.",
    }
    for path, reason in questions.items():
        fire = save_node.bind("lake", {"type": "parquet", "path": path, "method": "canSave"})
        outputs = await fire({}, Stand(folder=tmp_path))
        assert outputs["canSave"] is (reason == "")
        assert reason in outputs["report"]["reason"]
    assert os.listdir(tmp_path) == ["taken"]


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        ({"type": "parkett", "path": "a"}, "did you mean 'parquet'?"),
        ({"type": "parquet"}, "'path' of save 'parquet': Field required"),
        ({"type": "csv", "path": "a.csv", "mode": "upsert"}, "needs 'key'"),
        ({"type": "iceberg", "path": "a", "table": "t", "mode": "upsert", "key": ["a"]}, "has no mode 'upsert'"),
        ({"type": "csv", "path": "a.csv", "colour": "red"}, "'colour' of save 'csv'"),
    ],
)
def test_a_wrong_configuration_is_told_when_the_graph_is_planned(configuration: dict[str, Any], said: str) -> None:
    with pytest.raises(JackfieldError) as caught:
        save_node.bind("lake", configuration)
    assert caught.value.code is Code.CONFIG_INVALID
    assert said in caught.value.message


@pytest.mark.anyio
async def test_rows_from_json_are_saved_as_well(tmp_path: Path) -> None:
    fire = save_node.bind("lake", {"type": "jsonl", "path": "a.jsonl"})
    outputs = await fire({"rows": [{"a": 1}, {"b": "x"}]}, Stand(folder=tmp_path))
    assert outputs["report"]["rows"] == 2
    assert (tmp_path / "a.jsonl").read_text() == '{"a":1,"b":null}\n{"a":null,"b":"x"}\n'


@pytest.mark.anyio
async def test_a_cancelled_save_changes_nothing_and_closes_its_source(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    reached, closed, cancelled = threading.Event(), threading.Event(), threading.Event()

    def batches() -> Iterator[pa.RecordBatch]:
        yield from pa.table({"a": [2]}).to_batches()
        reached.set()
        cancelled.wait(10)
        yield from pa.table({"a": [3]}).to_batches()

    reader = pa.RecordBatchReader.from_batches(pa.table({"a": [2]}).schema, batches())
    table = Table.stream(reader, close=closed.set, cancel=cancelled.set)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: save(tmp_path, table, type="csv", path="a.csv"))
            await anyio.to_thread.run_sync(reached.wait)
            group.cancel_scope.cancel()
    assert closed.is_set()
    assert (tmp_path / "a.csv").read_text() == "a\n1\n"
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["csv", "duckdb"])
async def test_a_save_that_waits_for_another_can_be_cancelled_at_once(tmp_path: Path, kind: str) -> None:
    fields = {"type": kind, "path": f"a.{kind}"} | ({"table": "t"} if kind == "duckdb" else {})
    with locked(locate(f"a.{kind}", tmp_path)), anyio.move_on_after(0.2) as waiting, anyio.fail_after(2):
        await save(tmp_path, Table.whole(pa.table({"a": [1]})), **fields)
    assert waiting.cancelled_caught


@pytest.mark.anyio
async def test_two_saves_into_one_file_do_not_lose_rows(tmp_path: Path) -> None:
    async with anyio.create_task_group() as group:
        for number in range(8):
            rows = Table.whole(pa.table({"a": [number]}))
            group.start_soon(lambda rows=rows: save(tmp_path, rows, type="csv", path="a.csv"))  # type: ignore[misc]
    assert sorted((tmp_path / "a.csv").read_text().split()) == ["0", "1", "2", "3", "4", "5", "6", "7", "a"]


def test_leftovers_are_removed_at_the_start_of_a_process(tmp_path: Path) -> None:
    left = tmp_path / "out/.a.csv.00ff00ff.jackfield-tmp"
    left.parent.mkdir()
    left.write_text("half")
    (tmp_path / "out/.b.00ff00ff.jackfield-tmp").mkdir()
    (tmp_path / "out/.moved.jackfield-old").mkdir()
    (tmp_path / "out/kept.csv").write_text("a\n1\n")
    saves = [{"path": "out/a.csv"}, {"path": "nowhere/a.csv"}, {"path": "../a.csv"}, {"dsn": "postgres://"}]
    removed = clean_targets(tmp_path, saves)
    assert sorted(os.path.basename(path) for path in removed) == [
        ".a.csv.00ff00ff.jackfield-tmp",
        ".b.00ff00ff.jackfield-tmp",
    ]
    assert sorted(os.listdir(tmp_path / "out")) == ["kept.csv", "moved"]


def test_the_leftovers_of_a_save_that_still_runs_are_not_removed(tmp_path: Path) -> None:
    saves = [{"path": "out/a.csv"}]
    with locked(locate("out/a.csv", tmp_path)) as folder:
        os.close(os.open(".a.csv.00ff00ff.jackfield-tmp", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
        assert clean_targets(tmp_path, saves) == []
    assert len(clean_targets(tmp_path, saves)) == 1
