"""Saves on a failing disk: whichever operation fails, and however early the disk is full, the old rows stay."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pytest
from servers.stand import Stand

from jackfield.graphs.errors import JackfieldError
from jackfield.nodes.file import file_node
from jackfield.nodes.saves import by_name
from jackfield.nodes.saves.base import Saved
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio
KINDS: dict[str, dict[str, Any]] = {
    "parquet": {"path": "a.parquet"},
    "csv": {"path": "a.csv"},
    "json": {"path": "a.json"},
    "jsonl": {"path": "a.jsonl"},
    "sqlite": {"path": "a.sqlite", "table": "t"},
    "duckdb": {"path": "a.duckdb", "table": "t"},
    "data set": {"path": "a", "partition_by": ["part"]},
}
DATABASES = ("sqlite", "duckdb")  # they change in place, by transactions of their own library
CALLS = ("replace", "rename", "fsync", "open", "mkdir", "link")


def rows(first: int, count: int = 100) -> pa.Table:
    ids = range(first, first + count)
    return pa.table({"id": pa.array(ids), "part": pa.array([f"p{value % 2}" for value in ids])})


async def save(folder: Path, kind: str, table: pa.Table, mode: str, idempotency_key: str = "") -> Saved:
    save_type = by_name()["parquet" if kind == "data set" else kind]
    key = {"key": ["id"]} if mode == "upsert" else {}
    config = save_type.configuration.model_validate(KINDS[kind] | {"mode": mode} | key)
    stream = Table.stream(pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(20))))
    with anyio.fail_after(60):
        return await save_type.save(config, stream, Stand(folder=folder, idempotency_key=idempotency_key))


async def ids(folder: Path, kind: str) -> list[int]:
    fields = {key: value for key, value in KINDS[kind].items() if key != "partition_by"}
    form = {"format": "parquet"} if kind == "data set" else {}
    outputs = await file_node.bind("a", fields | form)({}, Stand(folder=folder))
    return sorted(row["id"] for row in outputs["rows"].to_pylist())


class Failing:
    """The n-th call of one of the functions of `os` that touch a disk raises."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
        self.calls = 0
        self.number = number
        for name in CALLS:
            monkeypatch.setattr(os, name, self._wrapped(getattr(os, name), name))

    def _wrapped(self, real: Any, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if name != "open" or (len(args) > 1 and args[1] & os.O_CREAT):
                self.calls += 1
                if self.calls == self.number:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(*args, **kwargs)

        return call


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in DATABASES])
@pytest.mark.parametrize("mode", ["append", "overwrite", "upsert"])
async def test_a_failure_of_any_operation_leaves_all_of_the_old_rows_or_all_of_the_new(
    tmp_path: Path, kind: str, mode: str
) -> None:
    old = list(range(100))
    new = {"append": list(range(200)), "overwrite": list(range(100, 200)), "upsert": list(range(200))}[mode]
    await save(tmp_path, kind, rows(0), "overwrite", "before")
    messages: list[str] = []
    for number in range(1, 60):
        with pytest.MonkeyPatch.context() as patched:
            failing = Failing(patched, number)
            try:
                await save(tmp_path, kind, rows(100), mode, f"key-{number}")
            except JackfieldError as error:
                messages.append(error.message)
        if failing.calls < number:
            break
        found = await ids(tmp_path, kind)
        assert found in (old, new)
        assert [name for name in os.listdir(tmp_path) if "tmp" in name] == []
        await save(tmp_path, kind, rows(0), "overwrite")
    else:
        pytest.fail("the save never ran to its end")
    assert await ids(tmp_path, kind) == new
    assert len(messages) > 3
    assert all("Input/output error" in message for message in messages)


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """No file may grow beyond `size`, as on a full disk; Python ignores the signal, so that writing fails."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "duckdb"])
@pytest.mark.parametrize("mode", ["append", "overwrite", "upsert"])
async def test_a_full_disk_leaves_the_old_rows(tmp_path: Path, kind: str, mode: str) -> None:
    await save(tmp_path, kind, rows(0), "overwrite")
    for size in (1, 100, 5_000, 20_000):
        with disk_of(size), pytest.raises(JackfieldError) as caught:
            await save(tmp_path, kind, rows(100, 100_000), mode)
        assert caught.value.hint
        assert await ids(tmp_path, kind) == list(range(100))
        assert len(os.listdir(tmp_path)) == 1
