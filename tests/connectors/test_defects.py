"""What is known to go wrong in other runtimes of these files, each shown to go right here, end to end."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from servers.http import HttpServer, Reply

from jackfield.connectors.catalog import load
from jackfield.connectors.lint import lint
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.findings import has_errors
from jackfield.surfaces.app import App

LONG = "a_column_whose_name_is_longer_than_the_sixty_three_characters_that_some_databases_allow"
ANIMALS = [{"id": n, "species": "cat" if n % 2 else "dog", LONG: n * 10} for n in range(1, 6)]


def connector(folder: Path, sql: str, sources: Sequence[dict[str, Any]], *parameters: dict[str, Any]) -> Path:
    document = {
        "name": "Zoo",
        "slug": "zoo",
        "version": "1.0.0",
        "sources": list(sources),
        "tools": [
            {
                "id": "list_animals",
                "name": "List animals",
                "description": "Return animals of the zoo.",
                "category": "READ",
                "sql": sql,
                "parameters": list(parameters),
            }
        ],
    }
    path = folder / "zoo.connector.json"
    path.write_text(json.dumps(document))
    return path


def rows(name: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": name, "type": "rows", "rows": content}


async def answer(path: Path, **arguments: Any) -> list[dict[str, Any]]:
    async with App([path]) as app:
        found: list[dict[str, Any]] = (await app.call("zoo", "list_animals", arguments)).as_json()["rows"]
        return found


LIMIT = {"name": "limit", "type": "integer", "required": False, "description": "Most rows"}
SPECIES = {"name": "species", "type": "string", "required": False, "description": "Species, exact"}


@pytest.mark.anyio
async def test_an_optional_limit_that_is_absent_limits_nothing(tmp_path: Path) -> None:
    path = connector(tmp_path, "SELECT id FROM animals ORDER BY id LIMIT :limit", [rows("animals", ANIMALS)], LIMIT)
    assert len(await answer(path)) == 5
    assert len(await answer(path, limit=2)) == 2


@pytest.mark.anyio
async def test_a_default_is_bound_where_the_argument_is_absent_or_null(tmp_path: Path) -> None:
    limit = {**LIMIT, "default": 3}
    path = connector(tmp_path, "SELECT id FROM animals ORDER BY id LIMIT :limit", [rows("animals", ANIMALS)], limit)
    assert len(await answer(path)) == 3
    assert len(await answer(path, limit=None)) == 3


@pytest.mark.anyio
async def test_a_column_whose_name_is_too_long_for_databases_is_read_under_a_shorter_one(tmp_path: Path) -> None:
    path = connector(tmp_path, "SELECT * FROM animals WHERE id = 2 LIMIT 1", [rows("animals", ANIMALS)])
    (row,) = await answer(path)
    (short,) = [name for name, value in row.items() if value == 20]
    assert LONG.startswith(short[:50])
    path = connector(tmp_path, f"SELECT {LONG} FROM animals LIMIT 1", [rows("animals", ANIMALS)])
    with pytest.raises(JackfieldError) as caught:
        await answer(path)
    assert caught.value.code is Code.SCHEMA_NOT_FOUND
    assert short in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM animals WHERE species <> 'DROP TABLE x; DELETE FROM y; --' AND id = 1 LIMIT 9",
        "WITH few AS (SELECT id FROM animals WHERE id < 2) SELECT id FROM few LIMIT 9",
        "SELECT id FROM animals WHERE id = 1 /* update; insert */ LIMIT 9;",
        "SELECT id FROM animals WHERE 'create ' || species <> 'x;y' AND id = 1 LIMIT 9",
    ],
)
async def test_keywords_and_semicolons_in_literals_and_with_are_allowed(tmp_path: Path, sql: str) -> None:
    path = connector(tmp_path, sql, [rows("animals", ANIMALS)])
    assert not has_errors(lint(path))
    assert await answer(path) == [{"id": 1}]


@pytest.mark.anyio
async def test_child_rows_join_their_parents(tmp_path: Path) -> None:
    nested = [{"id": 1, "meals": [{"food": "hay"}, {"food": "oats"}]}, {"id": 2, "meals": [{"food": "fish"}]}]
    sql = "SELECT a.id, m.food FROM animals a JOIN animals_meals m ON m._parent_id = a.id ORDER BY 1, 2 LIMIT 9"
    with HttpServer({"/animals": {"items": nested}}) as server:
        source = {"id": "animals", "type": "rest", "url": f"{server.url}/animals", "data_path": "items"}
        path = connector(tmp_path, sql, [source])
        found = await answer(path)
    assert found == [{"id": 1, "food": "hay"}, {"id": 1, "food": "oats"}, {"id": 2, "food": "fish"}]


@pytest.mark.anyio
async def test_one_empty_source_does_not_empty_a_left_join(tmp_path: Path) -> None:
    sql = "SELECT a.id, k.name FROM animals a LEFT JOIN keepers k ON k.animal = a.id WHERE a.id < 3 ORDER BY 1 LIMIT 9"
    with HttpServer({"/keepers": {"items": []}}) as server:
        keepers = {"id": "keepers", "type": "rest", "url": f"{server.url}/keepers", "data_path": "items"}
        path = connector(tmp_path, sql, [rows("animals", ANIMALS), keepers])
        assert await answer(path) == [{"id": 1, "name": None}, {"id": 2, "name": None}]


@pytest.mark.anyio
async def test_arrays_are_not_cut_at_a_thousand_rows(tmp_path: Path) -> None:
    (tmp_path / "animals.json").write_text(json.dumps([{"id": n} for n in range(2500)]))
    source = {"id": "animals", "type": "json", "path": "animals.json"}
    path = connector(tmp_path, "SELECT count(*) AS n FROM animals", [source])
    assert await answer(path) == [{"n": 2500}]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply("<html><body>Sign in</body></html>", 200, {"content-type": "text/html"}), Code.SOURCE_BAD_REPLY),
        (Reply({"error": "slow down"}, 429, {"retry-after": "3600"}), Code.RATE_LIMITED),
    ],
    ids=["html", "429"],
)
async def test_html_and_429_have_codes_of_their_own(tmp_path: Path, reply: Reply, code: Code) -> None:
    with HttpServer({"/animals": lambda seen: reply}) as server:
        source = {"id": "animals", "type": "rest", "url": f"{server.url}/animals", "data_path": "items"}
        path = connector(tmp_path, "SELECT id FROM animals LIMIT 5", [source])
        with pytest.raises(JackfieldError) as caught:
            await answer(path)
    assert caught.value.code is code
    assert "html" in caught.value.message.lower() or code is Code.RATE_LIMITED


@pytest.mark.anyio
async def test_a_skill_with_unknown_tools_fails_itself_and_empties_nothing(tmp_path: Path) -> None:
    path = connector(tmp_path, "SELECT id FROM animals WHERE id = 1 LIMIT 5", [rows("animals", ANIMALS)])
    document = json.loads(path.read_text())
    document["skills"] = [
        {"id": "s", "name": "S", "description": "Report on it", "tool_ids": ["list_animal"], "prompt_template": "x"}
    ]
    path.write_text(json.dumps(document))
    assert "SKILL_INVALID" in [finding.code for finding in lint(path)]
    assert list(load(path).connector("zoo").tools) == ["list_animals"]
    assert await answer(path) == [{"id": 1}]
    async with App([path]) as app:
        with pytest.raises(JackfieldError) as caught:
            await app.call("zoo", "s", {})
    assert caught.value.code is Code.INVALID_SKILL
    assert caught.value.hint == "Did you mean 'list_animals'?"


@pytest.mark.anyio
async def test_the_seed_connector_answers_for_one_species(tmp_path: Path) -> None:
    seed = json.loads((Path(__file__).parent / "seed" / "petstore.connector.json").read_text())
    animals = [{"id": 1, "species": "cat"}, {"id": 2, "species": "dog"}, {"id": 3, "species": "cat"}]
    with HttpServer({"/animals": {"items": animals}}) as server:
        seed["sources"][0]["url"] = f"{server.url}/animals"
        path = tmp_path / "petstore.connector.json"
        path.write_text(json.dumps(seed))
        async with App([path], variables={"PETSTORE_API_KEY": "key-of-the-store"}) as app:
            found = (await app.call("petstore", "list_animals", {"species": "cat"})).as_json()["rows"]
            every = (await app.call("petstore", "list_animals", {})).as_json()["rows"]
        assert {request.headers["x-api-key"] for request in server.requests} == {"key-of-the-store"}
    assert [row["id"] for row in found] == [1, 3]
    assert len(every) == 3
