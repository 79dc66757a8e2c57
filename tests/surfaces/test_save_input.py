"""What `jackfield save` takes on stdin and from files, and what it says of input that it can not take."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from .conftest import Cli
from .test_call import ROWS, TOOLS, connector

RECORD = '{"a": 1, "b": "x"}'
FORMS = {
    "lines": '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n',
    "list": json.dumps([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], indent=2),
    "result": json.dumps({"rows": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], "row_count": 2}, indent=2),
    "result in a line": json.dumps({"rows": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], "row_count": 2}) + "\n",
    "csv": "a,b\n1,x\n2,y\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_found_in_every_form_of_json(process: Cli, tmp_path: Path, form: str) -> None:
    outcome = process("save", "out.parquet", "-", cwd=tmp_path, input=FORMS[form])
    assert outcome.code == 0, outcome.err
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_one_object_is_one_record_indented_or_not(process: Cli, tmp_path: Path) -> None:
    for number, text in enumerate((RECORD, json.dumps(json.loads(RECORD), indent=2))):
        assert process("save", f"{number}.jsonl", "-", cwd=tmp_path, input=text).code == 0
        assert json.loads((tmp_path / f"{number}.jsonl").read_text()) == {"a": 1, "b": "x"}


def test_what_call_prints_as_json_can_be_saved(process: Cli, cli: Cli, tmp_path: Path) -> None:
    path = connector(tmp_path, [{"id": "sales", "type": "rows", "rows": ROWS}], TOOLS)
    (tmp_path / "result.json").write_text(cli("call", path, "list_sales", "--format", "json").out)
    for source, given in (("-", (tmp_path / "result.json").read_text()), ("result.json", "")):
        outcome = process("save", "x.csv", source, "--mode", "overwrite", cwd=tmp_path, input=given)
        assert outcome.code == 0, outcome.err
        assert (tmp_path / "x.csv").read_text().splitlines()[0] == "id,kind,day,total,note"


@pytest.mark.parametrize(
    ("suffix", "given"),
    [("parquet", ""), ("jsonl", "\n"), ("csv", "[]"), ("sqlite", ""), ("duckdb", '{"rows": [], "row_count": 0}')],
)
def test_empty_input_is_refused_and_the_target_stays(process: Cli, tmp_path: Path, suffix: str, given: str) -> None:
    name = f"t.{suffix}"
    assert process("save", name, "-", cwd=tmp_path, input=RECORD).code == 0
    before = (tmp_path / name).read_bytes()
    outcome = process("save", name, "-", "--mode", "overwrite", cwd=tmp_path, input=given)
    assert outcome.code == 2
    assert outcome.err.startswith("VALIDATION_INVALID_PARAMS: There is nothing to save in standard input: ")
    assert "--allow-empty" in outcome.err
    allowed = process("save", name, "-", "--mode", "overwrite", "--allow-empty", cwd=tmp_path, input=given)
    assert allowed.code == 0, allowed.err
    assert allowed.json["rows"] == 0
    assert (tmp_path / name).read_bytes() == before


def test_a_header_without_rows_is_not_empty(process: Cli, tmp_path: Path) -> None:
    assert process("save", "t.csv", "-", cwd=tmp_path, input="a,b\n").json["rows"] == 0
    assert (tmp_path / "t.csv").read_text() == "a,b\n"


@pytest.mark.parametrize(
    ("given", "line"),
    [(RECORD + '\n{"a":\n' + RECORD, 2), ('{\n  "a": 1,\n  "b"\n}', 4), ("[1,\n 2,,]", 2), ("a,b\n1,2\n1,2,3,4\n", 3)],
)
def test_an_error_names_stdin_and_the_line(process: Cli, tmp_path: Path, given: str, line: int) -> None:
    outcome = process("save", "t.parquet", "-", cwd=tmp_path, input=given)
    assert outcome.code == 3
    assert "standard input" in outcome.err
    assert f"line {line}" in outcome.err
    assert "/stdin" not in outcome.err
    assert "/tmp" not in outcome.err


def test_an_upsert_without_a_key_is_told_to_say_one(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a\n1\n")
    outcome = cli("save", tmp_path / "t.parquet", tmp_path / "in.csv", "--mode", "upsert")
    assert outcome.code == 2
    assert "--key COLUMN" in outcome.err
