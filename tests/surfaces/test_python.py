"""`import jackfield as jf`: open, call, save, build graphs, run them; the same again for async code."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import duckdb
import pyarrow as pa
import pytest
from servers.http import Hang, HttpServer
from servers.postgres import PostgresServer

import jackfield as jf

from .test_call import ROWS, TOOLS, connector

SPEND = {
    "id": "spend_of", "name": "Spend of", "category": "READ", "description": "Return what one kind of sale brought.",
    "sql": "SELECT sum(total) AS spent FROM sales WHERE kind = :kind",
    "parameters": [{"name": "kind", "type": "string", "description": "Exact kind", "required": True}],
}  # fmt: skip
WRITE = {
    "id": "export_sales", "name": "Export sales", "category": "WRITE", "description": "Write all sales into a file.",
    "sql": "SELECT id, kind FROM sales", "parameters": [], "save": {"to": "lake", "mode": "overwrite"},
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    saves = [{"id": "lake", "type": "csv", "path": "./out/sales.csv"}]
    return connector(tmp_path, [{"id": "sales", "type": "rows", "rows": ROWS}], [*TOOLS, SPEND, WRITE], saves=saves)


@pytest.fixture
def shop(path: Path) -> Iterator[Any]:
    with jf.open(path) as opened:
        yield opened


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import jackfield, sys; print(dir(jackfield)); print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert not {"duckdb", "pyarrow", "mcp", "pydantic", "click", "anyio"} & set(done.stdout.split())
    assert "aopen" in done.stdout


def test_every_public_name_is_there() -> None:
    for name in jf.__all__:
        assert getattr(jf, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        jf.opne  # noqa: B018  # type: ignore[attr-defined]


def test_a_tool_is_a_function_with_typed_rows(shop: Any) -> None:
    result = shop.list_sales(since="2026-03-02")
    assert result.rows[0] == {"id": 2, "kind": "map", "day": date(2026, 3, 2), "total": Decimal("7.00"), "note": None}
    assert [row["id"] for row in result] == [2, 3]
    assert len(result) == 2
    assert isinstance(result.to_arrow(), pa.Table)
    assert result.value["row_count"] == 2
    assert result.graph_hash == shop.list_sales.graph.hash


def test_python_values_are_arguments_as_they_are(shop: Any) -> None:
    assert len(shop.list_sales(since=date(2026, 3, 2), ids=[3])) == 1


def test_tools_are_listed_and_a_wrong_name_is_answered_with_the_near_one(shop: Any) -> None:
    assert {"list_sales", "spend_of", "export_sales"} <= set(dir(shop))
    assert shop["list_sales"].description == TOOLS[0]["description"]
    with pytest.raises(AttributeError, match="Did you mean 'list_sales'"):
        shop.list_sale  # noqa: B018


def test_wrong_arguments_raise_the_one_kind_of_error(shop: Any) -> None:
    with pytest.raises(jf.JackfieldError) as caught:
        shop.spend_of(kind=3)
    assert caught.value.code is jf.Code.VALIDATION_INVALID_PARAMS


def test_a_write_gives_its_report(shop: Any, path: Path) -> None:
    assert shop.export_sales().value["report"]["rows"] == 3
    assert (path.parent / "out" / "sales.csv").read_text().splitlines()[1] == "1,book"


@pytest.mark.parametrize("name", ["out/a.parquet", "out/a.csv", "out/a.json", "out/a.jsonl"])
def test_a_result_saves_by_the_name_of_the_file(shop: Any, tmp_path: Path, name: str) -> None:
    report = shop.list_sales().save(tmp_path / name)
    assert report["rows"] == 3
    with duckdb.connect() as database:
        assert database.execute(f"SELECT count(*) FROM '{tmp_path / name}'").fetchall() == [(3,)]


def test_a_name_that_says_no_format_is_refused(shop: Any, tmp_path: Path) -> None:
    with pytest.raises(jf.JackfieldError, match=r"End its name in one of .*\.parquet"):
        shop.list_sales().save(tmp_path / "sales.xlsx")


def test_a_result_outlives_its_connector(path: Path, tmp_path: Path) -> None:
    with jf.open(path) as shop:
        result = shop.list_sales()
    assert len(result.rows) == 3


def test_a_folder_opens_each_connector_by_its_slug(path: Path) -> None:
    (path.parent / "other-shop.connector.json").write_text(path.read_text().replace('"shop"', '"other-shop"'))
    with jf.open(path.parent) as both:
        assert {"shop", "other_shop"} <= set(dir(both))
        assert len(both.other_shop.list_sales()) == 3
        assert len(both["other-shop"].list_sales()) == 3


def test_a_graph_joins_tools_sql_and_a_map(shop: Any) -> None:
    with jf.graph("spending") as g:
        sales = shop.list_sales(since=g.input("since", date))
        spent = shop.spend_of.map(sales["kind"], concurrency=2)
        g.output(
            jf.sql(
                "SELECT s.id, p.spent FROM {s} s JOIN {p} p USING (kind) WHERE s.id >= {low} ORDER BY s.id",
                s=sales,
                p=spent,
                low=g.input("low", int, default=0),
            )
        )
    assert jf.run(g, since="2026-03-01").rows == [
        {"id": 1, "spent": pytest.approx(13.35)},
        {"id": 2, "spent": 7.0},
        {"id": 3, "spent": pytest.approx(13.35)},
    ]
    assert [row["id"] for row in jf.run(g, since=date(2026, 3, 1), low=3)] == [3]
    with pytest.raises(jf.JackfieldError, match="'since' is required"):
        jf.run(g)


def test_a_built_graph_is_bgl_and_runs_again_from_its_file(path: Path, tmp_path: Path) -> None:
    import json

    from jackfield.graphs.bgl import to_json

    with jf.open(path) as shop, jf.graph("sales") as g:
        g.output(jf.sql("SELECT count(*) AS n FROM {s}", s=shop.list_sales()))
    board = tmp_path / "count.bgl.json"
    board.write_text(json.dumps(to_json(g.graph)))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)  # the workspace, where the graph finds the connector
        assert jf.run(board).rows == [{"n": 3}]


def test_a_function_is_a_node_of_a_graph(shop: Any) -> None:
    @jf.node(effect="pure")
    def doubled(rows: jf.Table, *, times: int = 2) -> jf.Table:
        table = rows.arrow()
        return jf.Table.whole(pa.concat_tables([table] * times))

    with jf.graph("doubled") as g:
        g.output(g.apply(doubled, rows=shop.list_sales(), times=3))
    assert len(jf.run(g)) == 9


def test_a_handle_of_another_graph_and_a_bare_column_are_refused(shop: Any) -> None:
    with jf.graph("one"):
        sales = shop.list_sales()
    with jf.graph("two") as two:
        with pytest.raises(jf.JackfieldError, match="comes from the graph 'one'"):
            two.output(sales)
        with pytest.raises(jf.JackfieldError, match="a column can not be wired"):
            two.output(shop.list_sales()["id"])
        with pytest.raises(jf.JackfieldError, match="no parameter 'knd'"):
            shop.list_sales(knd="book")
        with pytest.raises(jf.JackfieldError, match=r"names \{x\}"):
            jf.sql("SELECT * FROM {x}", s=shop.list_sales())


@pytest.mark.anyio
async def test_async_code_awaits_tools_and_streams_batches(path: Path) -> None:
    async with jf.aopen(path) as shop:
        assert len((await shop.list_sales()).rows) == 3
        sizes = [batch.num_rows async for batch in shop.list_sales.stream(batch_rows=2)]
    assert sizes == [2, 1]


@pytest.mark.anyio
async def test_streamed_batches_come_before_the_query_has_ended(tmp_path: Path, postgres: PostgresServer) -> None:
    stalling = (
        "CREATE VIEW numbers AS SELECT g AS n, repeat('x', 200) AS pad,"
        " (CASE WHEN g > 400000 THEN pg_sleep(60) END)::text AS s FROM generate_series(1, 400001) g"
    )
    sql = "SELECT n, pad, s FROM numbers"
    tool = {**TOOLS[0], "id": "numbers", "name": "Numbers", "sql": sql, "parameters": []}
    source = {"id": "numbers", "type": "postgres", "dsn": "{{ env:NUMBERS }}", "table": "numbers"}
    with postgres.database(stalling) as dsn:
        async with jf.aopen(connector(tmp_path, [source], [tool]), variables={"NUMBERS": dsn}) as shop:
            with anyio.fail_after(30):
                async with aclosing(shop.numbers.stream(batch_rows=30_000)) as batches:
                    assert [(await anext(batches)).num_rows for _ in range(2)] == [30_000, 30_000]


@pytest.mark.anyio
async def test_a_cancelled_call_closes_its_request(tmp_path: Path) -> None:
    hang = Hang()
    with HttpServer({"/animals": hang}) as server:
        tool = {**TOOLS[0], "sql": "SELECT * FROM animals LIMIT 1", "parameters": []}
        held = connector(tmp_path, [{"id": "animals", "type": "rest", "url": f"{server.url}/animals"}], [tool])
        async with jf.aopen(held) as shop:
            with anyio.move_on_after(0.5) as scope:
                await shop.list_sales()
            assert scope.cancelled_caught
            assert hang.closed.wait(1)


def test_nothing_is_left_open_after_the_block(path: Path) -> None:
    with jf.open(path) as shop:
        shop.list_sales()
    gc.collect()  # an unclosed loop, socket or file would warn here, and warnings are errors
