"""`project`: columns chosen and renamed, of whole tables and of streams."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.project import project_node
from jackfield.nodes.table import Table

ROWS = pa.table({"a": [1, 2], "b": ["x", "y"], "c": [None, 1.5]})


class Streaming:
    def __init__(self, streams: bool) -> None:
        self.streams = streams


async def projected(table: Table, streams: bool = False, **configuration: Any) -> Table:
    fire = project_node.bind("project", configuration)
    outputs = await fire({"rows": table}, Streaming(streams))  # type: ignore[arg-type]
    found: Table = outputs["rows"]
    return found


def stream(closed: list[str]) -> Table:
    def batches() -> Iterator[pa.RecordBatch]:
        for row in range(2):
            yield from ROWS.slice(row, 1).to_batches()

    reader = pa.RecordBatchReader.from_batches(ROWS.schema, batches())
    return Table.stream(reader, close=lambda: closed.append("closed"), cancel=lambda: closed.append("cancelled"))


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["whole", "stream", "stream into whole"])
async def test_columns_come_in_the_asked_order_and_under_the_asked_names(kind: str) -> None:
    closed: list[str] = []
    table = Table.whole(ROWS) if kind == "whole" else stream(closed)
    found = await projected(table, kind == "stream", fields=["c", "a"], rename={"a": "id"})
    assert found.is_stream is (kind == "stream")
    assert found.arrow().to_pydict() == {"c": [None, 1.5], "id": [1, 2]}
    assert closed == ([] if kind == "whole" else ["closed"])


@pytest.mark.anyio
async def test_without_fields_all_columns_stay() -> None:
    assert (await projected(Table.whole(ROWS), rename={"b": "letter"})).arrow().column_names == ["a", "letter", "c"]


@pytest.mark.anyio
async def test_a_stream_that_is_dropped_closes_its_source() -> None:
    closed: list[str] = []
    found = await projected(stream(closed), streams=True, fields=["a"])
    found.cancel()
    found.close()
    assert closed == ["cancelled", "closed"]


@pytest.mark.anyio
@pytest.mark.parametrize("configuration", [{"fields": ["a", "z"]}, {"rename": {"z": "y"}}])
async def test_a_column_that_is_not_there_is_named_with_those_that_are(configuration: dict[str, Any]) -> None:
    with pytest.raises(JackfieldError) as caught:
        await projected(Table.whole(ROWS), **configuration)
    assert caught.value.code is Code.SCHEMA_NOT_FOUND
    assert caught.value.details == {"column": "z", "available": ["a", "b", "c"]}
