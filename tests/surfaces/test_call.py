"""`jackfield call`: rows to stdout in every format, everything else to stderr, typed arguments, exit codes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .conftest import Cli

TOOLS = [
    {
        "id": "list_sales",
        "name": "List sales",
        "category": "READ",
        "description": "Return sales of one kind since a day, each with its note.",
        "sql": "SELECT id, kind, day::DATE AS day, total::DECIMAL(10, 2) AS total, note FROM sales "
        "WHERE (:kind IS NULL OR kind = :kind) AND (:since IS NULL OR day::DATE >= :since) "
        "AND (:ids IS NULL OR id IN (:ids)) ORDER BY id LIMIT :most",
        "parameters": [
            {"name": "kind", "type": "string", "description": "Exact kind to keep", "enum": ["book", "map"],
             "required": False},
            {"name": "since", "type": "date", "description": "First day returned", "required": False},
            {"name": "ids", "type": "array", "items": "int", "description": "Ids to keep", "required": False},
            {"name": "most", "type": "int", "description": "Most rows returned", "default": 100, "minimum": 1},
        ],
    },
]  # fmt: skip
ROWS = [
    {"id": 1, "kind": "book", "day": "2026-03-01", "total": 10.1, "note": "plain"},
    {"id": 2, "kind": "map", "day": "2026-03-02", "total": 7.0, "note": None},
    {"id": 3, "kind": "book", "day": "2026-03-03", "total": 3.25, "note": 'comma, "quote"\nand line'},
]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return connector(tmp_path, [{"id": "sales", "type": "rows", "rows": ROWS}], TOOLS)


def connector(folder: Path, sources: list[Any], tools: list[Any], **more: Any) -> Path:
    document: Mapping[str, Any] = {
        "name": "Shop", "slug": "shop", "version": "1.0.0", "sources": sources, "tools": tools, **more,
    }  # fmt: skip
    path = folder / "shop.connector.json"
    path.write_text(json.dumps(document))
    return path


def test_a_table_goes_to_stdout_and_the_statistics_to_stderr(cli: Cli, shop: Path) -> None:
    outcome = cli("call", shop, "list_sales", "kind=book")
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        "id  kind  day         total  note",
        "──  ────  ──────────  ─────  ────────────────────────",
        " 1  book  2026-03-01  10.10  plain",
        ' 3  book  2026-03-03   3.25  comma, "quote"\\nand line',
    ]
    assert outcome.err.startswith("2 rows · ")


def test_quiet_says_nothing_but_rows(cli: Cli, shop: Path) -> None:
    assert cli("call", shop, "list_sales", "-q").err == ""


def test_json_is_the_whole_result_object(cli: Cli, shop: Path) -> None:
    result = cli("call", shop, "list_sales", "ids=1,2", "--format", "json").json
    assert result == {
        "rows": [
            {"id": 1, "kind": "book", "day": "2026-03-01", "total": "10.10", "note": "plain"},
            {"id": 2, "kind": "map", "day": "2026-03-02", "total": "7.00", "note": None},
        ],
        "row_count": 2,
        "truncated": False,
        "total_rows": 2,
        "truncation_reason": None,
        "next_cursor": None,
    }


def test_ndjson_is_a_row_a_line(cli: Cli, shop: Path) -> None:
    lines = cli("call", shop, "list_sales", "--format", "ndjson").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [1, 2, 3]


def test_csv_reads_back_as_the_same_text(cli: Cli, shop: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("call", shop, "list_sales", "--format", "csv").out)))
    assert rows[2] == {"id": "3", "kind": "book", "day": "2026-03-03", "total": "3.25", "note": ROWS[2]["note"]}
    assert rows[1]["note"] == ""


def test_parquet_and_arrow_keep_their_types_in_a_file(cli: Cli, shop: Path, tmp_path: Path) -> None:
    for name in ("out/sales.parquet", "out/sales.arrow"):
        outcome = cli("call", shop, "list_sales", "-o", tmp_path / name)
        assert outcome.code == 0
        assert outcome.out == ""
    rows = pq.read_table(tmp_path / "out/sales.parquet").to_pylist()
    assert rows[0] == {"id": 1, "kind": "book", "day": date(2026, 3, 1), "total": Decimal("10.10"), "note": "plain"}
    with pa.ipc.open_stream((tmp_path / "out/sales.arrow").read_bytes()) as stream:
        assert stream.read_all().to_pylist() == rows
    assert [path.name for path in sorted((tmp_path / "out").iterdir())] == ["sales.arrow", "sales.parquet"]


def test_parquet_goes_to_a_pipe_as_bytes(shop: Path) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "jackfield.surfaces.cli", "call", str(shop), "list_sales", "--format", "parquet"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert pq.read_table(pa.BufferReader(done.stdout)).num_rows == 3


def test_a_slug_finds_the_connector_of_the_workspace(cli: Cli, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.parent)
    assert cli("call", "shop", "list_sales", "ids=2", "--format", "json").json["rows"][0]["id"] == 2


def test_arguments_are_typed_by_the_schema_and_by_args_json(cli: Cli, shop: Path, tmp_path: Path) -> None:
    assert cli("call", shop, "list_sales", "since=2026-03-02", "most=1", "--format", "json").json["row_count"] == 1
    typed = cli("call", shop, "list_sales", "--args", '{"ids": [3], "kind": "book"}', "--format", "json")
    assert typed.json["rows"][0]["id"] == 3
    (tmp_path / "a.json").write_text('{"ids": [3, 1]}')
    assert (
        cli("call", shop, "list_sales", "--args", f"@{tmp_path / 'a.json'}", "--format", "json").json["row_count"] == 2
    )


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["kind=boat"], "VALIDATION_INVALID_PARAMS", "kind"),
        (["most=many"], "VALIDATION_INVALID_PARAMS", "most"),
        (["most=0"], "VALIDATION_INVALID_PARAMS", "at least 1"),
        (["since=2026-02-30"], "VALIDATION_INVALID_PARAMS", "since"),
        (["knd=book"], "VALIDATION_INVALID_PARAMS", "knd"),
        (["book"], "VALIDATION_INVALID_PARAMS", "name=value"),
        (["--args", "{"], "VALIDATION_INVALID_PARAMS", "--args"),
        (["--args", "[]"], "VALIDATION_INVALID_PARAMS", "object"),
    ],
)
def test_wrong_arguments_exit_2_and_say_what_was_expected(
    cli: Cli, shop: Path, arguments: list[str], code: str, says: str
) -> None:
    outcome = cli("call", shop, "list_sales", *arguments, "--format", "json")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.error["code"] == code
    assert says in outcome.error["message"] + outcome.error["hint"]
    plain = cli("call", shop, "list_sales", *arguments)
    assert plain.code == 2
    assert plain.err.startswith(f"{code}: ")


def test_an_unknown_tool_and_connector_are_answered_with_the_near_name(cli: Cli, shop: Path) -> None:
    tool = cli("call", shop, "list_sale", "--format", "json")
    assert (tool.code, tool.error["code"]) == (2, "TOOL_NOT_FOUND")
    assert "list_sales" in tool.error["hint"]
    missing = cli("call", shop.parent / "shp.connector.json", "list_sales")
    assert missing.code == 1
    assert "shop.connector.json" in missing.err


def test_a_broken_file_shows_its_line_with_a_caret(cli: Cli, shop: Path) -> None:
    shop.write_text('{\n  "name": "Shop",\n  "slug": "shop"\n  "version": "1.0.0"\n}\n')
    outcome = cli("call", shop, "list_sales")
    assert outcome.code == 1
    assert "shop.connector.json:3:16" in outcome.err
    assert "^" in outcome.err


def test_a_slug_whose_file_is_broken_is_answered_with_what_is_wrong(
    cli: Cli, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.parent)
    shop.write_text('{"name": "Shop",}')
    outcome = cli("call", "shop", "list_sales")
    assert outcome.code == 1
    assert "shop.connector.json:1:" in outcome.err
    assert cli("call", "other", "list_sales").code == 2


def test_what_an_upstream_wrote_can_not_steer_the_terminal(cli: Cli, tmp_path: Path) -> None:
    rows = [{"id": 1, "note": "\x1b[2Jgone\x07"}]
    tools = [{"id": "list_all", "name": "List all", "category": "READ", "description": "Return every note there is.",
              "sql": "SELECT note FROM notes LIMIT 5", "parameters": []}]  # fmt: skip
    outcome = cli("call", connector(tmp_path, [{"id": "notes", "type": "rows", "rows": rows}], tools), "list_all")
    assert "\x1b" not in outcome.out
    assert "\\x1b[2Jgone\\x07" in outcome.out


def test_a_reader_that_leaves_ends_the_command_quietly(shop: Path, tmp_path: Path) -> None:
    import subprocess
    import sys

    tools = [{"id": "count_up", "name": "Count up", "category": "READ", "description": "Return many numbers in a row.",
              "sql": "SELECT n AS number FROM sales, range(200000) r(n) LIMIT 200000", "parameters": []}]  # fmt: skip
    path = connector(tmp_path, [{"id": "sales", "type": "rows", "rows": ROWS}], tools)
    command = f"{sys.executable} -m jackfield.surfaces.cli call {path} count_up --format ndjson -q | head -n 2"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == ""


def test_a_cursor_goes_on_in_exactly_the_rows_that_were_found(
    cli: Cli, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.parent)
    first = cli("call", "shop", "list_sales", "--limit", 2, "--format", "json").json
    assert [row["id"] for row in first["rows"]] == [1, 2]
    assert (first["truncated"], first["total_rows"], first["truncation_reason"]) == (True, 3, "page_size")
    shop.write_text(shop.read_text().replace('"id": 3', '"id": 99'))  # later rows do not reach an answer that was given
    rest = cli("call", "shop", "list_sales", "--cursor", first["next_cursor"], "--format", "json").json
    assert [row["id"] for row in rest["rows"]] == [3]
    assert rest["next_cursor"] is None


def test_a_cursor_of_another_tool_or_of_no_answer_is_refused(
    cli: Cli, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop.parent)
    assert cli("call", "shop", "list_sales", "--cursor", "nonsense").code == 2
    cursor = cli("call", "shop", "list_sales", "--limit", 1, "--format", "json").json["next_cursor"]
    for kept in (shop.parent / ".jackfield" / "results").iterdir():
        kept.unlink()
    gone = cli("call", "shop", "list_sales", "--cursor", cursor, "--format", "json")
    assert (gone.code, gone.error["code"]) == (2, "RESULT_EXPIRED")


LINES = {"id": "lines", "type": "file", "path": "lines.csv", "schema": {"n": "integer"}}
ALL_LINES = {**TOOLS[0], "id": "all_lines", "name": "All lines", "sql": "SELECT n FROM lines", "parameters": []}


@pytest.mark.parametrize("suffix", ["csv", "ndjson", "arrow", "parquet"])
def test_many_rows_stream_into_a_file(cli: Cli, tmp_path: Path, suffix: str) -> None:
    (tmp_path / "lines.csv").write_text("n\n" + "".join(f"{number}\n" for number in range(200_000)))
    target = tmp_path / f"out.{suffix}"
    outcome = cli("call", connector(tmp_path, [LINES], [ALL_LINES]), "all_lines", "-o", target)
    assert outcome.code == 0
    assert outcome.err.startswith("200,000 rows · pulled: lines 200,000 · ")
    found: list[Any]
    match suffix:
        case "csv":
            found = [int(row["n"]) for row in csv.DictReader(io.StringIO(target.read_text()))]
        case "ndjson":
            found = [json.loads(line)["n"] for line in target.read_text().splitlines()]
        case "arrow":
            found = pa.ipc.open_stream(target.read_bytes()).read_all()["n"].to_pylist()
        case _:
            found = pq.read_table(target)["n"].to_pylist()
    assert sorted(found) == list(range(200_000))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_an_error_within_the_rows_leaves_no_file_and_the_old_one_as_it_was(
    cli: Cli, tmp_path: Path, suffix: str
) -> None:
    (tmp_path / "lines.csv").write_text("n\n" + "".join(f"{number}\n" for number in range(500_000)))
    failing = {**ALL_LINES, "sql": "SELECT CAST(CASE n WHEN 490000 THEN 'wrong' ELSE '1' END AS INTEGER) FROM lines"}
    target = tmp_path / f"out.{suffix}"
    target.write_text("as it was")
    outcome = cli("call", connector(tmp_path, [LINES], [failing]), "all_lines", "-o", target)
    assert outcome.code == 3
    assert "TYPE_MISMATCH" in outcome.err
    assert "wrong" in outcome.err
    assert target.read_text() == "as it was"
    assert [path.name for path in tmp_path.glob("out*")] == [target.name]


def test_a_graph_that_runs_streams_into_a_file_too(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "lines.csv").write_text("n\n" + "".join(f"{number}\n" for number in range(200_000)))
    target = tmp_path / "out.parquet"
    outcome = cli("run", connector(tmp_path, [LINES], [ALL_LINES]), "-o", target)
    assert outcome.code == 0
    assert "200,000 rows · " in outcome.err
    assert pq.read_table(target)["n"].to_pylist() == list(range(200_000))
