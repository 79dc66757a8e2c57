"""The filter form of the second spelling: what is not understood is refused at its place, never dropped."""

import json
from pathlib import Path
from typing import Any

import pytest

from jackfield.connectors.catalog import load
from jackfield.connectors.lint import lint
from jackfield.graphs.findings import Finding, Severity

PARAMETERS = [{"name": "species", "type": "string", "required": False, "description": "Species, exact name"}]


def written(**fields: Any) -> str:
    document = {
        "name": "Zoo",
        "slug": "zoo",
        "version": "1.0.0",
        "sources": [
            {
                "id": "animals",
                "type": "rows",
                "rows": [{"species": "cat", "weight": 3}, {"species": "dog", "weight": 9}],
                "schema": {"species": "string", "weight": "int"},
                "contract": "freeze",
            }
        ],
        "tools": [
            {
                "id": "list_animals",
                "name": "List animals",
                "description": "Return the animals of the zoo, by species.",
                "category": "READ",
                "source_ids": ["animals"],
                "parameters": PARAMETERS,
                "filter_groups": [{"conditions": [{"field": "species", "operator": "=", "parameter_name": "species"}]}],
                "limit": 10,
                **fields,
            }
        ],
    }
    return json.dumps(document, indent=1)


def errors(**fields: Any) -> list[Finding]:
    return [finding for finding in lint(written(**fields)) if finding.severity is Severity.ERROR]


def one(**condition: Any) -> dict[str, Any]:
    return {"filter_groups": [{"conditions": [{"field": "species", "operator": "=", "value": "cat", **condition}]}]}


FIRST = "/filter_groups/0/conditions/0"
WRONG: list[tuple[dict[str, Any], str, str]] = [
    # (fields, where, words of the message and the hint)
    ({"filter_groups": [{"condition": [{"field": "species", "operator": "=", "value": "cat"}]}]},
     "/filter_groups/0/condition", "Did you mean 'conditions'?"),
    ({"filter_groups": [{"logic": "XOR", "conditions": []}]}, "/filter_groups/0/logic", "Did you mean 'OR'?"),
    ({"filter_group": [], "filter_groups": None}, "/filter_group", "Did you mean 'filter_groups'?"),
    (one(operator="=>"), f"{FIRST}/operator", "Did you mean '>='?"),
    (one(operator="contain"), f"{FIRST}/operator", "Did you mean 'contains'?"),
    (one(valeu="cat"), f"{FIRST}/valeu", "'valeu' is not known here"),
    (one(value=None), FIRST, "compares 'species' with nothing"),
    (one(value=["cat", "dog"]), FIRST, "belongs to in_list"),
    (one(value={"a": 1}), f"{FIRST}/value", "'value'"),
    (one(parameter_name="specis"), f"{FIRST}/parameter_name", "Did you mean 'species'?"),
    ({"return_fields": [{"field": "weight", "aggregation": "summ"}]}, "/return_fields/0/aggregation", "'sum'?"),
    ({"return_fields": [{"field": "weight", "agregation": "sum"}]}, "/return_fields/0/agregation", "'aggregation'?"),
    ({"order_by": [{"field": "weight", "direction": "DOWN"}]}, "/order_by/0/direction", "Did you mean 'DESC'?"),
    ({"order_by": [{"feild": "weight"}]}, "/order_by/0/feild", "Did you mean 'field'?"),
    ({"order_by": "weight"}, "/order_by", "'order_by'"),
    ({"having": [{"conditions": [{"field": "weight", "operator": ">", "value": 1, "not": True}]}]},
     "/having/0/conditions/0/not", "'not' is not known here"),
    ({"limit": "10"}, "/limit", "'limit'"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "where", "words"), WRONG, ids=[where for _, where, _ in WRONG])
def test_what_a_filter_form_does_not_know_is_an_error_at_its_place(
    fields: dict[str, Any], where: str, words: str
) -> None:
    found = errors(**fields)
    assert {finding.code for finding in found} == {"FILTER_INVALID"}
    (finding,) = (finding for finding in found if finding.place.pointer == f"/tools/0{where}")
    assert words in f"{finding.message} {finding.hint}"
    assert finding.subject == "list_animals"
    assert finding.place.line is not None


def test_a_connector_with_such_an_error_is_not_served(tmp_path: Path) -> None:
    path = tmp_path / "zoo.connector.json"
    path.write_text(written(**one(operator="=>")))
    catalog = load(path)
    assert not catalog.connectors
    assert [finding.code for finding in catalog.findings] == ["FILTER_INVALID"]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"filter_groups": None, "having": None, "return_fields": None, "order_by": None, "limit": None},
        {"order_by": [{"field": "weight", "direction": "desc"}], "return_fields": [{"field": "weight", "alias": None}]},
        {"filter_groups": [{"logic": "or", "conditions": [{"field": "weight", "operator": "is_null", "value": None}]}]},
    ],
)
def test_nulls_and_words_in_either_case_are_understood(fields: dict[str, Any]) -> None:
    assert "FILTER_INVALID" not in [finding.code for finding in errors(**fields)]


def test_extras_of_a_tool_still_warn_and_fail_nothing() -> None:
    found = [finding for finding in lint(written(colour="blue")) if "colour" in finding.message]
    assert [finding.severity for finding in found] == [Severity.WARNING]


def test_a_column_that_is_not_there_is_reported_where_the_filter_names_it() -> None:
    (finding,) = errors(**one(field="specis"))
    assert (finding.code, finding.place.pointer) == ("UNKNOWN_COLUMN", f"/tools/0{FIRST}/field")


def test_filters_beside_sql_are_said_not_to_be_read() -> None:
    found = [
        finding for finding in lint(written(sql="SELECT species FROM animals LIMIT 1")) if "not read" in finding.message
    ]
    assert [finding.code for finding in found] == ["SPELLING_CONFLICT"]


@pytest.mark.parametrize("word", ["yes", "true", 1])
def test_required_is_true_or_false(word: object) -> None:
    (finding,) = errors(parameters=[{**PARAMETERS[0], "required": word}])
    assert (finding.code, finding.place.pointer) == ("INVALID_VALUE", "/tools/0/parameters/0/required")
