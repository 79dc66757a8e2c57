"""The `file` source: formats, types, patterns, pushdown, budgets, and what its errors say."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from servers.stand import Stand

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.file import file_node
from jackfield.nodes.files import csvtypes
from jackfield.nodes.scan import Scan
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio


async def read(folder: Path, port: str = "rows", inputs: dict[str, Any] | None = None, **configuration: Any) -> Table:
    context = Stand(folder=folder)
    with anyio.fail_after(30):
        outputs = await file_node.bind("orders", configuration)(inputs or {}, context)
    table = outputs[port]
    assert isinstance(table, Table)
    return table


async def rows(folder: Path, **configuration: Any) -> list[dict[str, Any]]:
    return (await read(folder, **configuration)).to_pylist()


async def test_csv_types_are_found_in_its_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,day,price,paid\n1,2024-01-31,1.5,true\n2,2024-02-01,,false\n")
    table = await read(tmp_path, path="a.csv")
    assert table.schema.types == [pa.int64(), pa.date32(), pa.float64(), pa.bool_()]
    assert table.to_pylist()[1] == {"id": 2, "day": date(2024, 2, 1), "price": None, "paid": False}


@pytest.mark.parametrize(
    "text", ["007", "F", "+4711", "12E45", "01/02/2024", "nan", "Infinity", "00.5", "2024-1-5", "yes"]
)
async def test_text_that_a_type_would_change_stays_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.csv").write_text(f"code,n\n{text},1\n{text},2\n")
    assert await rows(tmp_path, path="a.csv") == [{"code": text, "n": 1}, {"code": text, "n": 2}]


async def test_parquet_and_gzipped_csv_are_told_by_their_suffix(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "a.parquet")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a\n1\n2\n"))
    assert await rows(tmp_path, path="a.parquet") == await rows(tmp_path, path="./a.csv.gz") == [{"a": 1}, {"a": 2}]


async def test_json_records_give_columns_and_child_tables(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"data": {"items": [{"id": 7, "place": {"city": "Oslo"}, "parts": [{"n": 1}, {"n": 2}]}]}}'
    )
    configuration: dict[str, Any] = {"path": "a.json", "data_path": "data.items", "children": ["parts"]}
    assert (await rows(tmp_path, **configuration))[0]["place_city"] == "Oslo"
    parts = await read(tmp_path, "parts", **configuration)
    assert parts.to_pylist() == [{"_parent_id": 7, "_index": 0, "n": 1}, {"_parent_id": 7, "_index": 1, "n": 2}]


async def test_json_lines_are_read_and_a_bad_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n{"a": 2, "b": "x"}\n')
    assert await rows(tmp_path, path="a.jsonl") == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]


async def test_sqlite_tables_keep_their_types(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.execute("CREATE TABLE t (id INTEGER, day DATE, at TIMESTAMP, ok BOOLEAN, price REAL, note TEXT)")
        database.execute("INSERT INTO t VALUES (1, '2024-01-31', '2024-01-31 10:00:00', 1, 2.5, 'x')")
    table = await read(tmp_path, path="a.db", table="T")
    assert table.schema.types == [pa.int64(), pa.date32(), pa.timestamp("us"), pa.bool_(), pa.float64(), pa.string()]


async def test_a_sqlite_column_of_mixed_values_becomes_text(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.execute("CREATE TABLE t (a INTEGER)")
        database.executemany("INSERT INTO t VALUES (?)", [(1,), ("x",), (None,)])
    assert await rows(tmp_path, path="a.db") == [{"a": "1"}, {"a": "x"}, {"a": None}]


async def test_duckdb_files_are_read_by_table_or_query(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as database:
        database.execute("CREATE TABLE t AS SELECT 1 AS a, 12345678901234567.89::DECIMAL(20, 2) AS d")
    assert await rows(tmp_path, path="a.duckdb") == [{"a": 1, "d": Decimal("12345678901234567.89")}]
    assert await rows(tmp_path, path="a.duckdb", query="SELECT a + 1 AS b FROM t;") == [{"b": 2}]


async def failed(folder: Path, **configuration: Any) -> JackfieldError:
    with pytest.raises(JackfieldError) as caught:
        await rows(folder, **configuration)
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("content", "code", "line", "said"),
    [
        (b",".join(b"c%d" % n for n in range(1_000_000)), Code.BUDGET_EXCEEDED, 1, "columns"),
        (b"a,b\n1,2\n3," + b"x" * 3_000_000 + b"\n", Code.SOURCE_BAD_REPLY, 3, "Maximum line size"),
        (b'a,b\n1,2\n3,"x\n4,5\n' + b"6,7\n" * 100, Code.SOURCE_BAD_REPLY, 3, "unterminated quote"),
        (b"a,b\n1,2\n3,4,5\n", Code.SOURCE_BAD_REPLY, 3, "Expected Number of Columns: 2 Found: 3"),
        (b"a,b\n1,2\n3\n", Code.SOURCE_BAD_REPLY, 3, "Expected Number of Columns: 2 Found: 1"),
        (b"a,b\n1,x\n2,caf\xe9\n", Code.SOURCE_BAD_REPLY, 3, "not utf-8"),
        (b"a\x00b,c\n1,2\n", Code.SOURCE_BAD_REPLY, 1, "NUL"),
    ],
    ids=["wide", "one giant cell", "unclosed quote", "long row", "short row", "encoding", "NUL in the header"],
)
async def test_file_07_a_broken_csv_is_named_by_its_line(
    tmp_path: Path, content: bytes, code: Code, line: int, said: str
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    error = await failed(tmp_path, path="a.csv")
    assert (error.code, error.details["line"]) == (code, line)
    assert said in error.message
    assert error.message.startswith(f"'a.csv', line {line}: ")
    assert len(error.message) < 400


async def test_file_07_text_of_a_csv_is_never_run_or_changed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfa,b\n=cmd|' /C calc'!A0,x\x00y\n#no comment,-1+1\n")
    assert await rows(tmp_path, path="a.csv") == [
        {"a": "=cmd|' /C calc'!A0", "b": "x\x00y"},
        {"a": "#no comment", "b": "-1+1"},
    ]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
async def test_other_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "a.csv").write_bytes("name,n\ncafé,1\n".encode(encoding))
    assert await rows(tmp_path, path="a.csv", encoding=encoding) == [{"name": "café", "n": 1}]


async def test_a_wrong_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"name\nx\n\x81\n")
    error = await failed(tmp_path, path="a.csv", encoding="cp1252")
    assert error.code is Code.SOURCE_BAD_REPLY
    assert error.message.startswith("'a.csv', line 3: ")
    assert (await failed(tmp_path, path="a.csv", encoding="klingon")).code is Code.CONFIG_INVALID


@pytest.mark.parametrize(
    ("content", "configuration", "expected"),
    [
        (b"a;b\n1,5;2\n", {}, [{"a": "1,5", "b": 2}]),
        (b"a\tb\n1\t2\n", {}, [{"a": 1, "b": 2}]),
        (b"a,b\r\n1,2\r\n", {}, [{"a": 1, "b": 2}]),
        (b"1,2\n3,4\n", {"header": False}, [{"column0": 1, "column1": 2}, {"column0": 3, "column1": 4}]),
        (b"a,A,\n1,2,3\n", {}, [{"a": 1, "A_1": 2, "column2": 3}]),
        (b"a,b\nNA,-\n1,x\n", {"null_values": ["NA", "-"]}, [{"a": None, "b": None}, {"a": 1, "b": "x"}]),
        (b'a,b\n"1","x ""q""\ny"\n', {}, [{"a": 1, "b": 'x "q"\ny'}]),
        (b"a|b,c\n1|2,3\n", {"delimiter": "|"}, [{"a": 1, "b,c": "2,3"}]),
    ],
)
async def test_csv_dialects(
    tmp_path: Path, content: bytes, configuration: dict[str, Any], expected: list[dict[str, Any]]
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    assert await rows(tmp_path, path="a.csv", **configuration) == expected


async def test_a_type_holds_for_all_rows_and_not_for_the_first_alone(tmp_path: Path) -> None:
    first = "".join(f"{n},{n},{n}\n" for n in range(1, 30_000))
    (tmp_path / "a.csv").write_text(f"zip,price,n\n{first}01234,1.5,7\n")
    table = await read(tmp_path, path="a.csv")
    assert table.schema.types == [pa.string(), pa.float64(), pa.int64()]
    assert table.to_pylist()[-1] == {"zip": "01234", "price": 1.5, "n": 7}


async def test_in_a_large_file_a_late_value_that_a_type_would_change_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csvtypes, "MANY_ROWS", 10)
    monkeypatch.setattr("jackfield.nodes.files.csv.SMALL_BYTES", 1)
    monkeypatch.setattr(csvtypes, "SAMPLE_ROWS", 10)
    (tmp_path / "a.csv").write_text("zip\n" + "12345\n" * 100 + "01234\n")
    error = await failed(tmp_path, path="a.csv")
    assert error.code is Code.TYPE_MISMATCH
    assert "01234" in error.message
    assert (await rows(tmp_path, path="a.csv", schema={"zip": "string"}))[-1] == {"zip": "01234"}


async def test_a_pattern_joins_files_by_column_name(tmp_path: Path) -> None:
    for name, text in {"1": "a,b\n1,x\n", "2": "b,a\ny,2\n", "3": "", "4": "a,c\n3,z\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    assert await rows(tmp_path, path="*.csv") == [
        {"a": 1, "b": "x", "c": None},
        {"a": 2, "b": "y", "c": None},
        {"a": 3, "b": None, "c": "z"},
    ]


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl"])
async def test_an_empty_file_still_has_the_columns_that_were_declared_or_asked_for(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    declared = await read(tmp_path, path=name, schema={"id": "int", "day": "date"})
    assert (declared.schema.names, declared.schema.types) == (["id", "day"], [pa.int64(), pa.date32()])
    asked = await read(tmp_path, inputs={"scan": Scan(("id", "day"))}, path=name)
    assert (asked.schema.names, asked.schema.types) == (["id", "day"], [pa.null(), pa.null()])


async def test_a_header_without_rows_gives_columns_that_fit_any_join(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name\n")
    assert (await read(tmp_path, path="a.csv")).schema.types == [pa.null(), pa.null()]


@pytest.mark.parametrize(
    ("contract", "expected"),
    [
        ("evolve", Code.TYPE_MISMATCH),
        ("freeze", Code.SCHEMA_CHANGED),
        ("discard_row", [{"id": 1}]),
        ("discard_value", [{"id": 1}, {"id": None}]),
    ],
)
async def test_a_declared_schema_is_obeyed(
    tmp_path: Path, contract: str, expected: Code | list[dict[str, Any]]
) -> None:
    (tmp_path / "a.csv").write_text("id,more\n1,\nx,\n")
    configuration: dict[str, Any] = {"path": "a.csv", "schema": {"id": "int"}, "contract": contract}
    if isinstance(expected, Code):
        assert (await failed(tmp_path, **configuration)).code is expected
    else:
        assert await rows(tmp_path, **configuration) == expected


async def test_rows_are_kept_until_the_file_changes(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    context = Stand(folder=tmp_path)
    fire = file_node.bind("a", {"path": "a.csv"})
    first = (await fire({}, context))["rows"]
    assert (await fire({}, context))["rows"] is first
    assert [facts["cached"] for kind, facts in context.events if kind == "pulled"] == [False, True]
    (tmp_path / "a.csv").write_text("a\n2\n")
    assert (await fire({}, context))["rows"].to_pylist() == [{"a": 2}]


@pytest.mark.parametrize("limit", [{"max_rows": 100}, {"max_bytes": 1_000}])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.db"])
async def test_a_call_over_its_budget_ends(tmp_path: Path, name: str, limit: dict[str, Any]) -> None:
    values = range(5_000)
    (tmp_path / "a.csv").write_text("n\n" + "".join(f"{value}\n" for value in values))
    (tmp_path / "a.jsonl").write_text("".join(f'{{"n": {value}}}\n' for value in values))
    (tmp_path / "a.json").write_text(json.dumps([{"n": value} for value in values]))
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.execute("CREATE TABLE t (n INTEGER)")
        database.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    with pytest.raises(JackfieldError) as caught:
        await file_node.bind("a", {"path": name})({}, Stand(folder=tmp_path, **limit))
    assert caught.value.code is Code.BUDGET_EXCEEDED


async def test_json_that_is_none_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("<html>not found</html>")
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": \n')
    for name in ("a.json", "a.jsonl"):
        error = await failed(tmp_path, path=name)
        assert error.code is Code.SOURCE_BAD_REPLY
        assert name in error.message


async def test_an_unknown_suffix_asks_for_the_format(tmp_path: Path) -> None:
    (tmp_path / "a.data").write_text("a\n1\n")
    assert (await failed(tmp_path, path="a.data")).code is Code.CONFIG_INVALID
    assert await rows(tmp_path, path="a.data", format="csv") == [{"a": 1}]


async def test_a_line_as_long_as_memory_is_refused_while_it_is_unpacked(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.jsonl.gz", "wb", compresslevel=1) as file:
        file.write(b'{"a":"')
        for _ in range(60):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n')
    with pytest.raises(JackfieldError, match="a line of more than 32,000,000 bytes") as caught:
        await rows(tmp_path, path="a.jsonl.gz")
    assert caught.value.code is Code.BUDGET_EXCEEDED


async def test_a_file_that_unpacks_to_more_than_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jackfield.nodes.files.json.WHOLE_BYTES", 20_000_000)
    for name in ("a.json.gz", "a.jsonl.gz"):
        with gzip.open(tmp_path / name, "wb", compresslevel=1) as file:
            file.write(b"\n" * 40_000_000)
        with pytest.raises(JackfieldError, match="20,000,000 bytes when unpacked"):
            await rows(tmp_path, path=name)


async def test_a_cached_file_is_given_without_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    context = Stand(folder=tmp_path)
    fire = file_node.bind("orders", {"path": "a.csv"})
    await fire({}, context)
    monkeypatch.delattr("anyio.to_thread.run_sync")
    assert (await fire({}, context))["rows"].to_pylist() == [{"id": 1}]
