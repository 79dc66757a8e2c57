"""A graph that `lint` refuses does not run, by whatever way it is started; the finding says where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import jackfield as jf
from jackfield.nodes.base import Context

from .conftest import Cli
from .test_call import connector

BOARD: dict[str, Any] = {
    "title": "Cities",
    "nodes": [
        {"id": "in", "type": "input", "configuration": {"schema": {"type": "object", "properties": {}}}},
        {"id": "cities", "type": "rows", "configuration": {"rows": [{"city": "Oslo"}, {"city": "Turku"}]}},
        {"id": "some", "type": "sql", "configuration": {"sql": "SELECT city FROM cities LIMIT 1"}},
        {"id": "out", "type": "output", "configuration": {}},
    ],
    "edges": [
        {"from": "in", "to": "cities", "out": "", "in": ""},
        {"from": "cities", "to": "some", "out": "rowz", "in": "cities"},
        {"from": "some", "to": "out", "out": "rows", "in": "rows"},
    ],
}


def board(folder: Path, port: str = "rowz") -> Path:
    path = folder / "cities.bgl.json"
    path.write_text(json.dumps(BOARD, indent=1).replace('"rowz"', json.dumps(port)))
    return path


def test_run_and_call_refuse_what_lint_refuses_and_say_where(cli: Cli, tmp_path: Path) -> None:
    path = board(tmp_path)
    assert cli("lint", path).code == 1
    for command in (("run", path, "--format", "json"), ("call", path, "cities", "--format", "json")):
        outcome = cli(*command)
        assert outcome.code == 1
        assert outcome.out == ""
        assert outcome.error["code"] == "CONFIG_INVALID"
        assert outcome.error["details"]["finding"]["code"] == "PORT_UNKNOWN"
        assert outcome.error["details"]["finding"]["pointer"] == "/edges/1/out"
        assert '"rowz"' in outcome.error["details"]["frame"]
    text = cli("run", path).err
    assert text.count("cities.bgl.json:") == 1, "the place is said once"


def test_the_same_graph_runs_once_it_is_sound(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", board(tmp_path, "rows"), "--format", "json").json["rows"] == [{"city": "Oslo"}]


def test_python_refuses_it_too_and_a_tool_that_another_graph_calls(tmp_path: Path) -> None:
    with pytest.raises(jf.JackfieldError) as caught:
        jf.run(board(tmp_path))
    assert caught.value.details["finding"]["code"] == "PORT_UNKNOWN"
    caller = {
        "nodes": [
            {"id": "all", "type": "tool", "configuration": {"tool": "cities/cities"}},
            {"id": "out", "type": "output", "configuration": {}},
        ],
        "edges": [{"from": "all", "to": "out", "out": "*", "in": ""}],
    }
    (tmp_path / "caller.bgl.json").write_text(json.dumps(caller))
    with pytest.raises(jf.JackfieldError) as nested:
        jf.run(tmp_path / "caller.bgl.json")
    assert nested.value.details["finding"]["code"] == "PORT_UNKNOWN"


def test_an_input_that_the_graph_does_not_have_is_refused_with_the_near_one(cli: Cli, tmp_path: Path) -> None:
    sound = json.loads(board(tmp_path, "rows").read_text())
    sound["nodes"][0]["configuration"]["schema"]["properties"] = {"least": {"type": "integer", "default": 1}}
    path = tmp_path / "cities.bgl.json"
    path.write_text(json.dumps(sound))
    outcome = cli("run", path, "leest=5", "--format", "json")
    assert outcome.code == 2
    assert (outcome.error["message"], outcome.error["hint"]) == (
        "The graph has no input 'leest'.",
        "Did you mean 'least'?",
    )
    with pytest.raises(jf.JackfieldError, match="has no input 'leest'"):
        jf.run(path, leest=5)


def test_what_a_command_line_gives_wrongly_is_said_in_its_own_words(cli: Cli, tmp_path: Path) -> None:
    sound = json.loads(board(tmp_path, "rows").read_text())
    sound["nodes"][0]["configuration"]["schema"]["properties"] = {"least": {"type": "integer", "default": 1}}
    path = tmp_path / "cities.bgl.json"
    path.write_text(json.dumps(sound))
    twice = cli("run", path, "least=1", "least=2")
    assert (twice.code, "'least' is given twice" in twice.err) == (2, True)
    word = cli("run", path, "least=x")
    assert word.code == 2
    assert "hint: Write it such as least=3." in word.err
    absent = cli("run", path, "--args", "@nofile")
    assert absent.code == 2
    assert "--args names the file 'nofile', which cannot be read: No such file or directory." in absent.err


def test_an_option_that_a_call_does_not_have_is_refused_at_once(tmp_path: Path) -> None:
    with jf.open(board(tmp_path, "rows")) as cities:
        with pytest.raises(jf.JackfieldError, match="Did you mean 'timeout_s'") as caught:
            cities.cities.using(timeoutt=5)
        assert caught.value.code is jf.Code.VALIDATION_INVALID_PARAMS


@jf.node()
def broken(city: str, context: Context) -> str:
    raise ZeroDivisionError(f"no {city} with {context.secrets.value('TOKEN')}")


def test_what_an_authors_function_raises_is_told_in_its_words_without_secrets(tmp_path: Path) -> None:
    with jf.graph("cities") as cities:
        cities.output(cities.apply(broken, city=cities.input("city")))
    with pytest.raises(jf.JackfieldError) as caught:
        jf.run(cities, city="Oslo", variables={"TOKEN": "sk-abc123def456"})
    assert caught.value.message.startswith("Node 'broken' (broken) raised ZeroDivisionError: no Oslo with ***")
    assert "report it" not in str(caught.value)
    assert "It was raised in broken, line " in caught.value.hint


def test_lint_online_finds_a_file_that_is_not_there_at_its_source(cli: Cli, tmp_path: Path) -> None:
    tool = {"id": "list_all", "name": "List all", "category": "READ", "description": "Return every row, up to five.",
            "sql": "SELECT city FROM cities LIMIT 5", "parameters": []}  # fmt: skip
    path = connector(tmp_path, [{"id": "cities", "type": "csv", "path": "./cities.csv"}], [tool])
    outcome = cli("lint", path, "--online", "--format", "json")
    assert outcome.code == 1
    (found,) = [one for one in outcome.json["findings"] if one["code"] == "SOURCE_NOT_READABLE"]
    assert (found["pointer"], found["line"], found["subject"]) == ("/sources/0", 1, "cities")
    (tmp_path / "cities.csv").write_text("city\nOslo\n")
    assert cli("lint", path, "--online").code == 0
