"""The catalog: what is found, what is served, and what is said of the rest."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from connector_documents import Change, drop, put, sound, text, written

from jackfield.connectors.catalog import Catalog, load
from jackfield.connectors.reading import read_text
from jackfield.graphs.errors import Code, JackfieldError

BOARD = {
    "title": "Echo",
    "nodes": [
        {"id": "in", "type": "input", "configuration": {"schema": {"properties": {"word": {"type": "string"}}}}},
        {"id": "out", "type": "output"},
    ],
    "edges": [{"from": "in", "out": "word", "to": "out", "in": "word"}],
}


def named(catalog: Catalog) -> list[str]:
    return [finding.code for finding in catalog.findings]


def test_a_file_a_folder_and_a_glob_give_the_same_connector(tmp_path: Path) -> None:
    path = written(tmp_path)
    for given in (path, tmp_path, tmp_path / "*.json", str(path), [path, tmp_path]):
        assert list(load(given).connectors) == ["zoo"]


def test_a_workspace_is_searched_where_connectors_are(tmp_path: Path) -> None:
    (tmp_path / "connectors").mkdir()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / ".hidden").mkdir()
    written(tmp_path / "connectors", name="plain.json")
    written(tmp_path / "deep" / "er", put("slug", "deep"))
    written(tmp_path / ".hidden", put("slug", "hidden"))
    written(tmp_path / "deep", put("slug", "unnamed"), name="data.json")
    assert sorted(load(tmp_path).connectors) == ["deep", "zoo"]


def test_other_json_of_a_folder_is_passed_over_and_a_named_one_is_not(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "data.json").write_text("[1, 2]")
    assert named(load(tmp_path)) == []
    assert named(load(tmp_path / "data.json")) == ["FORMAT_UNKNOWN"]


def test_a_path_that_is_not_there_names_the_near_file(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(JackfieldError) as caught:
        load(tmp_path / "zo.connector.json")
    assert caught.value.code is Code.CONFIG_INVALID
    assert "zoo.connector.json" in caught.value.hint


def test_of_two_files_with_one_slug_the_first_by_path_is_served(tmp_path: Path) -> None:
    written(tmp_path, name="b.connector.json")
    first = written(tmp_path, put("name", "First"), name="a.connector.json")
    catalog = load(tmp_path)
    assert catalog.connector("zoo").path == first
    (finding,) = catalog.findings
    assert finding.code == "DUPLICATE_SLUG"
    assert finding.place.file.endswith("b.connector.json")


def test_a_broken_file_does_not_keep_the_others_from_being_served(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "broken.connector.json").write_text('{ "name": ')
    written(tmp_path, put("slug", "x y"), name="misfit.connector.json")
    catalog = load(tmp_path)
    assert list(catalog.connectors) == ["zoo"]
    assert named(catalog) == ["JSON_SYNTAX", "INVALID_VALUE"]


def test_a_name_that_is_not_there_is_answered_with_the_near_one(tmp_path: Path) -> None:
    catalog = load(written(tmp_path))
    for ask, near in (
        (lambda: catalog.connector("zo"), "zoo"),
        (lambda: catalog.tool("zoo", "list_animal"), "list_animals"),
        (lambda: catalog.skill("zoo", "reports"), "report"),
        (lambda: catalog.resolve("zoo/feed_animals"), "feed_animal"),
    ):
        with pytest.raises(JackfieldError) as caught:
            ask()
        assert caught.value.code is Code.TOOL_NOT_FOUND
        assert caught.value.hint == f"Did you mean '{near}'?"


def test_a_tool_is_resolved_within_its_connector_and_beyond(tmp_path: Path) -> None:
    catalog = load(written(tmp_path))
    assert catalog.resolve("list_animals", within="zoo") is catalog.resolve("zoo/list_animals")


def test_a_tool_is_called_by_its_id_or_with_the_slug_before_it(tmp_path: Path) -> None:
    assert load(written(tmp_path)).tool("zoo", "list_animals").name == "list_animals"
    prefixed = load(written(tmp_path, put("prefix", True), put("slug", "my-zoo")))
    assert prefixed.tool("my-zoo", "list_animals").name == "my_zoo_list_animals"


def test_parameters_become_a_closed_schema() -> None:
    parameters = [
        {"name": "species", "type": "string", "description": "Species", "enum": ["cat", "dog"], "required": False},
        {"name": "since", "type": "date", "description": "First day"},
        {"name": "until", "type": "datetime", "default": "2026-01-01T00:00:00Z"},
        {"name": "least", "type": "float", "minimum": 0, "maximum": 9.5, "required": True},
        {"name": "ids", "type": "array", "items": "int"},
        {"name": "loud", "type": "bool", "required": False},
        {"name": "pin", "type": "string", "sensitive": True},
        {"name": "more", "type": "object", "required": False},
    ]
    reading = read_text(text(put("tools/0/parameters", parameters)))
    assert reading is not None
    assert reading.connector is not None
    assert reading.connector.tools["list_animals"].input_schema == {
        "type": "object",
        "properties": {
            "species": {"type": "string", "enum": ["cat", "dog"], "description": "Species"},
            "since": {"type": "string", "format": "date", "description": "First day"},
            "until": {"type": "string", "format": "date-time", "default": "2026-01-01T00:00:00Z"},
            "least": {"type": "number", "minimum": 0, "maximum": 9.5},
            "ids": {"type": "array", "items": {"type": "integer"}},
            "loud": {"type": "boolean"},
            "pin": {"type": "string", "x-sensitive": True},
            "more": {"type": "object"},
        },
        "required": ["since", "least", "ids", "pin"],
        "additionalProperties": False,
    }


def test_annotations_follow_the_category_the_request_and_what_the_author_says(tmp_path: Path) -> None:
    tools = load(written(tmp_path)).connector("zoo").tools
    reads = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True}
    assert tools["list_animals"].annotations == {**reads, "openWorldHint": True}
    assert tools["find_keeper"].annotations == {**reads, "openWorldHint": False}
    feed = tools["feed_animal"].annotations
    assert feed == {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": True}
    assert tools["export_animals"].annotations["idempotentHint"] is True
    assert [tool.writes for tool in tools.values()] == [False, True, True, False]
    deleting = put("tools/1/request/method", "DELETE")
    assert load(written(tmp_path, deleting)).tool("zoo", "feed_animal").annotations["destructiveHint"] is True
    said = put("tools/1/destructive", False)
    assert load(written(tmp_path, deleting, said)).tool("zoo", "feed_animal").annotations["destructiveHint"] is False


def test_a_bare_graph_is_a_connector_of_one_tool(tmp_path: Path) -> None:
    path = tmp_path / "Say hello.bgl.json"
    path.write_text(json.dumps(BOARD))
    (tool,) = load(path).tools
    assert (tool.key, tool.title) == ("say-hello/say_hello", "Echo")
    assert tool.input_schema["properties"] == {"word": {"type": "string"}}
    assert [node.id for node in tool.graph.nodes] == ["in", "out"]


@pytest.mark.parametrize(
    ("kind", "category"), [("rows", "READ"), ("request", "ACTION"), ("tool", "ACTION"), ("x", "ACTION")]
)
def test_a_bare_graph_reads_unless_a_node_may_write(tmp_path: Path, kind: str, category: str) -> None:
    path = tmp_path / "some.bgl.json"
    path.write_text(json.dumps({"nodes": [{"id": "n", "type": kind}], "edges": []}))
    (tool,) = load(path).tools
    assert tool.category == category


def test_a_tool_that_is_a_graph_takes_what_the_graph_asks_for(tmp_path: Path) -> None:
    board = [drop("tools/1/request"), put("tools/1/graph", BOARD), put("tools/1/parameters", [])]
    tool = load(written(tmp_path, *board)).tool("zoo", "feed_animal")
    assert list(tool.input_schema["properties"]) == ["word"]
    (tmp_path / "echo.bgl.json").write_text(json.dumps(BOARD))
    named = [drop("tools/1/request"), put("tools/1/graph", "echo.bgl.json"), put("tools/1/parameters", [])]
    assert load(written(tmp_path, *named)).tool("zoo", "feed_animal").graph.hash == tool.graph.hash


def test_a_graph_file_outside_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "echo.bgl.json").write_text(json.dumps(BOARD))
    path = written(tmp_path / "inner", drop("tools/1/request"), put("tools/1/graph", "../echo.bgl.json"))
    with pytest.raises(JackfieldError) as caught:
        _ = load(path).tool("zoo", "feed_animal").graph
    assert caught.value.code is Code.CONFIG_INVALID


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ([put("tools/0/sql", "SELECT 1 FROM animls LIMIT 1")], Code.QUERY_INVALID, "animls"),
        ([put("tools/0/sql", "SELEC")], Code.QUERY_INVALID, ""),
        ([put("tools/2/save", {"to": "lakes"})], Code.CONFIG_INVALID, "lakes"),
        ([put("tools/3/at", "animals")], Code.CONFIG_INVALID, "rest source"),
        ([put("tools/3/at", "nowhere")], Code.CONFIG_INVALID, "nowhere"),
        ([drop("tools/0/sql")], Code.CONFIG_INVALID, "0 sources"),
    ],
)
def test_a_tool_that_cannot_be_compiled_says_why_and_the_others_serve(
    tmp_path: Path, changes: list[Change], code: Code, words: str
) -> None:
    failures: list[JackfieldError] = []
    for tool in load(written(tmp_path, *changes)).tools:
        try:
            _ = tool.graph
        except JackfieldError as error:
            failures.append(error)
    (failure,) = failures
    assert failure.code is code
    assert words in failure.message


def test_a_hundred_connectors_load_in_well_under_a_second(tmp_path: Path) -> None:
    document = sound()
    for number in range(100):
        document["slug"] = f"zoo-{number}"
        (tmp_path / f"{number}.connector.json").write_text(json.dumps(document))
    load(tmp_path / "0.connector.json")
    began = time.perf_counter()
    catalog = load(tmp_path)
    took = time.perf_counter() - began
    assert len(catalog.connectors) == 100
    assert took < 1.0  # 0.15 s on the machine this was written on


def test_loading_and_linting_import_neither_duckdb_nor_arrow_nor_mcp_nor_networkx(tmp_path: Path) -> None:
    path = written(tmp_path)
    program = (
        "import sys; from jackfield.connectors.catalog import load; from jackfield.connectors.lint import lint_all\n"
        f"load({str(path)!r}); early = 'sqlglot' in sys.modules; lint_all({str(path)!r})\n"
        "print(early, [n for n in ('duckdb', 'pyarrow', 'mcp', 'networkx', 'asyncmy', 'httpx2') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
