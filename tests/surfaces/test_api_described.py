"""The OpenAPI document says of every route what it takes and what it answers, and real answers are what it says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from jackfield.surfaces.api.openapi import described
from jackfield.surfaces.api.routes import ENDPOINTS, PREFIX

from .apiserving import Api, api
from .serving import zoo

DOCUMENT: Mapping[str, Any] = described(ENDPOINTS, PREFIX)
SPECIES = {"arguments": {"species": "cat"}}
# (query, body, headers) with which each operation succeeds; names in braces of its path are filled in by the test.
ASKED: Mapping[str, Mapping[str, Any]] = {
    "list_connectors": {},
    "get_connector": {},
    "get_text": {},
    "put_text": {"json": {"text": "{text}"}, "headers": {"if-match": "{etag}"}},
    "create_connector": {"json": {"text": "{new}"}},
    "lint_text": {"json": {"text": "{text}", "connector": "zoo"}},
    "list_sources": {},
    "get_source": {},
    "preview_source": {"json": {"rows": 2}},
    "list_tools": {},
    "get_tool": {},
    "get_graph": {},
    "plan_tool": {"json": SPECIES},
    "run_tool": {"json": SPECIES},
    "list_skills": {},
    "get_skill": {},
    "get_prompt": {"json": SPECIES},
    "run_skill": {"json": SPECIES},
    "list_runs": {"params": {"limit": 10}},
    "get_run": {},
    "get_result": {},
    "list_sessions": {},
    "get_session": {},
    "list_audit": {"params": {"limit": 5, "since": "1h"}},
    "export_audit": {"params": {"format": "ndjson"}},
    "list_settings": {},
    "doctor": {},
    "list_errors": {},
    "get_connector_schema": {},
}
STREAMS = {"follow_events"}  # asked in test_api_events


def operation(name: str) -> tuple[str, str, Mapping[str, Any]]:
    for path, methods in DOCUMENT["paths"].items():
        for method, found in methods.items():
            if found["operationId"] == name:
                return method, path, found
    raise AssertionError(f"{name} is not described")


def answers_as_described(found: Mapping[str, Any], status: int, media: str, answer: httpx2.Response) -> None:
    said = found["responses"][str(status)]["content"]
    assert media in said, f"{media} is not among {list(said)}"
    if media == "application/json":
        schema = {**said[media]["schema"], "components": DOCUMENT["components"]}
        Draft202012Validator(schema).validate(answer.json())


def test_every_endpoint_is_described_and_asked_in_this_test() -> None:
    names = {each.name for each in ENDPOINTS}
    assert len(names) == len(ENDPOINTS)
    assert {found["operationId"] for path in DOCUMENT["paths"].values() for found in path.values()} == names
    assert set(ASKED) | STREAMS == names


def test_every_schema_of_the_document_is_one_and_every_reference_leads_somewhere() -> None:
    components = DOCUMENT["components"]["schemas"]
    for name, schema in components.items():
        Draft202012Validator.check_schema(schema)
        assert schema.get("title") == name or "title" in schema
    text = json.dumps(DOCUMENT)
    for reference in {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert reference in components
    assert DOCUMENT["openapi"].startswith("3.1")


def test_every_path_parameter_is_described() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for found in methods.values():
            named = {one["name"] for one in found["parameters"] if one["in"] == "path"}
            assert named == {part.partition("}")[0] for part in path.split("{")[1:]}


@pytest.mark.anyio
async def test_every_route_answers_as_it_is_described(tmp_path: Path) -> None:
    folder = tmp_path / "connectors"
    folder.mkdir()
    text = zoo(folder).read_text()
    async with api(tmp_path) as served:
        known = await names_in(served, text)
        for name, given in ASKED.items():
            method, path, found = operation(name)
            options = filled(dict(given), known)
            answer = await served.client.request(method.upper(), path.format(**known), **options)
            assert answer.status_code == (201 if name == "create_connector" else 200), (name, answer.text)
            media = answer.headers["content-type"].partition(";")[0]
            answers_as_described(found, answer.status_code, media, answer)


@pytest.mark.anyio
async def test_the_document_is_served(tmp_path: Path) -> None:
    async with api(tmp_path) as served:
        answer = await served.get("/openapi.json")
        assert answer.json() == json.loads(json.dumps(DOCUMENT))


@pytest.mark.anyio
async def test_an_error_has_the_one_shape_and_a_described_status_wherever_it_comes_from(tmp_path: Path) -> None:
    folder = tmp_path / "connectors"
    folder.mkdir()
    zoo(folder)
    asked: tuple[tuple[str, Mapping[str, Any], int, str], ...] = (
        ("get_connector", {"path": "/connectors/zo"}, 404, "TOOL_NOT_FOUND"),
        ("get_source", {"path": "/connectors/zoo/sources/none"}, 404, "TOOL_NOT_FOUND"),
        ("get_tool", {"path": "/tools/none"}, 404, "TOOL_NOT_FOUND"),
        ("run_tool", {"path": "/tools/none/run", "json": {}}, 404, "TOOL_NOT_FOUND"),
        ("run_tool", {"path": "/tools/list_animals/run", "json": {"args": 1}}, 422, "VALIDATION_INVALID_PARAMS"),
        ("run_tool", {"path": "/tools/list_animals/run", "content": b"{"}, 400, "VALIDATION_INVALID_PARAMS"),
        ("run_tool", {"path": "/tools/list_animals/run", "json": {"arguments": {"x": 1}}}, 422,
         "VALIDATION_INVALID_PARAMS"),
        ("get_prompt", {"path": "/skills/animal_report/prompt", "json": {}}, 422, "VALIDATION_MISSING_FIELD"),
        ("create_connector", {"path": "/connectors", "json": {}}, 422, "VALIDATION_MISSING_FIELD"),
        ("create_connector", {"path": "/connectors", "json": {"text": "{"}}, 422, "CONFIG_INVALID"),
        ("get_result", {"path": "/results/nothing"}, 410, "RESULT_EXPIRED"),
        ("get_run", {"path": "/runs/nothing"}, 410, "RESULT_EXPIRED"),
        ("get_session", {"path": "/sessions/nothing"}, 410, "RESULT_EXPIRED"),
        ("list_runs", {"path": "/runs", "params": {"limit": 0}}, 422, "VALIDATION_INVALID_PARAMS"),
        ("list_audit", {"path": "/audit", "params": {"since": "yesterday"}}, 422, "VALIDATION_INVALID_PARAMS"),
    )  # fmt: skip
    async with api(tmp_path) as served:
        for name, given, status, code in asked:
            method, _, found = operation(name)
            options = {key: value for key, value in given.items() if key != "path"}
            answer = await served.client.request(method.upper(), f"/api{given['path']}", **options)
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), (name, answer.text)
            answers_as_described(found, status, "application/json", answer)
        for method, path, status in (("GET", "/nowhere", 404), ("PATCH", "/tools", 405)):
            answer = await served.client.request(method, f"/api{path}")
            assert answer.status_code == status
            assert set(answer.json()["error"]) == {"code", "message", "hint", "details"}


async def names_in(served: Api, text: str) -> dict[str, str]:
    """What stands for the names of paths: of parts of the zoo, and of a call that was made."""
    run = (await served.run("list_animals")).headers["x-run-id"]
    session = (await served.get("/sessions")).json()["sessions"][0]["session"]
    etag = (await served.get("/connectors/zoo/text")).json()["etag"]
    new = text.replace('"zoo"', '"ark"').replace("list_animals", "list_pairs").replace("animal_report", "pair_report")
    narrow = json.loads(new)
    narrow["tools"][0]["result"] = {"page_size": 1}
    first = await served.post("/connectors", {"text": json.dumps({**narrow, "slug": "narrow"})})
    assert first.status_code == 201, first.text
    result = (await served.run("list_pairs")).headers["x-result-id"]
    new = new.replace("list_pairs", "list_boats").replace("pair_report", "boat_report")
    return {
        "connector": "zoo", "source": "animals", "tool": "list_animals", "skill": "animal_report", "run": run,
        "session": session, "result": result, "etag": etag, "text": text, "new": new,
    }  # fmt: skip


def filled(value: Any, known: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: filled(held, known) for name, held in value.items()}
    if isinstance(value, str) and value.startswith("{") and value.endswith("}") and value[1:-1] in known:
        return known[value[1:-1]]
    return value
