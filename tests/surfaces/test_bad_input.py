"""Each kind of bad input gives its code, says what was found, expected and would fix it, and has its exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from servers.http import HttpServer, Reply, Seen
from servers.mariadb import MariaDBServer
from servers.postgres import PostgresServer

from .conftest import Cli
from .test_call import connector

ANIMALS = {"items": [{"id": 1, "species": "cat"}, {"id": 2, "species": "dog"}]}
SPECIES = {"name": "species", "type": "string", "description": "Exact species to keep", "required": False}
LIMIT = {"name": "most", "type": "int", "description": "Most rows returned", "required": True}
SQL = "SELECT id, species FROM animals WHERE (:species IS NULL OR species = :species) LIMIT :most"


def cursor_for_ever(seen: Seen) -> Any:
    return {**ANIMALS, "next": "same"}


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    routes = {
        "/good": ANIMALS,
        "/html": Reply("<!doctype html><title>Sign in</title>", headers={"content-type": "text/html"}),
        "/empty": {"items": []},
        "/drift": {"items": [{"id": 1, "kind": "cat"}]},
        "/busy": Reply({"error": "slow down"}, 429, {"retry-after": "7"}),
        "/again": cursor_for_ever,
        "/denied": Reply({"error": "no"}, 401),
        "/broken": Reply({"error": "oops"}, 500),
        "/gone": Reply({"error": "gone"}, 404),
        "/elsewhere": Reply("", 302, {"location": "https://example.com/"}),
        "/shape": {"items": 3},
        "/typed": {"items": [{"id": "one", "species": "cat"}]},
    }
    with HttpServer(routes) as running:
        yield running


@dataclass(frozen=True)
class Case:
    """What is asked, and what must be answered. `says` are words of the message, `hint` of the hint."""

    path: str
    exit: int
    code: str
    says: tuple[str, ...]
    hint: str
    more: tuple[tuple[str, Any], ...] = ()
    arguments: tuple[str, ...] = ("most=5",)
    sql: str = SQL


CASES = {
    "wrong parameter type": Case("/good", 2, "VALIDATION_INVALID_PARAMS", ("most", "integer", "many"), "",
                                 arguments=("most=many",)),
    "missing parameter": Case("/good", 2, "VALIDATION_MISSING_FIELD", ("most", "required"), ""),
    "missing secret": Case("/good", 2, "SECRET_MISSING", ("animals", "auth.secret_key", "PET_TOKEN"),
                           "export PET_TOKEN",
                           (("auth", {"type": "bearer", "secret_key": "PET_TOKEN"}),)),
    "HTML instead of JSON": Case("/html", 3, "SOURCE_BAD_REPLY", ("animals", "JSON"), ""),
    "schema drift": Case("/drift", 3, "SCHEMA_CHANGED", ("species",), "",
                         (("schema", {"id": "int", "species": "string"}), ("contract", "freeze"))),
    "wrong type in a row": Case("/typed", 3, "TYPE_MISMATCH", ("id", "text", "int"), "",
                                (("schema", {"id": "int", "species": "string"}),)),
    "429 for ever": Case("/busy", 3, "RATE_LIMITED", ("429",), ""),
    "repeated cursor": Case("/again", 3, "SOURCE_BAD_REPLY", ("circles",), "",
                            (("pagination", {"strategy": "cursor", "cursor_param": "after", "cursor_field": "next"}),)),
    "refused by the source": Case("/denied", 4, "AUTH_FAILED", ("401",), ""),
    "source that fails": Case("/broken", 3, "SOURCE_ERROR", ("500",), ""),
    "source that is gone": Case("/gone", 3, "SOURCE_ERROR", ("404",), ""),
    "redirect": Case("/elsewhere", 3, "SOURCE_BAD_REPLY", ("302",), ""),
    "no list at data_path": Case("/shape", 3, "SOURCE_BAD_REPLY", ("items",), ""),
    "unknown column": Case("/good", 2, "SCHEMA_NOT_FOUND", ("specis",), "",
                           sql="SELECT specis FROM animals LIMIT :most"),
}  # fmt: skip


def lay(folder: Path, source: dict[str, Any], case: Case) -> Path:
    tool = {
        "id": "list_animals", "name": "List animals", "category": "READ",
        "description": "Return animals, optionally of one species.", "sql": case.sql,
        "parameters": [LIMIT] if ":species" not in case.sql else [SPECIES, LIMIT],
    }  # fmt: skip
    return connector(folder, [{"id": "animals", **source}], [tool])


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_answered(
    cli: Cli, server: HttpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("PET_TOKEN", raising=False)
    case = CASES[name]
    source = {"type": "rest", "url": f"{server.url}{case.path}", "data_path": "items", **dict(case.more)}
    arguments = () if name == "missing parameter" else case.arguments
    path = lay(tmp_path, source, case)
    outcome = cli("call", path, "list_animals", *arguments, "--timeout", 3, "--format", "json")
    assert (outcome.code, outcome.out) == (case.exit, ""), outcome.err
    error = outcome.error
    assert error["code"] == case.code
    assert set(error) == {"code", "message", "hint", "details"}
    for word in case.says:
        assert word in error["message"], error
    assert error["hint"], "an error says what would fix it"
    assert case.hint in error["hint"]
    plain = cli("call", path, "list_animals", *arguments, "--timeout", 3)
    assert plain.code == case.exit
    assert plain.err.startswith(f"{case.code}: {error['message']}")


def test_an_empty_source_gives_no_rows_and_no_error(cli: Cli, server: HttpServer, tmp_path: Path) -> None:
    case = Case("/empty", 0, "", (), "")
    path = lay(tmp_path, {"type": "rest", "url": f"{server.url}/empty", "data_path": "items"}, case)
    outcome = cli("call", path, "list_animals", "species=cat", "most=5", "--format", "json")
    assert outcome.code == 0
    assert outcome.json["rows"] == []


def test_429_names_the_seconds_to_wait(cli: Cli, server: HttpServer, tmp_path: Path) -> None:
    path = lay(tmp_path, {"type": "rest", "url": f"{server.url}/busy", "data_path": "items"}, Case("", 0, "", (), ""))
    error = cli("call", path, "list_animals", "most=5", "--timeout", 3, "--format", "json").error
    assert "7" in error["message"] + error["hint"]


def test_an_unknown_source_type_is_a_finding_with_its_place_and_the_near_type(cli: Cli, tmp_path: Path) -> None:
    path = lay(tmp_path, {"type": "postgrs", "dsn": "{{ env:DB }}", "table": "animals"}, Case("", 0, "", (), ""))
    path.write_text(json.dumps(json.loads(path.read_text()), indent=2))
    linted = cli("lint", path)
    assert linted.code == 1
    assert "postgres" in linted.out
    assert f"{path}:" in linted.out
    assert "^^^" in linted.out
    called = cli("call", path, "list_animals", "most=5")
    assert called.code == 1
    assert called.err.startswith("CONFIG_INVALID: ")
    assert "postgrs" in called.err


def test_an_unknown_parameter_type_is_a_finding_with_a_caret(cli: Cli, tmp_path: Path) -> None:
    path = lay(tmp_path, {"type": "rows", "rows": []}, Case("", 0, "", (), ""))
    document = json.loads(path.read_text())
    document["tools"][0]["parameters"][1]["type"] = "nubmer"
    path.write_text(json.dumps(document, indent=2))
    outcome = cli("lint", path, "--format", "json")
    assert outcome.code == 1
    found = [finding for finding in outcome.json["findings"] if finding["severity"] == "error"]
    assert found[0]["pointer"] == "/tools/0/parameters/1/type"
    line = path.read_text().splitlines()[found[0]["line"] - 1]
    assert line[found[0]["column"] - 1 :].startswith('"nubmer"')


def test_a_dead_host_is_unreachable(cli: Cli, tmp_path: Path) -> None:
    for source in (
        {"type": "rest", "url": "http://127.0.0.1:9/animals", "data_path": "items"},
        {"type": "postgres", "dsn": "postgresql://a:secret-word@127.0.0.1:9/db", "table": "animals"},
        {"type": "mysql", "dsn": "mysql://a:secret-word@127.0.0.1:9/db", "table": "animals"},
    ):
        path = lay(tmp_path, source, Case("", 0, "", (), ""))
        outcome = cli("call", path, "list_animals", "most=5", "--format", "json", "--timeout", 5)
        assert (outcome.code, outcome.error["code"]) == (3, "SOURCE_UNREACHABLE")
        assert outcome.error["hint"]
        assert outcome.error["message"].startswith("Source 'animals' of connector '")
        assert "127.0.0.1:9" in outcome.error["message"]
        assert "secret-word" not in outcome.err


def test_databases_name_what_is_there_when_a_table_is_not(
    cli: Cli, tmp_path: Path, postgres: PostgresServer, mariadb: MariaDBServer
) -> None:
    create = "CREATE TABLE animals (id int PRIMARY KEY, species varchar(20))"
    with postgres.database(create) as pg, mariadb.database(create) as my:
        for kind, dsn in (("postgres", pg), ("mysql", my)):
            path = lay(tmp_path, {"type": kind, "dsn": dsn, "table": "animal"}, Case("", 0, "", (), ""))
            outcome = cli("call", path, "list_animals", "most=5", "--format", "json")
            assert (outcome.code, outcome.error["code"]) == (2, "SCHEMA_NOT_FOUND")
            assert "animals" in json.dumps(outcome.error)


def test_a_wrong_password_is_refused_without_showing_it(cli: Cli, tmp_path: Path, postgres: PostgresServer) -> None:
    dsn = f"postgresql://{postgres.user}:not-the-password@127.0.0.1:{postgres.port}/postgres"
    path = lay(tmp_path, {"type": "postgres", "dsn": dsn, "table": "animals"}, Case("", 0, "", (), ""))
    outcome = cli("call", path, "list_animals", "most=5", "--format", "json")
    assert (outcome.code, outcome.error["code"]) == (4, "AUTH_FAILED")
    assert "not-the-password" not in outcome.err
