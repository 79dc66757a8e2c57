"""The quality score: the share of checks that each tool passes."""

from pathlib import Path

import pytest
from connector_documents import Change, put, written

from jackfield.connectors.catalog import load
from jackfield.connectors.quality import GATE, Quality, quality

TOOL = "tools/0"


def scored(folder: Path, *changes: Change) -> Quality:
    return quality(load(written(folder, *changes)).connector("zoo"))


def test_a_sound_connector_scores_full_marks(tmp_path: Path) -> None:
    found = scored(tmp_path)
    assert (found.score, found.passed) == (100.0, True)


@pytest.mark.parametrize(
    ("check", "changes"),
    [
        ("min_length", [put(f"{TOOL}/description", "List animals")]),
        ("starts_with_verb", [put(f"{TOOL}/description", "Animals of one species, at most 100.")]),
        ("no_jargon", [put(f"{TOOL}/description", "Return rows of the animal table.")]),
        ("has_params_described", [put(f"{TOOL}/parameters/0/description", "")]),
        ("enum_for_closed_set", [put(f"{TOOL}/parameters/0/description", "One of cat or dog")]),
        ("no_generic_names", [put(f"{TOOL}/id", "query")]),
        ("pagination", [put(f"{TOOL}/sql", "SELECT id FROM animals WHERE species = :species")]),
        ("mutation_hint", [put("tools/1/description", "Run the feeding of one animal")]),
        ("danger_zone_classified", [put("tools/1/id", "remove_animal")]),
    ],
)
def test_each_check_is_failed_by_its_fault(tmp_path: Path, check: str, changes: list[Change]) -> None:
    found = scored(tmp_path, *changes)
    issues = [issue.check for tool in found.tools for issue in tool.issues]
    assert check in issues
    assert found.score < 100


def test_the_score_is_100_less_the_share_of_failed_checks_and_the_mean_of_the_tools(tmp_path: Path) -> None:
    found = scored(tmp_path, put(f"{TOOL}/description", "Animals"))
    first = found.tools[0]
    assert {issue.check for issue in first.issues} == {"min_length", "starts_with_verb"}
    assert first.score == round(100 * (1 - 2 / first.applicable), 1)
    assert found.score == round(sum(tool.score for tool in found.tools) / len(found.tools), 1)


def test_below_the_gate_a_connector_does_not_pass(tmp_path: Path) -> None:
    poor = {"id": "query", "name": "Q", "description": "SQL", "category": "READ", "sql": "SELECT 1", "parameters": []}
    found = scored(tmp_path, put("tools", [poor]), put("skills", []))
    assert found.score < GATE
    assert not found.passed
    assert found.as_json()["tools"][0]["issues"][0]["advice"]
