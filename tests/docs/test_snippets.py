"""Every page is a program: its commands print what it says, its Python runs, its connectors lint without errors."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jackfield.connectors.lint import lint
from jackfield.graphs.findings import Severity
from jackfield.surfaces.demo_world import TOKEN, live_api
from jackfield.surfaces.settings import KEYS

from .snippets import Block, Command, blocks, commands, prepare, run_shell, same

ROOT = Path(__file__).parents[2]
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "reference" not in path.relative_to(ROOT).parts
]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, with the demo's API up, as the pages tell their reader to have it."""
    with live_api() as url:
        monkeypatch.setenv("SHOP_API", url)
        monkeypatch.setenv("SHOP_TOKEN", TOKEN)
        monkeypatch.chdir(tmp_path)
        yield tmp_path


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_page_does_what_it_says(page: Path, workspace: Path) -> None:
    names: dict[str, Any] = {}
    for block in blocks(page):
        prepare(block, workspace)
        if block.output is not None:
            _check(Command(block.output, block.body), block, page, workspace)
        elif block.kind == "sh":
            _shell(block, page, workspace)
        elif block.kind == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.body, f"{page}:{block.line}", "exec"), names)
        elif block.kind == "json" and not block.shown:
            _json(block, page, workspace)


def _shell(block: Block, page: Path, workspace: Path) -> None:
    for command in commands(block):
        _check(command, block, page, workspace)


def _check(command: Command, block: Block, page: Path, workspace: Path) -> None:
    found = run_shell(command.text, workspace)
    assert not command.expected or same(command.expected, found), (
        f"{page.relative_to(ROOT)}:{block.line}: $ {command.text}\n--- the page\n{command.expected}\n--- is\n{found}"
    )


def _json(block: Block, page: Path, workspace: Path) -> None:
    """A whole connector, or one of its sources or saves, has no lint error."""
    value = json.loads(block.body)
    where = f"{page.relative_to(ROOT)}:{block.line}"
    if isinstance(value, dict) and "type" in value and "id" in value:
        value = _around(value, save=page.name.startswith("save-"))
    if isinstance(value, dict) and "sources" in value and not page.name.startswith("tutorial"):
        findings = lint(json.dumps(value), path=workspace / "page.connector.json")
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        assert not errors, f"{where}: {errors}"


def _around(part: dict[str, Any], *, save: bool) -> dict[str, Any]:
    """A connector whose only source, or save, is `part`."""
    source = {"id": "rows", "type": "rows", "rows": [{"id": 1}]} if save else part
    tool = {
        "id": "list_rows", "name": "List rows", "category": "READ", "parameters": [],
        "description": "Return the first rows of the source, in any order.",
        "sql": f"SELECT * FROM {source['id']} LIMIT 10",
    }  # fmt: skip
    document = {"name": "Page", "slug": "page", "version": "1.0.0", "sources": [source], "tools": [tool]}
    return {**document, "saves": [part]} if save else document


def test_every_setting_is_on_the_page_of_settings() -> None:
    page = (ROOT / "docs" / "how-to" / "settings.md").read_text("utf-8")
    for key in KEYS:
        assert f"| `{key.name}` | `{key.variable}` | `{json.dumps(key.default)}` | {key.meaning} |" in page


def test_every_link_of_a_page_leads_to_a_file() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"
