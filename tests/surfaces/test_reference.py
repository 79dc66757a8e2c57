"""The committed reference is what the declarations say. When this fails: run `scripts/docs` and commit what changed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jackfield.nodes import NODE_TYPES
from jackfield.nodes.saves import SAVES
from jackfield.surfaces.reference import main, pages

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


def test_the_committed_reference_is_up_to_date_else_run_scripts_docs() -> None:
    command = [sys.executable, "-m", "jackfield.surfaces.reference", str(FOLDER), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_every_kind_and_every_save_has_a_page_and_a_schema() -> None:
    made = pages()
    for kind in NODE_TYPES:
        assert f"[`{kind.name}`](nodes/{kind.name}.md)" in made["README.md"]
        assert kind.description.rstrip(".") in made[f"nodes/{kind.name}.md"]
        assert json.loads(made[f"schema/node.{kind.name}.json"])["type"] == "object"
    for save in SAVES:
        assert f"schema/save.{save.name}.json" in made
        for mode in save.modes:
            assert f"`{mode}`" in made[f"saves/{save.name}.md"]


def test_every_field_of_a_configuration_is_on_its_page() -> None:
    made = pages()
    for kind in NODE_TYPES:
        schema = json.loads(made[f"schema/node.{kind.name}.json"])
        page = made[f"nodes/{kind.name}.md"]
        for part in (schema, *schema.get("$defs", {}).values()):
            missing = [name for name in part.get("properties", {}) if f"| `{name}` |" not in page]
            assert missing == [], kind.name


def test_links_between_pages_lead_somewhere() -> None:
    made = pages()
    for name, text in made.items():
        if name.endswith(".md"):
            folder = Path("/") / Path(name).parent
            for link in [part.partition(")")[0] for part in text.split("](")[1:]]:
                target = name if link.startswith("#") else str((folder / link).resolve().relative_to("/"))
                assert target in made, f"{name} links to {link}"


def test_check_names_what_is_missing_different_and_left_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 0
    assert main([str(tmp_path), "--check"]) == 0
    (tmp_path / "errors.md").write_text("old")
    (tmp_path / "nodes" / "input.md").unlink()
    (tmp_path / "nodes" / "gone.md").write_text("old")
    assert main([str(tmp_path), "--check"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert [line.split()[0].removeprefix(f"{tmp_path}/") for line in told] == [
        "errors.md",
        "nodes/gone.md",
        "nodes/input.md",
    ]
    assert main([str(tmp_path)]) == 0
    assert main([str(tmp_path), "--check"]) == 0


def test_a_wrong_command_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--chekc", "x"]) == 2
    assert "usage:" in capsys.readouterr().err
