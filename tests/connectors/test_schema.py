"""The JSON Schema of a connector file: valid itself, and of one mind with the reader."""

import json
from pathlib import Path
from typing import Any

import pytest
from connector_documents import Change, drop, put, sound
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from jackfield.connectors.lint import lint
from jackfield.connectors.native.schema import connector_schema
from jackfield.graphs.findings import Severity
from jackfield.nodes.saves import SAVES

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = connector_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("path", ["seed/petstore", "native/shop"])
def test_files_in_the_first_spelling_fit_the_schema(validator: Any, path: str) -> None:
    document = json.loads((HERE / f"{path}.connector.json").read_text())
    assert [error.message for error in validator.iter_errors(document)] == []


def test_it_says_each_type_of_source_and_save() -> None:
    schema = connector_schema()
    sources = [item["title"] for item in schema["properties"]["sources"]["items"]["oneOf"]]
    assert {"rest", "postgres", "mysql", "file", "rows", "csv", "json", "parquet"} <= set(sources)
    saves = [item["title"] for item in schema["properties"]["saves"]["items"]["oneOf"]]
    assert saves == [kind.name for kind in SAVES]


@pytest.mark.parametrize(
    "change",
    [
        put("slug", "No"),
        put("version", "1"),
        drop("name"),
        drop("tools"),
        put("tools/0/category", "LOOK"),
        put("tools/0/parameters/0/type", "strnig"),
        put("tools/0/timeout_s", 0),
        put("tools/0/result", {"page_size": 0}),
        put("sources/0/type", "rset"),
        drop("sources/0/url"),
        put("sources/0/pagination", {"strategy": "spiral"}),
        put("sources/0/auth", {"type": "bearer"}),
        put("saves/0/type", "parket"),
        put("skills/0/id", "No"),
        put("tools/1/request/method", "BREW"),
        put("tools/0/filter_groups", [{"condition": []}]),
        put("tools/0/filter_groups", [{"conditions": [{"field": "a", "operator": "=>", "value": 1}]}]),
        put("tools/0/return_fields", [{"field": "a", "aggregation": "summ"}]),
        put("tools/0/order_by", [{"field": "a", "direction": "DOWN"}]),
        put("tools/0/parameters/0/required", "yes"),
    ],
)
def test_what_the_schema_refuses_lint_refuses(validator: Any, change: Change) -> None:
    document = sound(change)
    assert list(validator.iter_errors(document))
    errors = [f for f in lint(json.dumps(document)) if f.severity is Severity.ERROR]
    assert {"MISSING_FIELD", "INVALID_VALUE", "FILTER_INVALID"} & {f.code for f in errors}


def test_the_sound_document_fits(validator: Any) -> None:
    assert list(validator.iter_errors(sound())) == []
