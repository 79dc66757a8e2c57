"""The second spelling of native files means the same as the first; what has no meaning here warns and fails nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from jackfield.connectors.catalog import load
from jackfield.connectors.lint import lint
from jackfield.connectors.native.filters import select_of
from jackfield.connectors.native.mapping import joined
from jackfield.connectors.native.normalise import normalise
from jackfield.graphs.findings import Severity, has_errors
from jackfield.nodes.sqltext.read_only import problems

Fields = dict[str, Any]
HERE = Path(__file__).parent
FIXTURES = [HERE / "seed" / "petstore.connector.json", *sorted((HERE / "second").glob("*.connector.json"))]


def normal(**fields: Any) -> dict[str, Any]:
    return normalise({"name": "X", "slug": "x", "version": "1.0.0", **fields}, Path())[0]


def source(**fields: Any) -> dict[str, Any]:
    result: dict[str, Any] = normal(sources=[{"id": "s", **fields}])["sources"][0]
    return result


def tool(sources: list[dict[str, Any]] | None = None, **fields: Any) -> dict[str, Any]:
    result: dict[str, Any] = normal(sources=sources or [], tools=[{"id": "t", **fields}])["tools"][0]
    return result


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.name.split(".")[0])
def test_files_of_both_spellings_lint_without_errors_and_compile(path: Path) -> None:
    assert not has_errors(lint(path))
    catalog = load(path)
    assert [tool.graph.hash for tool in catalog.tools]
    assert all(skill.graph.hash for skill in catalog.skills)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"type": "csv", "path": "a.csv"}, {"type": "file", "path": "a.csv", "format": "csv"}),
        ({"type": "json", "path": "a.json"}, {"type": "file", "path": "a.json", "format": "json"}),
        ({"type": "file", "path": "a.txt", "format": "jsonl"}, {"type": "file", "path": "a.txt", "format": "jsonl"}),
        ({"type": "elliot", "managed_path": "uploads/a.csv"}, {"type": "file", "path": "uploads/a.csv"}),
        (
            {"type": "postgres", "url": "{{ env:DB }}", "table": "t"},
            {"type": "postgres", "dsn": "{{ env:DB }}", "table": "t"},
        ),
        (
            {"type": "postgresql", "dsn": "d", "table": None, "query": "q"},
            {"type": "postgres", "dsn": "d", "query": "q"},
        ),
        ({"type": "http", "url": "u", "timeout_ms": 1500}, {"type": "rest", "url": "u", "timeout_s": 1.5}),
        ({"type": "rest", "url": "u", "auth": None, "data_path": None}, {"type": "rest", "url": "u"}),
        (
            {"type": "rest", "url": "u", "auth": {"type": "basic", "secret_key": "{{ env:LOGIN }}"}},
            {"type": "rest", "url": "u", "auth": {"type": "basic", "secret_key": "LOGIN"}},
        ),
        (
            {
                "type": "rest",
                "url": "u",
                "auth": {"type": "api_key", "secret_key": "K", "header_name": None, "query_param": "q"},
            },
            {"type": "rest", "url": "u", "auth": {"type": "api_key", "secret_key": "K", "query_param": "q"}},
        ),
        (
            {
                "type": "rest",
                "url": "u",
                "pagination": {"strategy": "cursor", "cursor_field": "next", "next_url_field": None},
            },
            {"type": "rest", "url": "u", "pagination": {"strategy": "cursor", "cursor_field": "next"}},
        ),
        ({"type": "rest", "url": "u", "row_count": 3, "config_snapshot": {"a": 1}}, {"type": "rest", "url": "u"}),
    ],
)
def test_a_source_of_the_second_spelling_means_one_of_the_first(written: dict[str, Any], meant: dict[str, Any]) -> None:
    assert source(**written) == {"id": "s", **meant}


def test_parameter_types_have_two_names() -> None:
    types = [("integer", "int"), ("number", "float"), ("boolean", "bool"), ("date", "date"), ("string", "string")]
    parameters = [{"name": old, "type": old, "default": None, "enum": None} for old, _ in types]
    assert tool(parameters=parameters)["parameters"] == [{"name": old, "type": new} for old, new in types]


def test_a_response_shape_is_a_result() -> None:
    assert tool(response_shape={"max_rows": 7, "rename": {"a": "b"}})["result"] == {"max_rows": 7, "rename": {"a": "b"}}


def test_the_first_spelling_passes_unchanged() -> None:
    document = json.loads((HERE / "native" / "shop.connector.json").read_text())
    again, rewriting = normalise(document, HERE / "native")
    changed = [source for source in document["sources"] if source["type"] == "csv"]
    for one in changed:
        one.update(type="file", format="csv")
    assert again == document
    assert set(rewriting.origins) == {"/sources/2/format"}


@pytest.mark.parametrize(
    ("base", "template", "address"),
    [
        ("https://h.example/v1", "/pets/{id}", "https://h.example/v1/pets/{id}"),
        ("https://h.example/v1/pets", "/pets/{id}", "https://h.example/v1/pets/{id}"),
        ("https://h.example/v1/pets/", "{id}/feed", "https://h.example/v1/pets/{id}/feed"),
        ("https://h.example/v1/pets?all=1", "", "https://h.example/v1/pets?all=1"),
        ("https://h.example/v1/pets?all=1", "/pets/{id}", "https://h.example/v1/pets/{id}"),
        ("https://h.example/v1", "https://other.example/x", "https://other.example/x"),
    ],
)
def test_a_path_template_stands_under_its_source(base: str, template: str, address: str) -> None:
    assert joined(base, template) == address


def test_an_api_mapping_is_a_request_with_the_sources_address_and_credentials() -> None:
    auth = {"type": "bearer", "secret_key": "T"}
    found = tool(
        [{"id": "pets", "type": "rest", "url": "https://h.example/pets", "auth": auth}],
        source_ids=["pets"],
        category="ACTION",
        api_mapping={
            "method": "put",
            "path_template": "/pets/{id}",
            "query_params": ["dry"],
            "body_params": {"label": "name"},
            "body_format": "form",
        },
    )
    assert found["request"] == {
        "method": "PUT",
        "url": "https://h.example/pets/{id}",
        "auth": auth,
        "query": {"dry": ":dry"},
        "body": {"label": ":name"},
        "body_format": "form",
    }
    assert "api_mapping" not in found


def test_passthrough_parameters_go_to_the_source_of_that_tool_only(tmp_path: Path) -> None:
    catalog = load(HERE / "second" / "helpdesk.connector.json")
    (node,) = [node for node in catalog.tool("help-desk", "search_tickets").graph.nodes if node.type == "rest"]
    assert node.configuration["params"] == {"words": ":words", "page": ":page"}
    assert "params" not in catalog.connector("help-desk").sources["tickets"].configuration


OPTIONAL = {"name": "p", "required": False}
REQUIRED = {"name": "p", "required": True}


@pytest.mark.parametrize(
    ("condition", "parameter", "sql"),
    [
        ({"operator": "=", "parameter_name": "p"}, REQUIRED, '"f" = :p'),
        ({"operator": "=", "parameter_name": "p"}, OPTIONAL, '(:p IS NULL OR "f" = :p)'),
        ({"operator": "!=", "value": "it's"}, None, "\"f\" != 'it''s'"),
        ({"operator": ">=", "value": 3}, None, '"f" >= 3'),
        ({"operator": "=", "value": True}, None, '"f" = true'),
        ({"operator": "in_list", "parameter_name": "p"}, REQUIRED, '"f" IN (:p)'),
        ({"operator": "in_list", "value": ["a", 2]}, None, "\"f\" IN ('a', 2)"),
        ({"operator": "in_list", "value": []}, None, "false"),
        ({"operator": "contains", "parameter_name": "p"}, REQUIRED, 'contains(lower(CAST("f" AS VARCHAR)), lower(:p))'),
        ({"operator": "is_null"}, None, '"f" IS NULL'),
        ({"operator": "is_not_null"}, None, '"f" IS NOT NULL'),
    ],
)
def test_each_filter_operator_is_bound_sql(
    condition: dict[str, Any], parameter: dict[str, Any] | None, sql: str
) -> None:
    asked = {"parameters": [parameter] if parameter else []}
    found = select_of(asked, "s", [{"conditions": [{"field": "f", **condition}]}], None, None, None, None)
    assert found == f'SELECT * FROM "s" WHERE ({sql})'
    assert problems(found) == ()


def test_groups_are_joined_by_and_and_their_conditions_by_their_own_word() -> None:
    groups = [
        {
            "logic": "OR",
            "conditions": [
                {"field": "a", "operator": "=", "parameter_name": "p"},
                {"field": "b", "operator": "is_null"},
            ],
        },
        {"conditions": [{"field": "c", "operator": "<", "value": 1}]},
    ]
    found = select_of({"parameters": [OPTIONAL]}, "s", groups, None, None, None, None)
    assert found == 'SELECT * FROM "s" WHERE ((:p IS NOT NULL AND "a" = :p) OR "b" IS NULL) AND ("c" < 1)'


def test_fields_aggregates_having_order_and_limits_become_clauses() -> None:
    fields = [
        {"field": "kind"},
        {"field": "*", "aggregation": "count"},
        {"field": "fee", "aggregation": "avg", "alias": "mean"},
    ]
    having = [{"conditions": [{"field": "mean", "operator": ">", "value": 2}]}]
    order = [{"field": "mean", "direction": "DESC"}, {"field": "kind"}]
    parameters = [{"name": "limit"}, {"name": "offset"}]
    found = select_of({"parameters": parameters}, "s", None, fields, having, order, 10)
    assert found == (
        'SELECT "kind", count(*) AS "count", avg("fee") AS "mean" FROM "s" GROUP BY "kind" HAVING (avg("fee") > 2) '
        'ORDER BY "mean" DESC, "kind" ASC LIMIT :limit OFFSET :offset'
    )
    assert problems(found) == ()


def test_names_and_values_of_a_filter_cannot_leave_their_quotes() -> None:
    groups = [{"conditions": [{"field": 'a" OR 1=1 --', "operator": "=", "value": "'; DROP TABLE t; --"}]}]
    found = select_of({}, 's" --', groups, None, None, None, None)
    assert found == 'SELECT * FROM "s"" --" WHERE ("a"" OR 1=1 --" = \'\'\'; DROP TABLE t; --\')'


def test_extras_warn_and_fail_nothing() -> None:
    document = json.loads((HERE / "second" / "clinic.connector.json").read_text())
    document["tools"][0]["offset_parameter"] = "skip"
    document["tools"][0]["colour"] = "blue"
    document["sources"][0]["frobnicate"] = {"deep": [1]}
    document["owner"] = "me"
    found = [
        f
        for f in lint(json.dumps(document), path=HERE / "second" / "clinic.connector.json")
        if f.code == "UNKNOWN_FIELD"
    ]
    assert sorted(f.place.pointer for f in found) == [
        "/owner",
        "/sources/0/frobnicate",
        "/tools/0/colour",
        "/tools/0/offset_parameter",
    ]
    assert all(f.severity is Severity.WARNING for f in found)


def test_a_finding_about_a_moved_field_points_to_where_it_was_written() -> None:
    document = json.loads((HERE / "second" / "helpdesk.connector.json").read_text())
    document["sources"][2]["url"] = 5
    document["tools"][1]["api_mapping"]["method"] = "BREW"
    found = {f.place.pointer for f in lint(json.dumps(document)) if f.severity is Severity.ERROR}
    assert "/sources/2/url" in found
    assert "/tools/1/api_mapping/method" in found
