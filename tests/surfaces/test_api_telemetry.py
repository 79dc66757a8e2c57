"""What an operator's own tools read of a served workspace: metrics to scrape, spans that are sent to a collector."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families
from servers.http import HttpServer, Reply, Seen

from jackfield.graphs.errors import Code, JackfieldError

from .apiserving import Api, api
from .serving import LIST_ANIMALS, connector, zoo
from .test_api_calls import by_token

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


async def scraped(served: Api, name: str) -> list[tuple[dict[str, str], float]]:
    text = (await served.client.get("/metrics")).text
    families = text_string_to_metric_families(text)
    return [(dict(one.labels), one.value) for family in families for one in family.samples if one.name == name]


@pytest.mark.anyio
async def test_calls_of_agents_and_of_the_api_are_in_the_metrics(tmp_path: Path) -> None:
    zoo(tmp_path)
    async with api(tmp_path) as served:
        await served.run("list_animals", species="cat")
        async with Client(f"{served.url}/mcp") as agent:
            await agent.call_tool("list_animals", {})
        for number in range(5):
            await served.run(f"made_up_{number}")
        found = {(labels["tool"], labels["era"], labels["outcome"]): value
                 for labels, value in await scraped(served, "jackfield_calls_total")}  # fmt: skip
        assert found == {
            ("list_animals", "api", "OK"): 1,
            ("list_animals", "stateless", "OK"): 1,
            ("(unknown)", "api", "TOOL_NOT_FOUND"): 5,
        }
        assert await scraped(served, "jackfield_tools") == [({}, 1)]
        assert await scraped(served, "jackfield_calls_running") == [({"connector": "zoo"}, 0)]


@pytest.mark.anyio
async def test_upstream_errors_and_refusals_of_the_audit_are_in_the_metrics(tmp_path: Path) -> None:
    with HttpServer({"/slow": Reply({}, 503)}) as server:
        tool = {**LIST_ANIMALS, "sql": "SELECT * FROM slow LIMIT 5", "parameters": []}
        connector(tmp_path, sources=[{"id": "slow", "type": "rest", "url": f"{server.url}/slow"}], tools=[tool])
        async with api(tmp_path) as served:
            answer = await served.run("list_animals")
            code = answer.json()["error"]["code"]
            found = await scraped(served, "jackfield_upstream_errors_total")
            assert {labels["code"] for labels, _ in found} == {code}
            assert all(labels["connector"] == "zoo" and value >= 1 for labels, value in found)

            class Full:
                def require(self) -> None: ...

                def record(self, call: Any) -> None:
                    raise JackfieldError(Code.AUDIT_UNAVAILABLE, "The disk is full.")

            served.service.journal = Full()
            assert (await served.run("list_animals")).status_code in (502, 503)
            assert await scraped(served, "jackfield_audit_failures_total") == [({}, 1)]


@pytest.mark.anyio
async def test_the_metrics_are_for_the_operator(tmp_path: Path) -> None:
    zoo(tmp_path)
    async with api(tmp_path, authenticate=by_token) as served:
        for token, status in (("a", 403), ("o", 200), ("x", 401)):
            answer = await served.client.get("/metrics", headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == status


class Collector:
    """An OTLP collector: keeps what it is sent."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []

    def __call__(self, seen: Seen) -> Reply:
        self.requests.append(seen)
        return Reply(b"", 200, {"content-type": "application/x-protobuf"})

    def spans(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for seen in self.requests:
            body = gzip.decompress(seen.body) if seen.headers.get("content-encoding") == "gzip" else seen.body
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                found |= {span.name: span for scope in resource.scope_spans for span in scope.spans}
        return found


@pytest.mark.anyio
async def test_spans_of_a_call_over_mcp_reach_the_collector_as_part_of_the_callers_trace(tmp_path: Path) -> None:
    collector = Collector()
    with HttpServer({"/animals": [{"id": 1}], "POST /v1/traces": collector}) as server:
        tool = {**LIST_ANIMALS, "sql": "SELECT id FROM animals LIMIT 5", "parameters": []}
        connector(tmp_path, sources=[{"id": "animals", "type": "rest", "url": f"{server.url}/animals"}], tools=[tool])
        environment = {"JACKFIELD_TELEMETRY_OTLP_URL": server.url, "JACKFIELD_TELEMETRY_SECRET_KEY": "OTLP_TOKEN",
                       "JACKFIELD_TELEMETRY_PROPAGATE": "127.0.0.1"}  # fmt: skip
        async with api(tmp_path, environment=environment, variables={"OTLP_TOKEN": "token-of-otlp"}) as served:
            async with Client(f"{served.url}/mcp") as agent:
                meta: Any = {"traceparent": PARENT}
                answer = await agent.call_tool("list_animals", {}, meta=meta)
                assert not answer.is_error
            line = (await served.get("/audit")).json()["lines"][0]
            assert line["trace"] == TRACE
        spans = collector.spans()
        assert {"execute_tool list_animals", "run", "node animals", "GET"} <= set(spans)
        assert {span.trace_id.hex() for span in spans.values()} == {TRACE}
        assert spans["execute_tool list_animals"].parent_span_id.hex() == "b7ad6b7169203331"
        asked = next(seen for seen in server.requests if seen.path == "/animals")
        assert asked.headers["traceparent"].split("-")[2] == spans["GET"].span_id.hex()
        assert collector.requests[0].headers["authorization"] == "Bearer token-of-otlp"


@pytest.mark.anyio
async def test_a_trace_of_the_caller_is_in_the_audit_where_nothing_is_exported(tmp_path: Path) -> None:
    zoo(tmp_path)
    async with api(tmp_path) as served:
        await served.post("/tools/list_animals/run", headers={"traceparent": PARENT})
        await served.post("/tools/list_animals/run", headers={"traceparent": "00-nonsense"})
        lines = (await served.get("/audit")).json()["lines"]
        assert [line["trace"] for line in lines] == [None, TRACE]


@pytest.mark.anyio
async def test_a_collector_that_does_not_answer_keeps_no_call_waiting(tmp_path: Path) -> None:
    async def never(seen: Seen) -> Any:
        await seen.disconnected()

    zoo(tmp_path)
    with HttpServer({"POST /v1/traces": never}) as server:
        environment = {"JACKFIELD_TELEMETRY_OTLP_URL": f"{server.url}/v1/traces"}
        with anyio.fail_after(30):
            async with api(tmp_path, environment=environment) as served:
                for _ in range(20):
                    assert (await served.run("list_animals")).status_code == 200
