"""The commands beside `call`: new, lint, list, show, plan, run, save, eval, schema, doctor, demo."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import jsonschema  # type: ignore[import-untyped]
import pyarrow.parquet as pq
import pytest

from jackfield.surfaces.demo_world import TOKEN, live_api
from jackfield.surfaces.starters import TEMPLATES

from .conftest import Cli
from .test_call import ROWS, TOOLS, connector

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return connector(tmp_path, [{"id": "sales", "type": "rows", "rows": ROWS}], TOOLS)


@pytest.mark.parametrize("template", TEMPLATES)
def test_each_template_lints_without_a_finding_and_fits_the_schema(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("new", "Pet store", "--template", template).code == 0
    linted = cli("lint", "pet-store.connector.json", "--strict")
    assert linted.code == 0, linted.out
    document = json.loads((tmp_path / "pet-store.connector.json").read_text())
    assert document["slug"] == "pet-store"
    jsonschema.validate(document, cli("schema").json)


def test_new_never_writes_over_a_file_unless_told(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pets.connector.json").write_text("mine")
    assert cli("new", "pets").code == 2
    assert (tmp_path / "pets.connector.json").read_text() == "mine"
    assert cli("new", "pets", "--force").code == 0


def test_a_new_csv_connector_answers_and_exports_at_once(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("new", "readings").code == 0
    assert cli("call", "readings", "average_by_place", "--format", "json").json["row_count"] == 3
    exported = cli("call", "readings", "export_averages")
    assert exported.out == "3 rows saved (overwrite): ./out/averages.parquet\n"
    assert pq.read_table(tmp_path / "out" / "averages.parquet").num_rows == 3


@pytest.fixture
def faulty(shop: Path) -> Path:
    text = json.dumps(json.loads(shop.read_text()), indent=2)
    shop.write_text(text.replace("WHERE (:kind IS NULL", "WHERE (:knd IS NULL"))
    return shop


def test_lint_text_has_the_place_the_caret_and_the_hint(cli: Cli, faulty: Path) -> None:
    outcome = cli("lint", faulty)
    assert outcome.code == 1
    assert "error[PARAMETER_UNBOUND]" in outcome.out
    assert re.search(rf"{re.escape(str(faulty))}:\d+:\d+", outcome.out)
    assert "^^^" in outcome.out
    assert outcome.out.rstrip().endswith("1 error")


def test_lint_json_sarif_and_github_say_the_same(cli: Cli, faulty: Path) -> None:
    found = cli("lint", faulty, "--format", "json").json["findings"][0]
    sarif = cli("lint", faulty, "--format", "sarif").json
    result = sarif["runs"][0]["results"][0]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (result["ruleId"], region["startLine"], region["startColumn"]) == (
        found["code"],
        found["line"],
        found["column"],
    )
    assert sarif["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == found["code"]
    line = cli("lint", faulty, "--format", "github").out.splitlines()[0]
    assert line.startswith(f"::error file={faulty},line={found['line']},col={found['column']},title={found['code']}::")


def test_lint_online_knows_the_columns_that_a_source_really_has(cli: Cli, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("place,reading\nHill,1\n")
    tools = [{**TOOLS[0], "sql": "SELECT reding FROM places LIMIT 5", "parameters": []}]
    path = connector(tmp_path, [{"id": "places", "type": "csv", "path": "./places.csv"}], tools)
    assert cli("lint", path).code == 0
    online = cli("lint", path, "--online")
    assert online.code == 1
    assert "reding" in online.out
    assert "reading" in online.out


def test_list_and_show_give_signatures(cli: Cli, shop: Path) -> None:
    signature = "list_sales(kind: book|map?, since: date?, ids: int[]?, most: int = 100)"
    assert signature in cli("list").out
    assert signature in cli("show", "shop").out
    assert cli("list", "--format", "json").json[0]["tools"][0]["signature"] == signature
    entry = cli("show", "shop", "list_sales", "--format", "mcp").json
    assert entry["name"] == "list_sales"
    assert entry["annotations"]["readOnlyHint"] is True
    assert cli("show", "shop", "list_sale").code == 2


@pytest.mark.parametrize("format", ["tree", "mermaid", "svg", "json", "bgl"])
def test_plan_draws_the_graph_in_every_format(cli: Cli, shop: Path, format: str) -> None:
    outcome = cli("plan", "shop", "list_sales", "kind=book", "--format", format)
    assert outcome.code == 0
    begins = {"tree": "List sales", "mermaid": "flowchart", "svg": "<svg", "json": "{", "bgl": "{"}[format]
    assert begins in outcome.out[:200]
    assert "sales" in outcome.out


def test_plan_says_what_is_sent_and_what_is_not_and_why(cli: Cli, tmp_path: Path, shop: Path) -> None:
    source = {"id": "animals", "type": "rest", "url": "https://api.example.com/animals",
              "pushdown": {"species": {"param": "kind", "operators": ["="], "exact": True}}}  # fmt: skip
    tool = {**TOOLS[0], "sql": "SELECT name FROM animals WHERE species = :species AND age > :age AND lower(name) = 'x'",
            "parameters": [
                {"name": "species", "type": "string", "description": "Exact species", "required": True},
                {"name": "age", "type": "int", "description": "Age to be above", "required": True},
            ]}  # fmt: skip
    path = connector(tmp_path, [source], [tool])
    out = cli("plan", path, "list_sales", "species=cat", "age=3").out
    assert "GET https://api.example.com/animals?kind=cat" in out
    assert "not sent: age > …: the source declares no pushdown for 'age'" in out
    assert "lower(name)" in out.lower()
    assert "depends on the arguments" in cli("plan", path, "list_sales").out


def test_plan_analyze_adds_what_each_node_gave(cli: Cli, shop: Path) -> None:
    plan = cli("plan", "shop", "list_sales", "kind=book", "--analyze", "--format", "json").json
    assert plan["nodes"]["sales"]["rows"] == 3
    assert plan["nodes"]["sql"]["rows"] == 2
    assert plan["nodes"]["sql"]["ms"] > 0


def test_plan_never_runs_a_write(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cli("new", "readings")
    outcome = cli("plan", "readings", "export_averages", "--analyze")
    assert outcome.code == 2
    assert not (tmp_path / "out").exists()
    assert cli("plan", "readings", "export_averages").code == 0


def test_compile_prints_no_secret_that_stands_in_the_file(cli: Cli, tmp_path: Path) -> None:
    secret = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    document = {
        "name": "Leak",
        "slug": "leak",
        "version": "1.0.0",
        "sources": [{"id": "r", "type": "rest", "url": "http://a.example.com/", "headers": {"x-key": secret}}],
        "tools": [
            {
                "id": "t",
                "name": "t",
                "category": "READ",
                "description": "Return the rows of the service, for a test.",
                "sql": "SELECT * FROM r LIMIT 1",
                "parameters": [],
            }
        ],
    }
    path = tmp_path / "leak.connector.json"
    path.write_text(json.dumps(document))
    for arguments in ((path,), (path, "t"), (path, "t", "-o", tmp_path / "out.json")):
        outcome = cli("compile", *arguments)
        assert outcome.code != 0
        assert secret not in outcome.out + outcome.err
        assert "CONFIG_INVALID" in outcome.out + outcome.err
    assert not (tmp_path / "out.json").exists()
    assert cli("compile", path, "--hash").code == 0


def test_run_names_each_node_as_it_finishes(cli: Cli, shop: Path, tmp_path: Path) -> None:
    board = tmp_path / "board.bgl.json"
    assert cli("compile", "shop", "list_sales", "-o", board).code == 0
    outcome = cli("run", board, "kind=map", "--format", "json")
    assert outcome.json["rows"][0]["id"] == 2
    assert {"input", "sales", "sql", "output"} <= {line.split("  ")[0] for line in outcome.err.splitlines()}
    assert cli("run", "shop/list_sales", "kind=map", "--format", "json", "-q").json == outcome.json


def test_run_gives_every_output_of_a_graph(cli: Cli, tmp_path: Path) -> None:
    graph = {
        "nodes": [
            {"id": "input", "type": "input", "configuration": {"schema": {"properties": {"a": {"type": "integer"}}}}},
            {"id": "first", "type": "output"},
            {"id": "second", "type": "output"},
        ],
        "edges": [
            {"from": "input", "out": "a", "to": "first", "in": "x"},
            {"from": "input", "out": "a", "to": "second", "in": "y"},
        ],
    }
    (tmp_path / "two.bgl.json").write_text(json.dumps(graph))
    assert cli("run", tmp_path / "two.bgl.json", "a=3", "-q").json == {"first": {"x": 3}, "second": {"y": 3}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ndjson", '{"id": 1, "name": "a"}\n{"id": 2, "name": "b"}\n'),
        ("json", '[{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]'),
        ("csv", "id,name\n1,a\n2,b\n"),
    ],
)
def test_save_takes_rows_from_stdin_in_each_format(process: Cli, tmp_path: Path, name: str, text: str) -> None:
    outcome = process("save", "out/rows.parquet", "-", cwd=tmp_path, input=text)
    assert outcome.code == 0, outcome.err
    assert outcome.json["rows"] == 2
    assert pq.read_table(tmp_path / "out" / "rows.parquet").to_pylist() == [
        {"id": 1, "name": "a"},
        {"id": 2, "name": "b"},
    ]


def test_save_goes_into_a_connectors_save_by_key(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    saves = [
        {"id": "lake", "type": "duckdb", "path": "./lake.duckdb", "table": "sales", "mode": "upsert", "key": ["id"]}
    ]
    connector(tmp_path, [{"id": "sales", "type": "rows", "rows": ROWS}], TOOLS, saves=saves)
    (tmp_path / "a.csv").write_text("id,name\n1,a\n2,b\n")
    (tmp_path / "b.csv").write_text("id,name\n2,B\n3,c\n")
    for file in ("a.csv", "b.csv"):
        assert cli("save", "shop:lake", file).code == 0
    with duckdb.connect(str(tmp_path / "lake.duckdb"), read_only=True) as database:
        assert database.sql("SELECT * FROM sales ORDER BY id").fetchall() == [(1, "a"), (2, "B"), (3, "c")]
    unknown = cli("save", "shop:lak", "a.csv")
    assert (unknown.code, "lake" in unknown.err) == (2, True)


def test_a_repeated_save_with_one_key_happens_once(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    for repeated in (False, True):
        outcome = cli("save", tmp_path / "out.parquet", tmp_path / "a.csv", "--idempotency-key", "k1")
        assert outcome.json["repeated"] is repeated
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 1


def test_a_key_that_is_used_again_for_other_rows_is_another_save(cli: Cli, tmp_path: Path) -> None:
    """Nothing of the second file may be lost in silence."""
    target = tmp_path / "out.jsonl"
    for text, rows, repeated in (("id\n1\n", 1, False), ("id\n2\n3\n", 2, False), ("id\n1\n", 1, True)):
        (tmp_path / "a.csv").write_text(text)
        report = cli("save", target, tmp_path / "a.csv", "--idempotency-key", "k1").json
        assert (report["rows"], report["repeated"]) == (rows, repeated)
    assert target.read_text() == '{"id":1}\n{"id":2}\n{"id":3}\n'


CASES = """
name: Sales
connector: shop
version: 1.0.0
cases:
  - {id: books, tool_id: list_sales, arguments: {kind: book}, expect: {min_rows: 2, max_rows: 2}}
  - {id: wrong, tool_id: list_sales, arguments: {kind: map}, expect: {field_assertions: [{field: id, equals: 7}]}}
