"""Connector in, graph out: whole documents.

Regenerate them by `JACKFIELD_GOLDENS=write .venv/bin/python -m pytest tests/connectors/test_goldens.py`.
"""

import json
import os
from pathlib import Path

import pytest

from jackfield.connectors.catalog import load
from jackfield.connectors.model import Skill, Tool
from jackfield.graphs.bgl import from_json, to_json
from jackfield.graphs.findings import Severity
from jackfield.nodes import registry
from jackfield.nodes.checking import check_graph

HERE = Path(__file__).parent
GOLDENS = HERE / "goldens"
FILES = sorted(path for folder in ("native", "second", "seed") for path in (HERE / folder).glob("*.connector.json"))


def exports(path: Path) -> list[Tool | Skill]:
    catalog = load(path)
    return [*catalog.tools, *catalog.skills]


def graphs(path: Path) -> dict[str, dict[str, object]]:
    return {found.key: to_json(found.graph) for found in exports(path)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_each_tool_and_skill_compiles_to_the_graph_that_was_reviewed(path: Path) -> None:
    golden = GOLDENS / path.name.replace(".connector.json", ".graphs.json")
    found = graphs(path)
    if os.environ.get("JACKFIELD_GOLDENS") == "write":
        golden.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    assert found == json.loads(golden.read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_a_compiled_graph_keeps_its_hash_over_bgl_and_over_compilations(path: Path) -> None:
    first, second = load(path), load(path)
    for one, other in zip(first.tools, second.tools, strict=True):
        assert one.graph.hash == other.graph.hash
        assert from_json(json.loads(json.dumps(to_json(one.graph)))).hash == one.graph.hash


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[0])
def test_the_kinds_of_nodes_accept_every_compiled_graph(path: Path) -> None:
    for found in exports(path):
        problems = [f for f in check_graph(found.graph, registry()) if f.severity is not Severity.INFO]
        assert problems == [], found.key
