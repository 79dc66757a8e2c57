"""What `jackfield serve` says to the author beside its banner: at the start, and of each edit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers.serve import ServeProcess

from .conftest import Cli
from .serving import LIST_ANIMALS, SOURCE, connector, zoo


def test_an_edit_that_breaks_a_file_is_said_and_so_is_that_it_is_mended(tmp_path: Path) -> None:
    path = zoo(tmp_path)
    whole = path.read_text()
    with ServeProcess(tmp_path) as serve:
        path.write_text(whole[:-20])
        assert serve.says("stays in service")
        (said,) = [line for line in serve.err.splitlines() if "stays in service" in line]
        assert said.startswith(f"error: {path}:")
        assert "Version 1.0.0 as it was before the edit stays in service." in said
        path.write_text(whole)
        assert serve.says(f"mended: {path}\n")


def test_a_collision_is_said_and_so_is_that_it_is_mended(tmp_path: Path) -> None:
    first = zoo(tmp_path)
    second = tmp_path / "zzz.connector.json"
    with ServeProcess(tmp_path) as serve:
        second.write_text(first.read_text())
        assert serve.says(f"error: {second}")
        assert f"The slug 'zoo' is taken by {first}" in serve.err
        second.unlink()
        assert serve.says(f"gone: {second}")
        second.write_text(json.dumps({**json.loads(first.read_text()), "slug": "other"}))
        assert serve.says("Agents know the tool 'list_animals' of connector 'zoo'")


def test_an_edit_of_a_sound_file_is_not_worth_a_word(tmp_path: Path) -> None:
    path = zoo(tmp_path)
    with ServeProcess(tmp_path) as serve:
        before = serve.err
        path.write_text(path.read_text().replace("Zoo", "Tiergarten"))
        (tmp_path / "broken.connector.json").write_text("{")
        assert serve.says("broken.connector.json")
        assert str(path) not in serve.err.removeprefix(before)


def test_the_start_counts_what_lint_refuses_and_which_variables_are_not_set(tmp_path: Path) -> None:
    source = {
        "id": "far",
        "type": "rest",
        "url": "http://127.0.0.1:9/rows",
        "auth": {"type": "bearer", "secret_key": "ZOO_KEY"},
    }
    connector(tmp_path, sources=[SOURCE, source], tools=[{**LIST_ANIMALS, "description": "Short."}])
    with ServeProcess(tmp_path) as serve:
        assert serve.says("of lint, ")
        assert serve.says("see `jackfield lint`.")
        assert serve.says("  1 variable not set, ZOO_KEY the first: see `jackfield doctor`.")
    with ServeProcess(tmp_path, ZOO_KEY="s3cret") as serve:
        assert serve.says("of lint, ")
        assert "variable" not in serve.end()[1]
        assert "s3cret" not in serve.err


@pytest.mark.parametrize("given", [["--tool-search"], []])
def test_the_banner_says_that_agents_search_for_tools(tmp_path: Path, given: list[str]) -> None:
    zoo(tmp_path)
    with ServeProcess(tmp_path, *given) as serve:
        assert ("search for tools" in serve.err) is bool(given)


def test_list_says_that_a_name_is_the_platforms_own(cli: Cli, tmp_path: Path) -> None:
    tools = [{**LIST_ANIMALS, "id": "jackfield_find"}, {**LIST_ANIMALS, "id": "list_animals"}]
    connector(tmp_path, sources=[SOURCE], tools=tools)
    connector(tmp_path, slug="zzz", sources=[SOURCE], tools=[LIST_ANIMALS])
    lines = cli("list", tmp_path).out.splitlines()
    (reserved,) = [line for line in lines if "jackfield_find" in line]
    assert reserved.endswith("(not offered to agents: its name is one of the platform's)")
    assert lines[-1].endswith("(not offered to agents: another has its name)")
