"""Whatever a service sends, discovery answers or says what is wrong: nothing it sends is a bug of ours."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from jackfield.connectors.discovery.authentication import need_of
from jackfield.connectors.discovery.columns import columns_of
from jackfield.connectors.discovery.envelope import envelope_of
from jackfield.connectors.discovery.found import Found
from jackfield.connectors.discovery.naming import identifier, name_of_address, slug
from jackfield.connectors.discovery.openapi import is_openapi, sources_of
from jackfield.connectors.discovery.pages import guesses, total_of
from jackfield.connectors.drafting.document import cases_of, document_of, text_of
from jackfield.connectors.drafting.tools import tools_of
from jackfield.connectors.lint import lint
from jackfield.connectors.model import IDENTIFIER, SLUG
from jackfield.graphs.errors import JackfieldError
from jackfield.graphs.findings import Severity
from jackfield.nodes.datapath import check_path

NAMES = st.sampled_from(
    ["data", "items", "next", "next_cursor", "page", "total", "limit", "offset", "links", "href", "count", "columns",
     "rows", "id", "", "a-b", '"', "é"]
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats(allow_nan=False) | st.text(max_size=5)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=20
)
KEYWORDS = st.sampled_from(
    ["$ref", "type", "properties", "items", "allOf", "oneOf", "anyOf", "enum", "parameters", "schema", "name", "in",
     "required", "get", "responses", "200", "content", "application/json", "security", "default", "maximum", "format"]
)  # fmt: skip
WORDS = st.sampled_from(["object", "array", "string", "integer", "#/components/schemas/A", "#/paths", "query", "path"])
SPEC = st.recursive(
    SCALARS | WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4)
)


@given(JSON, st.text(max_size=10))
@settings(max_examples=300, deadline=None)
def test_any_json_has_an_envelope_or_none_and_its_path_is_usable(document: Any, name: str) -> None:
    found = envelope_of(document, name)
    if found is not None:
        check_path(found.path)


@given(JSON, st.dictionaries(st.sampled_from(["link", "x-total-count"]), st.text(max_size=20)), st.integers(0, 200))
@settings(max_examples=300, deadline=None)
def test_any_json_gives_guesses_about_pages_that_a_source_takes(document: Any, headers: Any, count: int) -> None:
    from jackfield.nodes.http.pagination import Pagination

    for guess in guesses("https://api.example.com/x?page=1", headers, document, count):
        Pagination.model_validate(guess)
    total_of(headers, document)


@given(st.dictionaries(st.sampled_from(["/a", "/a/{b}", "x"]), SPEC, max_size=3), SPEC, SPEC)
@settings(max_examples=300, deadline=None)
def test_any_openapi_document_gives_sources_or_an_error_of_ours(paths: Any, components: Any, security: Any) -> None:
    document = {"openapi": "3.0.0", "paths": paths, "components": components, "security": security, "servers": security}
    assert is_openapi(document)
    with suppress(JackfieldError):
        sources_of(document, "https://api.example.com/openapi.json", "shop")


@given(SPEC)
@settings(max_examples=300, deadline=None)
def test_any_schema_of_a_reply_gives_sources_or_an_error_of_ours(schema: Any) -> None:
    answer = {"200": {"content": {"application/json": {"schema": schema}}}}
    document = {
        "openapi": "3.1.0",
        "paths": {"/a": {"get": {"responses": answer, "parameters": [schema, {"name": "n", "schema": schema}]}}},
        "components": {"schemas": {"A": schema}},
    }
    with suppress(JackfieldError):
        sources_of(document, "https://api.example.com/openapi.json", "shop")


@given(st.text(max_size=80), st.text(max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_challenge_and_any_name_give_names_that_fit(challenge: str, name: str) -> None:
    need = need_of(401, {"www-authenticate": challenge}, challenge, name)
    assert need is not None
    for variable in need.as_json()["set"]:
        assert IDENTIFIER.fullmatch(str(variable).lower())
    assert IDENTIFIER.fullmatch(identifier(name))
    assert SLUG.fullmatch(slug(name))
    with suppress(ValueError):
        assert IDENTIFIER.fullmatch(name_of_address(f"https://x/{name}"))


COLUMNS = st.lists(
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12), min_size=1, max_size=8,
    unique_by=lambda name: name.lower(),
)  # fmt: skip
VALUES = st.integers(0, 3) | st.sampled_from(["a", "b"]) | st.booleans() | st.none()


PLACES: list[dict[str, Any]] = [
    {"type": "rows", "rows": [{"a": 1}]},
    {"type": "postgres", "dsn": "{{ env:DB }}", "table": "t"},
    {"type": "mysql", "dsn": "{{ env:DB }}", "table": "t"},
]


@given(COLUMNS, st.data())
@settings(max_examples=300, deadline=None)
def test_tools_over_columns_of_any_name_lint_without_error_or_warning(names: list[str], data: st.DataObject) -> None:
    kinds = [data.draw(st.sampled_from([int, str, bool])) for _ in names]
    rows = [{name: kind(n % 3) for name, kind in zip(names, kinds, strict=True)} for n in range(8)]
    columns = columns_of(pa.Table.from_pylist(rows), "things")
    place = data.draw(st.sampled_from(PLACES))
    found = [Found("things", {"id": "things", **place}, columns)]
    tools = tools_of(found)
    text = text_of(document_of("Any", "any", "1.0.0", "", [dict(found[0].source)], tools, {}))
    assert [f.message for f in lint(text) if f.severity is not Severity.INFO] == []
    cases_of("Any", "any", found, tools)
