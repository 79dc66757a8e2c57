import json
from pathlib import Path

import pytest

from jackfield.connectors import catalog
from jackfield.graphs.bgl import from_json
from jackfield.graphs.findings import Severity
from jackfield.graphs.model import Json
from jackfield.graphs.positions import caret, read
from jackfield.nodes import NODE_TYPES, registry
from jackfield.nodes.checking import check_graph

ROOT = Path(__file__).parents[2]
BOARD: Json = {
    "nodes": [
        {"id": "in", "type": "input", "configuration": {"schema": {"properties": {"user": {"type": "object"}}}}},
        {"id": "pick", "type": "select", "configuration": {"path": "name"}},
        {"id": "text", "type": "template", "configuration": {"template": "Hello {{name}}"}},
        {"id": "out", "type": "output"},
    ],
    "edges": [
        {"from": "in", "out": "user", "to": "pick", "in": "value"},
        {"from": "pick", "out": "value", "to": "text", "in": "name"},
        {"from": "text", "out": "text", "to": "out", "in": "text"},
    ],
}


def with_node(index: int, **configuration: Json) -> Json:
    board: Json = json.loads(json.dumps(BOARD))
    board["nodes"][index]["configuration"] = configuration
    return board


def test_a_sound_graph_of_real_kinds_has_no_findings() -> None:
    assert check_graph(from_json(BOARD), registry()) == ()


@pytest.mark.parametrize(
    ("board", "pointer", "message", "hint"),
    [
        (with_node(1, pth="x"), "/nodes/1/configuration/path", "'path' is missing", "Fields: 'path', 'required'."),
        (with_node(1, path="x", requird=1), "/nodes/1/configuration/requird", "no field 'requird'", "'required'?"),
        (with_node(1, path="x["), "/nodes/1/configuration/path", "not a JMESPath expression", ""),
        (with_node(2, template=7), "/nodes/2/configuration/template", "valid string", ""),
    ],
)
def test_a_wrong_configuration_is_found_at_its_field(board: Json, pointer: str, message: str, hint: str) -> None:
    found = [f for f in check_graph(from_json(board), registry()) if f.code == "CONFIG_INVALID"]
    assert pointer in [f.place.pointer for f in found]
    fault = next(f for f in found if f.place.pointer == pointer)
    assert message in fault.message
    assert hint in fault.hint


def test_a_missing_field_may_come_by_wire() -> None:
    board = with_node(2)
    del board["nodes"][2]["configuration"]
    board["edges"].append({"from": "pick", "out": "value", "to": "text", "in": "template"})
    assert check_graph(from_json(board), registry()) == ()


def test_a_finding_can_be_shown_with_its_line() -> None:
    text = json.dumps(with_node(1, path="x", requird=1), indent=2)
    document = read(text, "hello.bgl.json")
    (fault,) = check_graph(from_json(document.value), registry(), file="hello.bgl.json", document=document)
    frame = caret(fault, text).splitlines()
    assert frame[0] == "error[CONFIG_INVALID]: Node 'pick' (select): there is no field 'requird'."
    assert frame[3].strip().endswith('"requird": 1')
    assert frame[5].endswith("Did you mean 'required'?")


FILES = sorted(
    path for room in ("tests/connectors", "surfaces", "examples") for path in (ROOT / room).rglob("*.connector.json")
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_graphs_that_connector_files_compile_to_pass_every_check(path: Path) -> None:
    for connector in catalog.load([path]).connectors.values():
        for tool in connector.tools.values():
            assert check_graph(tool.graph, registry()) == (), tool.id


def test_every_kind_has_a_name_of_its_own_and_a_description() -> None:
    names = [kind.name for kind in NODE_TYPES]
    assert len(set(names)) == len(names)
    assert [kind.name for kind in NODE_TYPES if not kind.description] == []


def test_a_field_of_map_that_is_nearly_one_of_its_own_is_warned_of() -> None:
    text = """{"nodes": [{"id": "input", "type": "input"},
      {"id": "each", "type": "map", "configuration": {"tool": "zoo/find", "colunm": "id", "species": "cat"}},
      {"id": "output", "type": "output"}],
      "edges": [{"from": "input", "out": "rows", "to": "each", "in": "items"},
                {"from": "each", "out": "rows", "to": "output", "in": "rows"}]}"""
    document = read(text)
    found = check_graph(from_json(document.value), registry(), document=document)
    (warned,) = [one for one in found if one.code == "CONFIG_INVALID"]
    assert (warned.severity, warned.hint) == (Severity.WARNING, "Did you mean 'column'?")
    assert warned.place.pointer == "/nodes/1/configuration/colunm"