"""


def test_eval_exits_1_and_says_which_case_failed_and_why(cli: Cli, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "shop.eval.yaml").write_text(CASES)
    outcome = cli("eval", "shop", "--junit", tmp_path / "out" / "junit.xml")
    assert outcome.code == 1
    assert "1 passed, 1 failed" in outcome.out
    assert "7" in outcome.out
    suite = ElementTree.parse(tmp_path / "out" / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    (tmp_path / "shop.eval.yaml").write_text(CASES.replace("equals: 7", "equals: 2"))
    assert cli("eval", "shop", "--format", "json").json["suites"][0]["failed"] == 0


def test_schema_prints_kinds_and_answers_a_wrong_name_with_the_near_one(cli: Cli) -> None:
    assert "data_path" in cli("schema", "source", "rest").json["properties"]
    assert "sql" in cli("schema", "node", "sql").json["properties"]
    assert "path" in cli("schema", "save", "parquet").json["properties"]
    assert "call.timeout_s" in cli("schema", "settings").json
    near = cli("schema", "save", "parkett")
    assert (near.code, near.error["code"]) == (2, "TOOL_NOT_FOUND")
    assert "parquet" in near.error["hint"]


def test_doctor_names_the_variables_that_are_missing(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PETS_TOKEN", raising=False)
    monkeypatch.setenv("PETS_URL", "https://user:hidden-word@example.com")
    monkeypatch.setenv("JACKFIELD_CALL_TIMEOUT_S", "9")
    cli("new", "pets", "--template", "rest-bearer")
    outcome = cli("doctor")
    assert outcome.code == 1
    assert "missing: PETS_TOKEN, which pets needs" in outcome.err
    assert re.search(r"call\.timeout_s +9\.0 +\(from JACKFIELD_CALL_TIMEOUT_S\)", outcome.out)
    assert "hidden-word" not in outcome.out + outcome.err
    monkeypatch.setenv("PETS_TOKEN", "t")
    assert cli("doctor").code == 0


def test_the_demo_joins_plans_and_saves_in_silence_on_stderr(cli: Cli, tmp_path: Path) -> None:
    outcome = cli("demo", "--folder", tmp_path / "demo")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Nordics     282  36041.87" in outcome.out
    assert "?country=NO&country=SE&country=DE&country=FR" in outcome.out
    assert f"244 rows saved: {tmp_path / 'demo' / 'out' / 'revenue.parquet'}" in outcome.out
    assert pq.read_table(tmp_path / "demo" / "out" / "revenue.parquet").num_rows == 244
    assert cli("demo", "--folder", tmp_path / "demo").code == 0, "a second time, in the folder of the first"


def test_the_demo_leaves_a_strangers_folder_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert cli("demo", "--folder", tmp_path).code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_demos_own_cases_pass(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("demo", "--folder", tmp_path / "demo")
    monkeypatch.chdir(tmp_path / "demo")
    with live_api() as url:
        monkeypatch.setenv("SHOP_API", url)
        monkeypatch.setenv("SHOP_TOKEN", TOKEN)
        outcome = cli("eval", "shop")
    assert outcome.code == 0, outcome.out


def test_the_example_is_the_demos_connector() -> None:
    for name in ("shop.connector.json", "shop.eval.yaml", "data/regions.csv"):
        example: Any = (ROOT / "examples" / "shop" / name).read_bytes()
        assert example == (ROOT / "surfaces" / "demo" / name).read_bytes(), name


def test_the_examples_lint_without_a_finding_and_answer(cli: Cli) -> None:
    linted = cli("lint", ROOT / "examples", "--strict")
    assert linted.code == 0, linted.out
    assert cli("eval", ROOT / "examples" / "trips").code == 0
    rows = cli("call", ROOT / "examples" / "trips", "load_by_line", "since=2026-05-02", "--format", "json").json["rows"]
    assert [row["line"] for row in rows] == ["Harbour", "Island"]


def test_a_bare_word_is_a_slug_before_it_is_a_folder(cli: Cli, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    assert cli("call", "shop", "list_sales", "-q").code == 0
    (tmp_path / "pets").mkdir()
    connector(tmp_path / "pets", [{"id": "sales", "type": "rows", "rows": ROWS}], TOOLS)
    assert cli("call", "pets", "list_sales", "-q").code == 0
    assert cli("list", "shop").out.startswith("shop  Shop 1.0.0")
    assert cli("list", "shp").code == 2
