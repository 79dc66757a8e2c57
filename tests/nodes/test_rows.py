"""The `rows` source: rows in the connector file."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from servers.stand import Stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.rows import rows_node

pytestmark = pytest.mark.anyio


async def read(rows: list[dict[str, Any]], **configuration: Any) -> dict[str, list[dict[str, Any]]]:
    outputs = await rows_node.bind("rates", {"rows": rows} | configuration)({}, Stand(folder=Path("/nonexistent")))
    return {port: table.to_pylist() for port, table in outputs.items()}


async def test_rows_are_a_table_of_all_their_keys() -> None:
    given = [{"currency": "EUR", "rate": 1}, {"currency": "NOK", "rate": 11.5, "day": "2025-01-31"}]
    assert (await read(given))["rows"] == [
        {"currency": "EUR", "rate": 1.0, "day": None},
        {"currency": "NOK", "rate": 11.5, "day": date(2025, 1, 31)},
    ]


async def test_nested_rows_give_child_tables() -> None:
    found = await read([{"id": 7, "parts": [{"n": 1}]}], children=["parts"])
    assert found["parts"] == [{"_parent_id": 7, "_index": 0, "n": 1}]


async def test_no_rows_still_have_the_declared_columns() -> None:
    outputs = await rows_node.bind("rates", {"rows": [], "schema": {"id": "int"}})({}, Stand())
    assert outputs["rows"].schema.names == ["id"]


async def test_rows_that_do_not_fit_their_schema_are_named() -> None:
    with pytest.raises(JackfieldError) as caught:
        await read([{"id": "x"}], schema={"id": "int"})
    assert caught.value.code is Code.TYPE_MISMATCH
