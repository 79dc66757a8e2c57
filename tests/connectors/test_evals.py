"""Eval cases: every expectation, every match mode, the three file forms, and what is reported of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from connector_documents import put, written

from jackfield.connectors.catalog import load
from jackfield.connectors.evals import Suite, SuiteResult, junit, read_suite, run_suite, suite_of, suites_of
from jackfield.connectors.evals.literals import Written
from jackfield.connectors.evals.matching import matches
from jackfield.connectors.evals.suite import Match
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.surfaces.app import App

HERE = Path(__file__).parent
ROWS = [
    {"animal": "Bella", "fee": 40, "city": "Oslo", "owner": {"name": "Ann"}},
    {"animal": "Rex", "fee": 2.5, "city": "OSLO", "owner": {"name": "Bob"}},
]


async def answering(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    if tool == "broken":
        raise JackfieldError(Code.VALIDATION_MISSING_FIELD, "The argument 'species' is missing.")
    if tool == "act":
        return {"response": {"status": 200, "body": {"state": "closed"}}}
    return {"rows": ROWS, "row_count": 2, "truncated": False}


async def ran(folder: Path, text: str, name: str = "zoo.eval.yaml") -> SuiteResult:
    path = folder / name
    path.write_text(text)
    return await run_suite(read_suite(path), answering)


def case(expect: str, tool: str = "list") -> str:
    return f"name: Zoo\ncases:\n  - id: one\n    tool_id: {tool}\n    expect: {expect}\n"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("expect", "tool", "problem"),
    [
        ("{}", "list", ""),
        ("{no_error: true}", "broken", "VALIDATION_MISSING_FIELD"),
        ("{no_error: false}", "broken", ""),
        ("{min_rows: 2, max_rows: 2}", "list", ""),
        ("{min_rows: 3}", "list", "2 rows; expected at least 3"),
        ("{max_rows: 1}", "list", "2 rows; expected at most 1"),
        ("{fields_present: [animal, owner.name]}", "list", ""),
        ("{fields_present: [colour]}", "list", "no field 'colour'"),
        ("{all_rows_match: {field: city, value: oslo, match: normalized}}", "list", ""),
        ("{all_rows_match: {field: city, value: Oslo}}", "list", "row 1: 'city' is \"OSLO\""),
        ("{field_assertions: [{field: animal, equals: Bella}]}", "list", ""),
        ("{field_assertions: [{field: animal, equals: Rex, row: 1}]}", "list", ""),
        ("{field_assertions: [{field: animal, equals: Rex, row: 2}]}", "list", "no row 2"),
        ("{field_assertions: [{field: owner.name, equals: Ann}]}", "list", ""),
        ("{field_assertions: [{field: state, equals: closed}]}", "act", ""),
        ("{error_code: VALIDATION_MISSING_FIELD}", "broken", ""),
        ("{error_code: MISSING_PARAM}", "broken", ""),
        ("{error_code: any}", "broken", ""),
        ("{error_code: VALIDATION_ERROR}", "broken", ""),
        ("{error_code: VALIDATION_INVALID_PARAMS}", "broken", "expected VALIDATION_INVALID_PARAMS"),
        ("{error_code: TOOL_NOT_FOUND}", "broken", "expected TOOL_NOT_FOUND"),
        ("{error_code: TOOL_NOT_FOUND}", "list", "and the call succeeded"),
        ("{max_token_estimate: 1000}", "list", ""),
        ("{max_token_estimate: 10}", "list", "tokens; expected at most 10"),
    ],
)
async def test_each_expectation_holds_or_says_what_is_amiss(
    tmp_path: Path, expect: str, tool: str, problem: str
) -> None:
    (result,) = (await ran(tmp_path, case(expect, tool))).cases
    if problem:
        assert result.verdict == "failed"
        assert problem in result.problems[0]
    else:
        assert (result.verdict, result.problems) == ("passed", ())


@pytest.mark.parametrize(
    ("how", "expected", "actual", "same"),
    [
        ({}, 1, 1.0, True),
        ({}, 1, True, False),
        ({}, "a", "A", False),
        ({}, None, None, True),
        ({}, [1, {"a": 2}], [1, {"a": 2}], True),
        ({"match": "numeric"}, Written("12500.00"), "$12,500", True),
        ({"match": "numeric"}, Written("12.5"), 12.4999, True),
        ({"match": "numeric"}, Written("12.50"), 12.4949, False),
        ({"match": "numeric"}, "45 %", 45, True),
        ({"match": "numeric"}, 3, 3.4, True),
        ({"match": "numeric"}, 3, 3.5, False),
        ({"match": "numeric", "abs_tol": 0.5}, 3, 3.5, True),
        ({"match": "numeric", "rel_tol": 0.01}, 100, 102, False),
        ({"match": "numeric"}, 3, "three", False),
        ({"match": "scientific"}, Written("6.02e23"), 6.0221e23, True),
        ({"match": "scientific", "sig_figs": 4}, Written("6.02e23"), 6.0221e23, False),
        ({"match": "scientific", "sig_figs": 2}, 0, 0.0, True),
        ({"match": "scientific", "rel_tol": 0.1}, 1e-9, 1.05e-9, True),
        ({"match": "normalized"}, "Hello,  World.", "hello, world", True),
        ({"match": "normalized"}, "Hello", "hallo", False),
        ({"match": "regex"}, "^B.l+a$", "Bella", True),
        ({"match": "regex"}, "^Bel$", "Bella", False),
        ({"match": "regex"}, ".*", None, False),
    ],
)
def test_each_match_mode(how: dict[str, Any], expected: object, actual: object, same: bool) -> None:
    assert matches(expected, actual, Match(field="f", **how)) is same


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("fields", "passes"),
    [
        ('"expected_rows": [{"animal": "Rex"}], "match_mode": "contains"', True),
        ('"expected_rows": [{"animal": "Tom"}], "match_mode": "contains"', False),
        ('"expected_rows": [{"animal": "x", "fee": 0, "city": "", "owner": 1}], "match_mode": "shape"', True),
        ('"expected_rows": [{"animal": "x"}], "match_mode": "shape"', False),
        ('"expected_rows": []', False),
        ('"params": {}', True),
    ],
)
async def test_the_older_form_compares_rows(tmp_path: Path, fields: str, passes: bool) -> None:
    text = '{"id": "old", "name": "Old", "cases": [{"id": "one", "tool_id": "list", %s}]}' % fields  # noqa: UP031
    result = await ran(tmp_path, text, "zoo.eval.json")
    assert result.passed is passes


@pytest.mark.anyio
@pytest.mark.parametrize("expected", ["true", '"VALIDATION_MISSING_FIELD"'])
async def test_the_older_form_expects_errors(tmp_path: Path, expected: str) -> None:
    text = '{"cases": [{"id": "one", "tool_id": "broken", "params": {}, "expect_error": %s}]}' % expected  # noqa: UP031
    assert (await ran(tmp_path, text, "zoo.eval.json")).passed


@pytest.mark.anyio
async def test_a_prompt_is_reported_as_needing_an_agent_and_counts_for_nothing(tmp_path: Path) -> None:
    asked = "prompt: Which cats are there?\n    expect_tool: list\n    expect_args: {species: cat}"
    text = f"suite: Zoo\ncases:\n  - {asked}\n"
    result = await ran(tmp_path, text)
    assert [(c.verdict, c.problems[0]) for c in result.cases] == [
        ("skipped", "a prompt needs an agent to choose the tool")
    ]
    assert (result.passed, result.score) == (True, 1.0)


@pytest.mark.anyio
async def test_an_error_that_is_given_and_not_raised_is_judged_alike() -> None:
    async def call(tool: str, arguments: Mapping[str, Any]) -> JackfieldError:
        return JackfieldError(Code.SOURCE_TIMEOUT, "No answer.")

    suite = read_suite(HERE / "second" / "clinic.eval.yaml")
    assert {c.verdict for c in (await run_suite(suite, call)).cases} == {"failed"}


@pytest.mark.anyio
async def test_the_clinics_cases_run_and_the_one_that_states_a_wrong_sum_fails() -> None:
    path = HERE / "second" / "clinic.connector.json"
    (suite,) = suites_of(load(path).connector("vet-clinic"))
    async with App([path]) as app:

        async def call(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
            answer: Mapping[str, Any] = (await app.call("vet-clinic", tool, arguments)).as_json()
            return answer

        result = await run_suite(suite, call)
    verdicts = {case.case.id: case.verdict for case in result.cases}
    assert verdicts.pop("expects_too_much") == "failed"
    assert set(verdicts.values()) == {"passed"}
    (failed,) = [case for case in result.cases if case.verdict == "failed"]
    assert failed.problems == ("row 0: 'fees' is 65; expected 1250.00 (numeric)",)
    assert 0 < result.score < 1


def report(result: SuiteResult) -> ElementTree.Element:
    return ElementTree.fromstring(junit([result]))


@pytest.mark.anyio
async def test_junit_says_which_case_failed_and_why(tmp_path: Path) -> None:
    text = case("{min_rows: 9}") + "  - id: fine\n    tool_id: list\n  - prompt: 'Say \x07 <hello>'\n"
    suite = report(await ran(tmp_path, text.replace("\x07", ""))).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "2 rows; expected at least 9"


@pytest.mark.anyio
async def test_results_are_json_in_the_agreed_shape(tmp_path: Path) -> None:
    document = (await ran(tmp_path, case("{}"))).as_json()
    assert document.keys() >= {"suite_id", "run_at", "score", "passed", "failed", "cases"}
    assert document["cases"][0].keys() >= {"case_id", "tool_id", "passed", "actual_rows", "latency_ms", "error"}
    assert document["cases"][0]["actual_rows"] == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cases: [", "line 1"),
        ("just text", "no list of cases"),
        ("cases: [{id: a}]", "names no tool"),
        ("cases: [{id: a, tool_id: t, expect: {min_row: 1}}]", "min_row"),
        ("cases: [{id: a, tool_id: t, expect: {min_rows: x}}]", "min_rows"),
        ("cases: [{id: a, tool_id: t, expect: {all_rows_match: {field: f, match: fuzzy}}}]", "matches.0.match"),
        ("cases: [{id: a, tool_id: t, expects: {min_rows: 1}}]", "has the field 'expects'"),
        ("conector: zoo\ncases: []", "has the field 'conector'"),
        ("cases: [{id: a, prompt: Hi, expected_tool: t}]", "has the field 'expected_tool'"),
        ("cases: [{id: a, tool_id: t, expect: [min_rows]}]", "expect is no object"),
        ("cases: [{id: a, tool_id: t, arguments: [1]}]", "arguments is no object"),
        ("cases: [{id: a, tool_id: t, expect: {field_assertions: [{feild: f, equals: 1}]}}]", "the field 'feild'"),
        ("cases: [{id: a, tool_id: t, expect: {all_rows_match: [f]}}]", "all_rows_match is no object"),
        ("cases: [{id: a, tool_id: t, expect: {}, expected_rows: []}]", "expected_rows would not be read"),
        ("cases: [!!python/object/apply:os.system ['true']]", "line 1"),
        ("cases: [7]", "no object"),
    ],
)
def test_a_suite_that_is_wrong_says_where(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "zoo.eval.yaml"
    path.write_text(text)
    with pytest.raises(JackfieldError) as caught:
        read_suite(path)
    assert caught.value.code is Code.CONFIG_INVALID
    assert words in caught.value.message


def test_a_field_that_is_not_known_names_the_near_one(tmp_path: Path) -> None:
    path = tmp_path / "zoo.eval.yaml"
    path.write_text("cases: [{id: a, tool_id: t, expects: {min_rows: 1}}]")
    with pytest.raises(JackfieldError) as caught:
        read_suite(path)
    assert caught.value.hint == "Did you mean 'expect'?"


def test_cases_for_another_connector_are_refused(tmp_path: Path) -> None:
    connector = load(written(tmp_path)).connector("zoo")
    path = tmp_path / "alien.eval.yaml"
    path.write_text("connector: aquarium\ncases: []")
    with pytest.raises(JackfieldError) as caught:
        suite_of(path, connector)
    assert caught.value.code is Code.CONFIG_INVALID
    assert "for the connector 'aquarium'" in caught.value.message
    assert found(tmp_path) == ()  # it only lies in the same folder
    path.rename(tmp_path / "zoo.eval.yaml")
    with pytest.raises(JackfieldError, match="aquarium"):
        found(tmp_path)


def test_a_case_that_expects_an_error_of_a_tool_that_is_not_there_is_refused(tmp_path: Path) -> None:
    connector = load(written(tmp_path)).connector("zoo")
    path = tmp_path / "zoo.eval.yaml"
    path.write_text("cases: [{tool_id: list_animal, expect: {error_code: any}}]")
    with pytest.raises(JackfieldError) as caught:
        suite_of(path, connector)
    assert "no such tool" in caught.value.message
    assert "list_animals" in caught.value.hint
    path.write_text("cases: [{tool_id: list_animal, expect: {error_code: TOOL_NOT_FOUND}}]")
    assert len(suite_of(path, connector).cases) == 1


def found(folder: Path, *changes: Any) -> tuple[Suite, ...]:
    return suites_of(load(written(folder, *changes)).connector("zoo"))


def test_suites_are_those_that_are_named_else_those_beside_the_connector(tmp_path: Path) -> None:
    assert found(tmp_path) == ()
    (tmp_path / "zoo.eval.yaml").write_text("cases: []")
    (tmp_path / "other.eval.yaml").write_text("connector: zoo\ncases: []")
    (tmp_path / "alien.eval.json").write_text('{"connector": "aquarium", "cases": []}')
    assert [suite.name for suite in found(tmp_path)] == ["other", "zoo"]
    assert [suite.name for suite in found(tmp_path, put("evals", "other.eval.yaml"))] == ["other"]
    with pytest.raises(JackfieldError) as caught:
        found(tmp_path, put("evals", "../other.eval.yaml"))
    assert "outside" in caught.value.message
