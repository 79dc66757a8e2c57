"""Connectors in the second spelling, called for real: passthrough, an action, basic credentials, a cursor, uploads."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from servers.http import HttpServer, Seen

from jackfield.surfaces.app import App

HERE = Path(__file__).parent
LOGIN = {"DESK_LOGIN": "joe:pass:word"}


def desk(folder: Path, url: str) -> Path:
    document = json.loads((HERE / "second" / "helpdesk.connector.json").read_text())
    for source in document["sources"][:2]:
        source["url"] = source["url"].replace("https://desk.example.com", url)
    path = folder / "helpdesk.connector.json"
    path.write_text(json.dumps(document))
    return path


def tickets(seen: Seen) -> Any:
    if seen.query.get("cursor") == "2":
        return {"items": [{"id": 3}], "meta": {"next": None}}
    return {"items": [{"id": 1}, {"id": 2}], "meta": {"next": "2"}}


@pytest.mark.anyio
async def test_query_parameters_pass_through_and_pages_follow_the_cursor(tmp_path: Path) -> None:
    with HttpServer({"/v2/tickets": tickets}) as server:
        async with App([desk(tmp_path, server.url)], variables=LOGIN) as app:
            found = (await app.call("help-desk", "search_tickets", {"words": "no power & light"})).as_json()["rows"]
        first = server.requests[0]
    assert [row["id"] for row in found] == [1, 2, 3]
    assert first.query["words"] == "no power & light"
    assert first.query["page"] == "1"
    assert base64.b64decode(first.headers["authorization"].removeprefix("Basic ")) == b"joe:pass:word"


@pytest.mark.anyio
async def test_an_api_mapping_sends_its_request(tmp_path: Path) -> None:
    with HttpServer({"PATCH /v2/tickets/{id}/close": {"state": "closed"}}) as server:
        async with App([desk(tmp_path, server.url)], variables=LOGIN) as app:
            arguments = {"ticket_id": 7, "reason": "It works {{ env:DESK_LOGIN }}", "notify": True}
            answer = await app.call("help-desk", "close_ticket", arguments)
        (request,) = server.requests
    assert answer.value["response"]["body"] == {"state": "closed"}
    assert request.path == "/v2/tickets/7/close"
    assert request.query == {"notify": "true"}
    assert request.json() == {"reason": "It works {{ env:DESK_LOGIN }}"}  # TPL-04: call data is never expanded


@pytest.mark.anyio
async def test_filters_fields_order_and_renames_answer() -> None:
    path = HERE / "second" / "clinic.connector.json"
    async with App([path]) as app:
        visits = (await app.call("vet-clinic", "list_visits", {})).as_json()["rows"]
        one = (await app.call("vet-clinic", "list_visits", {"animal": "Bella", "limit": 1})).as_json()["rows"]
        owners = (await app.call("vet-clinic", "list_owners", {})).as_json()["rows"]
    assert [(row["animal"], row["fee_eur"]) for row in visits] == [("Rex", 60), ("Bella", 25), ("Bella", 40)]
    assert list(visits[0]) == ["animal", "day", "fee_eur"]
    assert [row["fee_eur"] for row in one] == [25]
    assert [row["owner"] for row in owners] == ["Ann", "Bob"]
