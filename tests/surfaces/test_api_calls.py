"""Running tools over the API: the one way of every served call, in pages, whole, and for its caller alone."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from servers.audit import fill
from servers.http import Hang, HttpServer
from starlette.types import Scope

from .apiserving import api
from .serving import LIST_ANIMALS, SOURCE, connector, zoo


def numbers(folder: Path, rows: int, page_size: int = 10, **result: Any) -> Path:
    tool = {
        "id": "list_numbers", "name": "List numbers", "category": "READ", "parameters": [],
        "description": "Return numbers from 0. Returns many rows.",
        "sql": "SELECT n, n * 2 AS twice FROM numbers ORDER BY n", "result": {"page_size": page_size, **result},
    }  # fmt: skip
    source = {"id": "numbers", "type": "rows", "rows": [{"n": n} for n in range(rows)]}
    return connector(folder, sources=[source], tools=[tool])


@pytest.mark.anyio
async def test_pages_go_on_at_their_cursor_and_the_whole_is_kept(tmp_path: Path) -> None:
    numbers(tmp_path, 25)
    async with api(tmp_path) as served:
        first = await served.run("list_numbers")
        seen, cursor = first.json()["rows"], first.json()["next_cursor"]
        while cursor:
            page = (await served.post("/tools/list_numbers/run", {"cursor": cursor})).json()
            seen += page["rows"]
            cursor = page["next_cursor"]
        assert [row["n"] for row in seen] == list(range(25))
        whole = (await served.get(f"/results/{first.headers['x-result-id']}")).json()
        assert whole == {"rows": seen, "row_count": 25, "truncated": False, "total_rows": 25,
                         "truncation_reason": None, "next_cursor": None}  # fmt: skip


@pytest.mark.anyio
async def test_a_result_is_read_in_each_format(tmp_path: Path) -> None:
    numbers(tmp_path, 25)
    async with api(tmp_path) as served:
        place = f"/results/{(await served.run('list_numbers')).headers['x-result-id']}"
        lines = (await served.get(place, params={"format": "csv"})).text.split("\r\n")
        assert (lines[0], lines[25], len(lines)) == ("n,twice", "24,48", 27)
        parquet = await served.get(place, params={"format": "parquet"})
        assert pq.read_table(io.BytesIO(parquet.content)).column("twice").to_pylist()[-1] == 48
        arrow = await served.get(place, headers={"accept": "application/vnd.apache.arrow.stream"})
        assert pa.ipc.open_stream(arrow.content).read_all().num_rows == 25
        ndjson = await served.get(place, params={"format": "ndjson"})
        assert json.loads(ndjson.text.splitlines()[24]) == {"n": 24, "twice": 48}


@pytest.mark.anyio
async def test_a_result_whose_time_is_over_is_gone(tmp_path: Path) -> None:
    numbers(tmp_path, 25)
    async with api(tmp_path, environment={"JACKFIELD_RESULT_TTL_S": "0.01"}) as served:
        result = (await served.run("list_numbers")).headers["x-result-id"]
        with anyio.fail_after(5):
            while (answer := await served.get(f"/results/{result}")).status_code == 200:
                await anyio.lowlevel.checkpoint()
        assert (answer.status_code, answer.json()["error"]["code"]) == (410, "RESULT_EXPIRED")


@pytest.mark.anyio
async def test_the_whole_has_all_rows_also_those_beyond_the_cap_of_the_tool(tmp_path: Path) -> None:
    numbers(tmp_path, 25, max_rows=15)
    async with api(tmp_path) as served:
        place = f"/results/{(await served.run('list_numbers')).headers['x-result-id']}"
        whole = await served.get(place)
        assert (whole.json()["row_count"], whole.json()["truncated"]) == (25, False)
        csv = await served.get(place, params={"format": "csv"})
        assert csv.text.split("\r\n")[25] == "24,48"
        assert "x-truncation-reason" not in csv.headers


@pytest.mark.anyio
@pytest.mark.parametrize("format", ["json", "csv", "ndjson", "arrow", "parquet"])
async def test_a_whole_that_had_no_room_says_so_in_each_format(tmp_path: Path, format: str) -> None:
    numbers(tmp_path, 2_000, max_rows=15)
    async with api(tmp_path) as served:
        served.service.app.results.max_bytes = 4_000
        place = f"/results/{(await served.run('list_numbers')).headers['x-result-id']}"
        headers = (await served.get(place, params={"format": format})).headers
        kept = (await served.get(place)).json()
        assert headers["x-truncation-reason"] == kept["truncation_reason"] == "result_cap"
        assert headers["x-total-rows"] == "2000"
        assert int(headers["x-row-count"]) == kept["row_count"] < 2_000


@pytest.mark.anyio
async def test_all_rows_come_in_one_answer_where_a_format_for_programs_is_accepted(tmp_path: Path) -> None:
    numbers(tmp_path, 12_345, max_rows=15)
    async with api(tmp_path) as served:
        answer = await served.post("/tools/list_numbers/run", headers={"accept": "application/vnd.apache.parquet"})
        table = pq.read_table(io.BytesIO(answer.content))
        assert table.column("n").to_pylist() == list(range(12_345))
        line = (await served.get("/audit")).json()["lines"][0]
        assert (line["tool"], line["rows"], line["run"]) == ("list_numbers", 12_345, answer.headers["x-run-id"])


@pytest.mark.anyio
async def test_a_call_has_one_audit_line_and_is_remembered_with_the_events_of_its_run(tmp_path: Path) -> None:
    zoo(tmp_path)
    async with api(tmp_path) as served:
        run = (await served.run("list_animals", species="cat")).headers["x-run-id"]
        await served.run("list_animals", species=3)
        lines = (await served.get("/audit")).json()["lines"]
        assert [(line["tool"], line["error"], line["era"]) for line in lines] == [
            ("list_animals", "VALIDATION_INVALID_PARAMS", "api"), ("list_animals", None, "api"),
        ]  # fmt: skip
        found = (await served.get(f"/runs/{run}")).json()
        assert found["call"]["arguments"] == {"species": "cat"}
        kinds = [event["kind"] for event in found["events"]]
        assert (kinds[0], kinds[-1]) == ("run_started", "run_finished")
        assert {event["node"] for event in found["events"] if event["kind"] == "finished"} >= {"animals", "sql"}
        assert (found["nodes"]["sql"]["rows"], found["nodes"]["sql"]["firings"]) == (2, 1)
        assert (found["nodes"]["animals"]["rows"], found["nodes"]["animals"]["cached"]) == (3, True)
        failed = (await served.get("/runs")).json()["recent"][0]
        assert (failed["state"], failed["error"]["code"]) == ("failed", "VALIDATION_INVALID_PARAMS")
        events = (await served.get(f"/runs/{failed['run']}")).json()["events"]
        assert "run_failed" in [event["kind"] for event in events]


@pytest.mark.anyio
async def test_a_client_that_goes_away_ends_its_call(tmp_path: Path) -> None:
    hang = Hang()
    with HttpServer({"/slow": hang}) as server:
        tool = {**LIST_ANIMALS, "sql": "SELECT * FROM slow LIMIT 5", "parameters": []}
        connector(tmp_path, sources=[{"id": "slow", "type": "rest", "url": f"{server.url}/slow"}], tools=[tool])
        async with api(tmp_path) as served:
            with anyio.fail_after(10):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(served.run, "list_animals")
                    await anyio.to_thread.run_sync(hang.arrived.wait)
                    live = (await served.get("/runs")).json()["live"]
                    assert [call["name"] for call in live] == ["list_animals"]
                    tasks.cancel_scope.cancel()
                await anyio.to_thread.run_sync(hang.closed.wait)
                while (await served.get("/runs")).json()["live"]:
                    await anyio.lowlevel.checkpoint()
            line = (await served.get("/audit")).json()["lines"][0]
            assert line["error"] == "CANCELLED"


@pytest.mark.anyio
async def test_a_write_with_an_idempotency_key_happens_once(tmp_path: Path) -> None:
    tool = {
        "id": "export_animals", "name": "Export animals", "category": "WRITE", "parameters": [],
        "description": "Write all animals into the export file.", "sql": "SELECT id, name FROM animals",
        "save": {"to": "file", "mode": "append"},
    }  # fmt: skip
    save = {"id": "file", "type": "jsonl", "path": "./animals.jsonl"}
    connector(tmp_path, sources=[SOURCE], tools=[tool], saves=[save])
    async with api(tmp_path) as served:
        for _ in range(2):
            answer = await served.post("/tools/export_animals/run", headers={"idempotency-key": "once"})
            assert answer.status_code == 200, answer.text
        assert len((tmp_path / "animals.jsonl").read_text().splitlines()) == 3
        again = await served.post("/tools/export_animals/run", headers={"idempotency-key": "twice"})
        assert again.status_code == 200
        assert len((tmp_path / "animals.jsonl").read_text().splitlines()) == 6
        refused = await served.post("/tools/export_animals/run", headers={"accept": "text/csv"})
        assert refused.json()["error"]["code"] == "VALIDATION_INVALID_PARAMS"
        assert len((tmp_path / "animals.jsonl").read_text().splitlines()) == 6


@pytest.mark.anyio
async def test_a_plan_says_what_a_source_would_be_asked_and_calls_nothing(tmp_path: Path) -> None:
    with HttpServer({"/items": []}) as server:
        source = {"id": "items", "type": "rest", "url": f"{server.url}/items",
                  "pushdown": {"kind": {"param": "kind", "operators": ["="], "exact": True}}}  # fmt: skip
        parameter = {"name": "kind", "type": "string", "description": "Exact kind", "required": True}
        tool = {**LIST_ANIMALS, "sql": "SELECT id FROM items WHERE kind = :kind LIMIT 5", "parameters": [parameter]}
        connector(tmp_path, sources=[source], tools=[tool])
        async with api(tmp_path) as served:
            told = (await served.post("/tools/list_animals/plan", {"arguments": {"kind": "a"}})).json()
            assert "kind=a" in told["sources"][0]["sent"][0]
            assert told["missing"] is None
            unsaid = (await served.post("/tools/list_animals/plan")).json()
            assert unsaid["missing"]["code"] == "VALIDATION_MISSING_FIELD"
            assert server.requests == []
            assert (await served.get("/audit")).json()["lines"] == []


def by_token(scope: Scope) -> str | None:
    tokens = {b"Bearer a": "alice", b"Bearer b": "bob", b"Bearer o": "local"}
    return tokens.get(dict(scope["headers"]).get(b"authorization", b""))


@pytest.mark.anyio
async def test_what_is_kept_for_one_principal_is_nothing_to_another(tmp_path: Path) -> None:
    numbers(tmp_path, 25)
    alice, bob, operator = ({"authorization": f"Bearer {token}"} for token in "abo")
    async with api(tmp_path, authenticate=by_token) as served:
        assert (await served.get("/tools")).status_code == 401
        first = await served.post("/tools/list_numbers/run", headers=alice)
        place = f"/results/{first.headers['x-result-id']}"
        run = f"/runs/{first.headers['x-run-id']}"
        assert (await served.get(place, headers=alice)).status_code == 200
        cursor = {"cursor": first.json()["next_cursor"]}
        for other in (bob, operator):
            assert (await served.get(place, headers=other)).status_code == 410
            taken = await served.post("/tools/list_numbers/run", cursor, headers=other)
            assert taken.json()["error"]["code"] == "RESULT_EXPIRED"
        assert (await served.get(run, headers=bob)).status_code == 410
        assert (await served.get(run, headers=alice)).status_code == 200
        assert (await served.get(run, headers=operator)).status_code == 200
        assert {call["principal"] for call in (await served.get("/runs", headers=bob)).json()["recent"]} == {"bob"}
        assert {one["principal"] for one in (await served.get("/sessions", headers=bob)).json()["sessions"]} == {"bob"}
        asked = {"principal": "alice"}
        lines = (await served.get("/audit", headers=bob, params=asked)).json()["lines"]
        assert {line["principal"] for line in lines} == {"bob"}
        assert (await served.get("/audit", headers=operator, params=asked)).json()["lines"]


@pytest.mark.anyio
async def test_only_the_operator_sees_and_writes_what_is_set_up(tmp_path: Path) -> None:
    numbers(tmp_path, 3)
    async with api(tmp_path, authenticate=by_token) as served:
        for path in ("/connectors", "/connectors/zoo/text", "/sources", "/settings", "/doctor"):
            answer = await served.get(path, headers={"authorization": "Bearer a"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "ACCESS_DENIED")
            assert (await served.get(path, headers={"authorization": "Bearer o"})).status_code == 200
        for path in ("/connectors", "/lint", "/connectors/zoo/sources/numbers/preview", "/tools/list_numbers/plan"):
            answer = await served.post(path, headers={"authorization": "Bearer a"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "ACCESS_DENIED")


@pytest.mark.anyio
async def test_the_audit_is_exported_with_formulas_guarded(tmp_path: Path) -> None:
    zoo(tmp_path)
    async with api(tmp_path) as served:
        await served.post("/tools/list_animals/run", headers={"x-session-id": "=1+1"})
        text = (await served.get("/audit/export")).text
        assert "'=1+1" in text
        assert (await served.get("/audit/export", params={"session": "another"})).text.count("\n") == 1


@pytest.mark.anyio
async def test_the_audit_has_the_lines_of_other_processes_of_the_workspace(tmp_path: Path) -> None:
    zoo(tmp_path)
    fill(tmp_path / ".jackfield" / "audit-2", 3)
    async with api(tmp_path) as served:
        await served.post("/tools/list_animals/run")
        first = (await served.get("/audit", params={"limit": 2})).json()
        rest = (await served.get("/audit", params={"before": first["before"]})).json()
        assert [line["rows"] for line in (*first["lines"], *rest["lines"])] == [3, 3, 2, 1]
        assert rest["before"] is None
        assert len((await served.get("/audit", params={"only": "audit-2"})).json()["lines"]) == 3
        assert (await served.get("/audit/export", params={"format": "ndjson"})).text.count("\n") == 4
        assert (await served.get("/audit/export", params={"format": "ndjson", "only": "audit"})).text.count("\n") == 1
        for wrong in ({"before": "17"}, {"only": "../audit"}):
            refused = await served.get("/audit", params=wrong)
            assert (refused.status_code, refused.json()["error"]["code"]) == (422, "VALIDATION_INVALID_PARAMS")


@pytest.mark.anyio
async def test_a_page_of_another_site_reaches_no_route_of_the_api(tmp_path: Path) -> None:
    """MCP-01 and MCP-02, on the API and the metrics."""
    zoo(tmp_path)
    async with api(tmp_path) as served:
        for path in ("/api/tools", "/api/openapi.json", "/api/events", "/metrics"):
            foreign = await served.client.get(path, headers={"origin": "https://evil.test"})
            assert (foreign.status_code, foreign.json()["error"]["code"]) == (403, "ACCESS_DENIED")
            rebound = await served.client.get(path, headers={"host": "evil.test"})
            assert (rebound.status_code, rebound.json()["error"]["code"]) == (421, "ACCESS_DENIED")
        run = "/api/tools/list_animals/run"
        assert (await served.client.post(run, json={}, headers={"origin": "https://evil.test"})).status_code == 403
        assert all(call["era"] != "api" for call in (await served.get("/runs")).json()["recent"])


@pytest.mark.anyio
async def test_only_the_operator_sees_how_a_tool_is_made(tmp_path: Path) -> None:
    zoo(tmp_path)
    async with api(tmp_path, authenticate=by_token) as served:
        mine = (await served.get("/tools/list_animals", headers={"authorization": "Bearer o"})).json()
        theirs = (await served.get("/tools/list_animals", headers={"authorization": "Bearer a"})).json()
        assert "SELECT" in mine["sql"]
        assert (theirs["sql"], theirs["input_schema"]) == (None, mine["input_schema"])
        graph = await served.get("/tools/list_animals/graph", headers={"authorization": "Bearer a"})
        assert graph.status_code == 403


@pytest.mark.anyio
async def test_a_skill_whose_prompt_is_messages_gives_them(tmp_path: Path) -> None:
    skill = {
        "id": "greet", "name": "Greet", "description": "Greet somebody.",
        "parameters": [{"name": "who", "type": "string", "description": "Whom", "required": True}],
        "messages": [{"type": "text", "text": "Hello {{who}}"}],
    }  # fmt: skip
    connector(tmp_path, sources=[SOURCE], tools=[LIST_ANIMALS], skills=[skill])
    async with api(tmp_path) as served:
        told = (await served.post("/skills/greet/prompt", {"arguments": {"who": "Ada"}})).json()
        assert told["prompt"] is None
        assert "Hello Ada" in json.dumps(told["messages"])


@pytest.mark.anyio
async def test_a_fresh_call_asks_the_sources_again(tmp_path: Path) -> None:
    with HttpServer({"/items": [{"id": 1}]}) as server:
        tool = {**LIST_ANIMALS, "sql": "SELECT id FROM items LIMIT 5", "parameters": []}
        connector(tmp_path, sources=[{"id": "items", "type": "rest", "url": f"{server.url}/items"}], tools=[tool])
        async with api(tmp_path) as served:
            asked: list[tuple[bool, int, str]] = []
            for fresh in (False, False, True):
                await served.post("/tools/list_animals/run", {"fresh": fresh})
                line = (await served.get("/audit")).json()["lines"][0]
                asked.append((fresh, len(server.requests), line["cache"]))
            assert asked == [(False, 1, "miss"), (False, 1, "hit"), (True, 2, "miss")]


@pytest.mark.anyio
async def test_an_idempotency_key_is_its_principals_own(tmp_path: Path) -> None:
    tool = {
        "id": "export_animals", "name": "Export animals", "category": "WRITE", "parameters": [],
        "description": "Write all animals into the export file.", "sql": "SELECT id, name FROM animals",
        "save": {"to": "file", "mode": "append"},
    }  # fmt: skip
    save = {"id": "file", "type": "jsonl", "path": "./animals.jsonl"}
    connector(tmp_path, sources=[SOURCE], tools=[tool], saves=[save])
    async with api(tmp_path, authenticate=by_token) as served:
        for token in "aabbo":
            headers = {"authorization": f"Bearer {token}", "idempotency-key": "same"}
            assert (await served.post("/tools/export_animals/run", headers=headers)).status_code == 200
        assert len((tmp_path / "animals.jsonl").read_text().splitlines()) == 3 * 3
