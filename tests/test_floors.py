"""Imports go downward only: surfaces → {connectors, engine} → nodes → graphs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("graphs", "nodes", "engine", "connectors", "surfaces")
MAY_IMPORT = {
    "graphs": set[str](),
    "nodes": {"graphs"},
    "engine": {"nodes", "graphs"},
    "connectors": {"nodes", "graphs"},
    "surfaces": {"connectors", "engine", "nodes", "graphs"},
}
# Of the nodes the engine knows the contract, never a kind: it is handed a registry.
ENGINE_MAY_USE = {"base", "table", "scan", "source", "blocking", "secrets", "sqltext", "changing"}
MODULES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def imports(path: Path) -> Iterator[tuple[int, str, str, list[str]]]:
    """(line, room, module inside the room, names) of every import of a room in the file."""
    package = ("jackfield", *path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            targets = [(alias.name, list[str]()) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            targets = [(".".join((*base, *filter(None, [node.module]))), [alias.name for alias in node.names])]
        else:
            continue
        for target, names in targets:
            parts = target.split(".")
            if parts[0] in ROOMS:
                yield node.lineno, f"absolute:{parts[0]}", "", names
            if parts[0] == "jackfield" and len(parts) > 1:
                yield node.lineno, parts[1], ".".join(parts[2:]), names


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_rooms_below_its_own(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    for line, target, module, names in imports(path):
        place = f"{path.relative_to(ROOT)}:{line}"
        assert not target.startswith("absolute:"), f"{place} imports the folder {target[9:]} by its bare name"
        assert target == room or target in MAY_IMPORT[room], f"{place}: {room} may not import {target}"
        if room == "engine" and target == "nodes":
            for used in [module.split(".")[0]] if module else names:
                assert used in ENGINE_MAY_USE, f"{place}: the engine may not know the node kind '{used}'"


def test_only_the_app_joins_connectors_and_engine() -> None:
    for path in sorted((ROOT / "surfaces").rglob("*.py")):
        joined = {target for _, target, _, _ in imports(path)} & {"connectors", "engine"}
        if path != ROOT / "surfaces" / "app.py":
            assert len(joined) < 2, f"{path.relative_to(ROOT)} joins connectors and engine; surfaces/app.py does that"


def test_every_package_is_named_in_pyproject() -> None:
    """A sub-package that is missing there works in this folder and is missing from the wheel."""
    text = (ROOT / "pyproject.toml").read_text()
    named = set(re.findall(r'^    "(jackfield[\w.]*)",$', text, re.MULTILINE))
    folders = {init.parent.relative_to(ROOT) for room in ROOMS for init in (ROOT / room).rglob("__init__.py")}
    assert named == {"jackfield"} | {".".join(("jackfield", *folder.parts)) for folder in folders}


def test_no_file_is_left_unnamed() -> None:
    vague = {"utils", "util", "helpers", "helper", "misc", "common", "manager"}
    assert not [path for path in MODULES if path.stem in vague]
