"""TPC-H: the 22 queries as tools, over Parquet, over CSV and over a real Postgres, equal the official answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pytest
from servers.postgres import PostgresServer

from jackfield.surfaces.app import App

from .conftest import Tpch

pytestmark = pytest.mark.anyio
TYPES = {"BIGINT": "int", "INTEGER": "int", "VARCHAR": "string", "DATE": "date", "DECIMAL(15,2)": "decimal(15,2)"}
TOLERANCE = Decimal("1e-9")  # the answers were made with other orders of floating point addition


def connector(tpch: Tpch, source: Callable[[str], dict[str, Any]]) -> str:
    """A connector file with the 8 tables as sources and the 22 queries as tools."""
    tools = [
        {
            "id": f"q{number}",
            "name": f"Query {number}",
            "category": "READ",
            "description": f"Answer query {number} of the TPC-H benchmark.",
            "sql": query,
            "parameters": [],
        }
        for number, query in tpch.queries.items()
    ]
    sources = [{"id": table, **source(table)} for table in tpch.tables]
    return json.dumps({"name": "TPC-H", "slug": "tpch", "version": "1.0.0", "sources": sources, "tools": tools})


def same(found: Any, expected: str) -> bool:
    if str(found) == expected or (found is None and expected == ""):
        return True
    try:
        number, wanted = Decimal(str(found)), Decimal(expected)
    except InvalidOperation:
        return False
    return abs(number - wanted) <= TOLERANCE * max(abs(wanted), Decimal(1))


async def check(app: App, tpch: Tpch, number: int) -> None:
    result = await app.call("tpch", f"q{number}", {})
    assert result.table is not None
    header, *expected = (line.split("|") for line in tpch.answers[number].removesuffix("\n").split("\n"))
    rows = [list(row.values()) for row in result.table.to_pylist()]
    assert len(result.table.schema.names) == len(header)  # of unnamed columns the answers have other names
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        assert all(same(value, text) for value, text in zip(row, wanted, strict=True)), (row, wanted)


@asynccontextmanager
async def app_of(folder: Path, text: str, variables: dict[str, str] | None = None) -> AsyncIterator[App]:
    (folder / "tpch.connector.json").write_text(text)
    async with App([folder / "tpch.connector.json"], variables=variables or {}) as app:
        yield app


@pytest.mark.parametrize("kind", ["parquet", "csv"])
async def test_the_22_queries_over_files(tpch: Tpch, tmp_path: Path, kind: str) -> None:
    for table in tpch.tables:
        (tmp_path / f"{table}.{kind}").hardlink_to(tpch.folder / f"{table}.{kind}")

    def source(table: str) -> dict[str, Any]:
        schema = {column: TYPES[declared] for column, declared in tpch.tables[table].items()}
        return {"type": kind, "path": f"./{table}.{kind}"} | ({"schema": schema} if kind == "csv" else {})

    async with app_of(tmp_path, connector(tpch, source)) as app:
        for number in tpch.queries:
            await check(app, tpch, number)


@pytest.fixture(scope="module")
def warehouse(tpch: Tpch, postgres: PostgresServer) -> Iterator[str]:
    create = "".join(
        f"CREATE TABLE {table} ({', '.join(f'{column} {declared}' for column, declared in columns.items())});\n"
        f"\\copy {table} FROM '{tpch.folder / table}.csv' WITH (FORMAT csv, HEADER)\n"
        for table, columns in tpch.tables.items()
    )
    with postgres.database(create) as dsn:
        yield dsn


async def test_the_22_queries_over_postgres(tpch: Tpch, tmp_path: Path, warehouse: str) -> None:
    text = connector(tpch, lambda table: {"type": "postgres", "dsn": "{{ env:WAREHOUSE }}", "table": table})
    async with app_of(tmp_path, text, {"WAREHOUSE": warehouse}) as app:
        for number in tpch.queries:
            await check(app, tpch, number)
