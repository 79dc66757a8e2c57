"""A connector's text over the API: checked before it is written, written whole, never over somebody else's edit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from .apiserving import Api, api
from .serving import connector, zoo


def laid(folder: Path) -> Path:
    """A workspace whose zoo lies in connectors/."""
    (folder / "connectors").mkdir()
    return zoo(folder / "connectors")


async def put(served: Api, text: str, etag: str | None) -> Any:
    headers = {} if etag is None else {"if-match": f'"{etag}"'}
    return await served.client.put("/api/connectors/zoo/text", json={"text": text}, headers=headers)


@pytest.mark.anyio
async def test_a_text_that_is_put_is_served_when_the_answer_comes(tmp_path: Path) -> None:
    path = laid(tmp_path)
    async with api(tmp_path) as served:
        found = (await served.get("/connectors/zoo/text")).json()
        assert found["text"] == path.read_text()
        edited = found["text"].replace('"1.0.0"', '"1.1.0"').replace('"Tom"', '"Tim"')
        answer = await put(served, edited, found["etag"])
        assert answer.status_code == 200, answer.text
        assert answer.json()["served"] is True
        assert path.read_text() == edited
        assert (await served.run("list_animals")).json()["rows"][0]["name"] == "Tim"
        assert (await served.get("/connectors/zoo/text")).json()["etag"] == answer.json()["etag"]
        assert os.listdir(path.parent) == ["zoo.connector.json"]


@pytest.mark.anyio
async def test_a_text_that_somebody_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = laid(tmp_path)
    async with api(tmp_path) as served:
        found = (await served.get("/connectors/zoo/text")).json()
        other = path.read_text().replace("Tom", "Tam")
        path.write_text(other)
        answer = await put(served, found["text"].replace("Tom", "Tim"), found["etag"])
        assert answer.status_code == 412
        assert answer.json()["error"]["details"]["etag"] == (await served.get("/connectors/zoo/text")).json()["etag"]
        assert path.read_text() == other


@pytest.mark.anyio
async def test_of_two_who_replace_the_same_text_at_once_one_is_told_that_he_came_too_late(tmp_path: Path) -> None:
    path = laid(tmp_path)
    async with api(tmp_path) as served:
        found = (await served.get("/connectors/zoo/text")).json()
        answers: dict[str, int] = {}

        async def write(name: str) -> None:
            answers[name] = (await put(served, found["text"].replace("Tom", name), found["etag"])).status_code

        async with anyio.create_task_group() as tasks:
            for name in ("Tim", "Tam", "Tum"):
                tasks.start_soon(write, name)
        assert sorted(answers.values()) == [200, 412, 412]
        winner = next(name for name, status in answers.items() if status == 200)
        assert winner in path.read_text()


@pytest.mark.anyio
async def test_which_text_is_replaced_must_be_said(tmp_path: Path) -> None:
    laid(tmp_path)
    async with api(tmp_path) as served:
        text = (await served.get("/connectors/zoo/text")).json()["text"]
        answer = await put(served, text, None)
        assert (answer.status_code, answer.json()["error"]["code"]) == (428, "VALIDATION_MISSING_FIELD")


@pytest.mark.anyio
async def test_a_text_with_an_error_is_not_written_and_its_findings_have_places(tmp_path: Path) -> None:
    path = laid(tmp_path)
    before = path.read_text()
    async with api(tmp_path) as served:
        found = (await served.get("/connectors/zoo/text")).json()
        broken = json.loads(before)
        broken["tools"][0]["sql"] = "SELECT * FROM planets"
        answer = await put(served, json.dumps(broken, indent=2), found["etag"])
        assert answer.status_code == 422
        error = answer.json()["error"]
        assert error["code"] == "CONFIG_INVALID"
        errors = [finding for finding in error["details"]["findings"] if finding["severity"] == "error"]
        assert errors
        assert all(finding["line"] for finding in errors)
        assert path.read_text() == before
        checked = (await served.post("/lint", {"text": json.dumps(broken, indent=2), "connector": "zoo"})).json()
        assert checked["ok"] is False
        assert {finding["code"] for finding in errors} <= {finding["code"] for finding in checked["findings"]}


@pytest.mark.anyio
async def test_the_slug_of_a_connector_is_not_changed_by_its_text(tmp_path: Path) -> None:
    laid(tmp_path)
    async with api(tmp_path) as served:
        found = (await served.get("/connectors/zoo/text")).json()
        answer = await put(served, found["text"].replace('"slug": "zoo"', '"slug": "ark"'), found["etag"])
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "CONFIG_INVALID")


@pytest.mark.anyio
async def test_a_file_that_was_broken_when_the_server_started_can_be_read_and_mended(tmp_path: Path) -> None:
    path = laid(tmp_path)
    good = path.read_text()
    path.write_text(good[:-1])
    async with api(tmp_path) as served:
        assert (await served.get("/tools")).json()["tools"] == []
        found = (await served.get("/connectors/zoo/text")).json()
        assert found["text"] == good[:-1]
        assert (await put(served, good, found["etag"])).status_code == 200
        assert len((await served.get("/tools")).json()["tools"]) == 1


@pytest.mark.anyio
async def test_only_files_in_the_connectors_folder_are_written(tmp_path: Path) -> None:
    path = zoo(tmp_path)
    text = path.read_text()
    async with api(tmp_path) as served:
        found = (await served.get("/connectors/zoo/text")).json()
        assert (await served.get("/connectors/zoo")).json()["editable"] is False
        answer = await put(served, text.replace("Tom", "Tim"), found["etag"])
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "ACCESS_DENIED")
        assert path.read_text() == text


@pytest.mark.anyio
async def test_a_link_in_the_connectors_folder_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "connectors").mkdir()
    target = zoo(tmp_path / "elsewhere")
    (tmp_path / "connectors" / "zoo.connector.json").symlink_to(target)
    text = target.read_text()
    async with api(tmp_path) as served:
        found = (await served.get("/connectors/zoo/text")).json()
        answer = await put(served, text.replace("Tom", "Tim"), found["etag"])
        assert answer.status_code in (403, 422)
        assert target.read_text() == text


@pytest.mark.anyio
async def test_a_new_connector_is_written_once_and_served(tmp_path: Path) -> None:
    async with api(tmp_path) as served:
        text = zoo(tmp_path).read_text()
        (tmp_path / "zoo.connector.json").unlink()
        answer = await served.post("/connectors", {"text": text})
        assert answer.status_code == 201, answer.text
        assert (tmp_path / "connectors" / "zoo.connector.json").read_text() == text
        assert (await served.run("list_animals")).json()["row_count"] == 3
        again = await served.post("/connectors", {"text": text})
        assert (again.status_code, again.json()["error"]["code"]) == (409, "VALIDATION_INVALID_PARAMS")


@pytest.mark.anyio
async def test_a_source_says_which_of_its_variables_are_not_set(tmp_path: Path) -> None:
    sources = [
        {"id": "orders", "type": "rest", "url": "{{ env:SHOP_API }}/orders",
         "auth": {"type": "bearer", "secret_key": "SHOP_TOKEN"}},
        {"id": "regions", "type": "csv", "path": "regions.csv"},
    ]  # fmt: skip
    connector(tmp_path, sources=sources)
    async with api(tmp_path, variables={"SHOP_API": "http://127.0.0.1:9"}) as served:
        found = {one["id"]: one for one in (await served.get("/sources")).json()["sources"]}
        assert (found["orders"]["auth"], found["orders"]["missing"]) == ("missing", ["SHOP_TOKEN"])
        assert found["orders"]["variables"] == ["SHOP_API", "SHOP_TOKEN"]
        assert (found["regions"]["auth"], found["regions"]["place"]) == ("none", "regions.csv")
        doctor = (await served.get("/doctor")).json()
        assert doctor["ok"] is False
        assert doctor["missing"] == [{"connector": "zoo", "source": "orders", "variable": "SHOP_TOKEN"}]
        looked = await served.post("/connectors/zoo/sources/orders/preview")
        assert (looked.status_code, looked.json()["error"]["code"]) == (424, "SECRET_MISSING")
