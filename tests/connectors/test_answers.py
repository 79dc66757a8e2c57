"""The schema of a tool's answer: what is sure, and nothing that an answer could break."""

import json
from pathlib import Path
from typing import Any

import pytest
from connector_documents import Change, drop, put, written
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from jackfield.connectors.catalog import load
from jackfield.surfaces.app import App

INT = {"type": ["integer", "string", "null"]}
TEXT = {"type": ["string", "null"]}


def row(folder: Path, *changes: Change) -> Any:
    schema = load(written(folder, *changes)).tool("zoo", "list_animals").output_schema
    return None if schema is None else schema["properties"]["rows"]["items"].get("properties")


def sql(text: str) -> Change:
    return put("tools/0/sql", text)


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("SELECT id, species FROM animals WHERE species = :species", {"id": INT, "species": TEXT}),
        ("SELECT id AS n, upper(species) AS id FROM animals WHERE species = :species", {"n": INT, "id": {}}),
        ("SELECT a.id FROM animals a JOIN cages c ON c.animal = a.id WHERE species = :species", {"id": {}}),
        ("SELECT x AS id FROM (SELECT species AS x FROM animals WHERE species = :species)", {"id": {}}),
        ("SELECT * FROM animals WHERE species = :species", None),
        ("SELECT id, count(*) FROM animals WHERE species = :species GROUP BY 1", None),
        ("SELECT id, id FROM animals WHERE species = :species", None),
        ("SELEC", None),
    ],
)
def test_columns_are_those_that_the_sql_names_typed_where_declared(
    tmp_path: Path, statement: str, columns: Any
) -> None:
    assert row(tmp_path, sql(statement)) == columns


def test_chosen_and_renamed_columns_are_what_is_promised(tmp_path: Path) -> None:
    result = put("tools/0/result", {"fields": ["species"], "rename": {"species": "kind"}})
    assert row(tmp_path, result) == {"kind": TEXT}


def test_the_rows_of_one_source_have_its_declared_columns(tmp_path: Path) -> None:
    changes = [drop("tools/0/sql"), put("tools/0/source_ids", ["animals"])]
    assert row(tmp_path, *changes) == {"id": INT, "species": TEXT, "keeper": TEXT}
    assert row(tmp_path, *changes, drop("sources/0/schema")) is None


@pytest.mark.parametrize(
    "given",
    [
        {"type": "object", "properties": {"id": {"type": "integer"}}},
        {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}},
        {
            "type": "object",
            "properties": {"rows": {"type": "array", "items": {"properties": {"id": {"type": "integer"}}}}},
        },
    ],
    ids=["a row", "rows", "the object"],
)
def test_what_the_author_says_is_taken_as_a_row_as_rows_or_as_the_object(tmp_path: Path, given: Any) -> None:
    assert row(tmp_path, put("tools/0/output_schema", given)) == {"id": INT}


def test_every_kind_of_tool_is_described_unasked(tmp_path: Path) -> None:
    tools = load(written(tmp_path)).connector("zoo").tools
    schemas = {tool.id: tool.output_schema for tool in tools.values()}
    found = {name: None if schema is None else list(schema["properties"]) for name, schema in schemas.items()}
    page = ["rows", "row_count", "truncated", "total_rows", "truncation_reason", "next_cursor"]
    assert found == {
        "list_animals": page,
        "find_keeper": None,  # a query at its database, whose columns only that knows
        "feed_animal": ["response"],
        "export_animals": ["report"],
    }


@pytest.mark.anyio
async def test_real_answers_fit_their_schema(tmp_path: Path) -> None:
    rows = [
        {"id": 2**60, "day": "2026-01-02", "share": None, "name": "a"},
        {"id": 1, "day": None, "share": 0.5, "name": None},
    ]
    source = {
        "id": "animals",
        "type": "rows",
        "rows": rows,
        "schema": {"id": "int", "day": "date", "share": "float", "name": "string"},
    }
    statement = sql("SELECT id, day, share, name, id + 1 AS next FROM animals LIMIT 9")
    path = written(tmp_path, put("sources/0", source), statement, put("tools/0/parameters", []))
    async with App([path]) as app:
        schema = app.catalog.tool("zoo", "list_animals").output_schema
        whole = (await app.call("zoo", "list_animals", {})).as_json()
        page = (await app.call("zoo", "list_animals", {}, page=1)).as_json()
    assert schema is not None
    for answer in (whole, page):
        problems = [error.message for error in Draft202012Validator(schema).iter_errors(json.loads(json.dumps(answer)))]
        assert problems == []
