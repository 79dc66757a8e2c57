"""A tool that is called READ reads: lint looks into its graph, and at the tools which that calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jackfield.connectors.lint import lint, lint_all
from jackfield.graphs.findings import Finding, Severity

OUT = {"id": "out", "type": "output"}
SAVE = {"id": "file", "type": "csv", "path": "out.csv"}
WRITER = {
    "id": "keep_rows",
    "name": "Keep rows",
    "category": "WRITE",
    "description": "Save the rows that there are.",
    "sql": "SELECT n FROM numbers",
    "save": {"to": "file"},
    "parameters": [],
}
STATEMENT = {"engine": "postgres", "dsn": "{{ env:DB }}", "sql": "DELETE FROM t WHERE x = 1"}


def graph(kind: str, configuration: dict[str, Any]) -> dict[str, Any]:
    edges = [{"from": "t", "to": "out", "out": "*", "in": ""}]
    return {"nodes": [{"id": "t", "type": kind, "configuration": configuration}, OUT], "edges": edges}


def document(given: dict[str, Any] | str, *more: dict[str, Any], slug: str = "shop", **parts: Any) -> str:
    peek: dict[str, Any] = {
        "id": "peek_rows",
        "name": "Peek",
        "category": "READ",
        "description": "Return the rows that there are.",
        "graph": given,
        "parameters": [],
    }
    whole = {
        "name": "Shop",
        "slug": slug,
        "version": "1.0.0",
        "sources": [{"id": "numbers", "type": "rows", "rows": [{"n": 1}]}],
        "saves": [SAVE],
        "tools": [peek, *more],
        **parts,
    }
    return json.dumps(whole)


def contradicted(text: str, **options: Any) -> list[Finding]:
    found = lint(text, path=Path("shop.connector.json"), **options)
    return [finding for finding in found if finding.code == "CATEGORY_CONTRADICTED"]


@pytest.mark.parametrize(
    ("kind", "configuration"),
    [
        ("statement", STATEMENT),
        ("save", {"type": "csv", "path": "x.csv"}),
        ("request", {"url": "https://api.example.com/x"}),
        ("request", {"url": "https://api.example.com/x", "method": "DELETE"}),
        ("tool", {"tool": "keep_rows"}),
        ("tool", {"tool": "shop/keep_rows"}),
        ("map", {"tool": "keep_rows"}),
        ("tool", {"tool": "both_skill"}),
        ("skill", {"prompt": "Go.", "tools": [{"id": "keep_rows"}]}),
    ],
)
def test_a_graph_of_a_read_tool_that_changes_something_is_an_error_at_the_node(
    kind: str, configuration: dict[str, Any]
) -> None:
    skill = {
        "id": "both_skill",
        "name": "Both",
        "description": "Save the rows, and tell of them.",
        "steps": [{"alias": "kept", "tool_id": "keep_rows"}],
    }
    (finding,) = contradicted(document(graph(kind, configuration), WRITER, skills=[skill]))
    assert finding.severity is Severity.ERROR
    assert finding.place.pointer == "/tools/0/graph/nodes/0"
    assert "'peek_rows'" in finding.message
    assert f"'t' ({kind})" in finding.message


def test_what_only_reads_is_no_finding() -> None:
    reader = {**WRITER, "id": "list_rows", "category": "READ"}
    del reader["save"]
    for given in (
        graph("request", {"url": "https://api.example.com/x", "method": "GET"}),
        graph("rows", {"rows": [{"n": 1}]}),
        graph("tool", {"tool": "list_rows"}),
    ):
        assert contradicted(document(given, reader)) == []


def test_a_sub_graph_and_a_file_of_a_graph_are_looked_into(tmp_path: Path) -> None:
    inner = graph("statement", STATEMENT)
    outer = {**graph("invoke", {"$board": "#deep"}), "graphs": {"deep": inner}}
    (finding,) = contradicted(document(outer))
    assert finding.place.pointer == "/tools/0/graph/graphs/deep/nodes/0"
    (tmp_path / "peek.bgl.json").write_text(json.dumps(inner))
    found = lint(document("peek.bgl.json"), path=tmp_path / "shop.connector.json")
    assert "CATEGORY_CONTRADICTED" in [finding.code for finding in found]


def test_a_writing_tool_of_another_connector_is_found_where_both_are_looked_at(tmp_path: Path) -> None:
    shop, other = tmp_path / "a.connector.json", tmp_path / "b.connector.json"
    shop.write_text(document(graph("tool", {"tool": "stock/keep_rows"})))
    other.write_text(document(graph("rows", {"rows": [{"n": 1}]}), WRITER, slug="stock", prefix=True))
    assert "CATEGORY_CONTRADICTED" not in [finding.code for finding in lint(shop)]
    found = [one for one in lint_all([shop, other]).findings if one.code == "CATEGORY_CONTRADICTED"]
    assert [one.place.file for one in found] == [str(shop)]
    assert "'stock/keep_rows'" in found[0].message
