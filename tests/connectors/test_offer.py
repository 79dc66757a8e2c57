"""What agents are offered, by name: prefixes, collisions, reserved names, names that are too long."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from jackfield.connectors.catalog import load
from jackfield.connectors.lint import lint, lint_all
from jackfield.connectors.offer import fitting, is_reserved

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
GRAPH = {"title": "List pets", "nodes": [{"id": "input", "type": "input"}, {"id": "output", "type": "output"}],
         "edges": [{"from": "input", "out": "*", "to": "output"}]}  # fmt: skip


def write(folder: Path, slug: str, *tools: str, skills: tuple[str, ...] = (), **more: Any) -> Path:
    skilled = "Summarise what the shop sold on one day, by region."
    described = "Return the rows of this source by id. Returns up to 9 rows."
    document = {
        "name": slug, "slug": slug, "version": "1.0.0",
        "sources": [{"id": "rows", "type": "rows", "rows": [{"id": 1}]}],
        "tools": [{"id": name, "name": name, "category": "READ", "description": described, "parameters": [],
                   "sql": "SELECT id FROM rows ORDER BY id LIMIT 9"} for name in tools],
        "skills": [{"id": name, "name": name, "description": skilled, "tool_ids": [],
                    "prompt_template": "Summarise."} for name in skills],
        **more,
    }  # fmt: skip
    path = folder / f"{slug}.connector.json"
    path.write_text(json.dumps(document, indent=1))
    return path


def test_the_first_by_sorted_path_keeps_a_name_and_the_other_is_a_finding_at_its_id(tmp_path: Path) -> None:
    write(tmp_path, "b-shop", "list_rows", "list_more", skills=("report",))
    write(tmp_path, "a-shop", "list_rows", skills=("report",))
    offer = load(tmp_path).offer
    assert {name: each.connector.slug for name, each in offer.tools.items()} == {
        "list_rows": "a-shop",
        "list_more": "b-shop",
    }
    assert {name: each.connector.slug for name, each in offer.skills.items()} == {"report": "a-shop"}
    found = [(finding.code, finding.subject, Path(finding.place.file).name) for finding in offer.findings]
    assert found == [("TOOL_NAME_CONFLICT", "list_rows", "b-shop.connector.json"),
                     ("TOOL_NAME_CONFLICT", "report", "b-shop.connector.json")]  # fmt: skip
    linted = [finding for finding in lint_all(tmp_path).findings if finding.code == "TOOL_NAME_CONFLICT"]
    assert [finding.place.pointer for finding in linted] == ["/tools/0/id", "/skills/0/id"]
    assert all(finding.place.line for finding in linted)
    assert "'a-shop'" in linted[0].message
    assert '"prefix": true' in linted[0].hint


def test_with_a_prefix_both_are_offered_and_nothing_is_found(tmp_path: Path) -> None:
    write(tmp_path, "b-shop", "list_rows", skills=("report",), prefix=True)
    write(tmp_path, "a-shop", "list_rows", skills=("report",))
    offer = load(tmp_path).offer
    assert list(offer.tools) == ["list_rows", "b_shop_list_rows"]
    assert list(offer.skills) == ["report", "b_shop_report"]
    assert lint_all(tmp_path).findings == offer.findings == ()


def test_names_collide_over_formats_too(tmp_path: Path) -> None:
    (tmp_path / "a.bgl.json").write_text(json.dumps(GRAPH))
    board = next(iter(load(tmp_path).offer.tools))
    write(tmp_path, "zoo", board)
    offer = load(tmp_path).offer
    assert offer.tools[board].connector.format == "bgl"
    assert [finding.code for finding in offer.findings] == ["TOOL_NAME_CONFLICT"]


def test_of_two_resources_with_one_uri_the_first_is_read_and_the_other_is_a_finding(tmp_path: Path) -> None:
    rules = {"uri": "shop://rules", "name": "Rules", "description": "The rules of the shop.", "text": "Pay."}
    write(tmp_path, "a-shop", "list_rows", resources=[rules])
    write(tmp_path, "b-shop", "list_more", resources=[rules])
    (finding,) = lint_all(tmp_path).findings
    assert (finding.code, Path(finding.place.file).name) == ("RESOURCE_URI_CONFLICT", "b-shop.connector.json")
    assert finding.place.line
    assert "'a-shop'" in finding.message


@pytest.mark.parametrize("name", ["elliot_rows", "jackfield_rows", "plugin_rows", "elliot_upload_file"])
def test_names_of_the_platform_are_an_error_and_are_not_offered(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, "zoo", name, "list_rows")
    assert list(load(path).offer.tools) == ["list_rows"]
    (finding,) = (finding for finding in lint(path) if finding.code == "TOOL_NAME_RESERVED")
    assert finding.place.pointer == "/tools/0/id"
    assert name in finding.message


def test_a_skill_with_the_name_of_a_prompt_of_the_platform_is_not_offered(tmp_path: Path) -> None:
    path = write(tmp_path, "zoo", "list_rows", skills=("getting_started", "report"))
    assert list(load(path).offer.skills) == ["report"]
    assert [(f.code, f.place.pointer) for f in lint(path)] == [("TOOL_NAME_RESERVED", "/skills/0/id")]


def test_a_prefix_makes_a_reserved_name_a_free_one(tmp_path: Path) -> None:
    path = write(tmp_path, "zoo", "plugin_rows", prefix=True)
    assert list(load(path).offer.tools) == ["zoo_plugin_rows"]
    assert lint(path) == ()


def test_a_long_name_is_cut_and_ends_in_a_hash_so_that_two_stay_two(tmp_path: Path) -> None:
    long = "list_" + "very_" * 14
    path = write(tmp_path, "zoo", f"{long}a", f"{long}b", "x" * 64)
    offer = load(path).offer
    names = list(offer.tools)
    assert len(set(names)) == 3
    assert all(NAME.fullmatch(name) for name in names)
    assert [name[:55] for name in names[:2]] == [long[:55]] * 2
    assert "x" * 64 in names
    assert [(f.code, f.place.pointer) for f in lint(path) if f.code == "TOOL_NAME_CUT"] == [
        ("TOOL_NAME_CUT", "/tools/0/id"),
        ("TOOL_NAME_CUT", "/tools/1/id"),
    ]


@pytest.mark.parametrize("name", ["", "a b", "a.b", "größe", "a/b", "x" * 65, "\ud800", "a\x00b"])
def test_any_name_is_made_to_fit_and_stays_apart_from_its_like(name: str) -> None:
    assert NAME.fullmatch(fitting(name))
    assert fitting(name) != fitting(f"{name}.")
    assert fitting(fitting(name)) == fitting(name)


@pytest.mark.parametrize(
    "name", ["deploy_connector", "run_eval", "lint_connector", "build_connector", "jackfield_more"]
)
def test_a_tool_whose_name_reads_as_one_of_the_platform_is_an_error_and_is_not_offered(
    name: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "shop", name, "list_rows")
    assert list(load(tmp_path).offer.tools) == ["list_rows"]
    found = [finding for finding in lint(path) if finding.code == "TOOL_NAME_RESERVED"]
    assert [finding.place.pointer for finding in found] == ["/tools/0/id"]


@pytest.mark.parametrize("name", ["onboard_product", "getting-started", "audit_connector"])
def test_a_prompt_whose_name_reads_as_one_of_the_platform_is_an_error_and_is_not_offered(
    name: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "shop", "list_rows", skills=(name,))
    assert dict(load(tmp_path).offer.skills) == {}
    assert "TOOL_NAME_RESERVED" in [finding.code for finding in lint(path)]


def test_names_are_folded_by_case_too() -> None:
    assert is_reserved("Deploy-Connector")
    assert is_reserved("JACKFIELD-x")
    assert not is_reserved("deploy_connectors")
