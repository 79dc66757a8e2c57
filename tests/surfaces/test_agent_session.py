"""An agent builds a connector over a REST API, a database and a file, and uses it: all through MCP, in both eras."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent
from servers.http import HttpServer, Reply, Seen
from servers.postgres import PostgresServer

from .platform_bench import connector
from .serving import ERAS, served

pytestmark = pytest.mark.anyio
TOKEN = "shop-token-5f3a91"
CUSTOMERS = [
    {"id": n, "name": f"Customer {n}", "country": ["NO", "DE"][n % 2], "vip": n % 5 == 0} for n in range(1, 31)
]
SCHEMA = """
CREATE TABLE orders (id int PRIMARY KEY, customer_id int NOT NULL, total numeric(10,2), day date, status text);
INSERT INTO orders SELECT n, n % 30 + 1, n, date '2026-01-01' + n % 90, CASE WHEN n % 3 = 0 THEN 'open' ELSE 'paid' END
  FROM generate_series(1, 300) n;
"""


def customers(seen: Seen) -> Any:
    if seen.headers.get("authorization") != f"Bearer {TOKEN}":
        return Reply({"error": "unauthorised"}, 401, {"www-authenticate": 'Bearer realm="shop"'})
    page, size = int(seen.query.get("page", "1")), int(seen.query.get("per_page", "10"))
    return {"page": page, "per_page": size, "total": 30, "customers": CUSTOMERS[(page - 1) * size : page * size]}


class Agent:
    """What an agent's client does: calls tools, reads structured answers, keeps everything that it was told."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.told: list[str] = []

    async def __call__(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        text = text_of(result)
        self.told.append(text)
        assert result.structured_content == json.loads(text)
        assert not result.is_error, text
        return dict(result.structured_content or {})

    async def refused(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        self.told.append(text_of(result))
        assert result.is_error
        return dict((result.structured_content or {})["error"])

    async def tools(self) -> set[str]:
        return {tool.name for tool in (await self.client.list_tools()).tools}


@pytest.mark.parametrize("era", ERAS)
async def test_an_agent_discovers_builds_lints_evaluates_deploys_and_calls(
    tmp_path: Path, postgres: PostgresServer, era: str
) -> None:
    with HttpServer({"/v1/customers": customers}) as api, postgres.database(SCHEMA) as dsn:
        variables = {"SHOP_DB": dsn, "CUSTOMERS_TOKEN": TOKEN}
        allowed = {"JACKFIELD_DISCOVER_VARIABLES": "SHOP_DB,CUSTOMERS_TOKEN"}
        async with (
            served(tmp_path, bare=True, variables=variables, environment=allowed) as server,
            server.client(era) as client,
        ):
            agent = Agent(client)
            assert "deploy-connector" in await agent.tools()

            # The API wants credentials: the agent learns which, and names the variable that holds them.
            url = f"{api.url}/v1/customers"
            asked = await agent("elliot_discover_source", source_type="rest", config={"url": url})
            assert asked["auth"]["add"] == {"type": "bearer", "secret_key": "CUSTOMERS_TOKEN"}
            config = {"url": url, "auth": asked["auth"]["add"]}
            found = await agent("elliot_discover_source", source_type="rest", config=config)
            assert (found["row_count"], found["pagination"]["strategy"]) == (30, "page")

            # A password in the address is refused; the variable's name is taken.
            refused = await agent.refused("elliot_discover_source", source_type="postgres", config={"dsn": dsn})
            assert refused["code"] == "VALIDATION_INVALID_PARAMS"
            config = {"dsn": "{{ env:SHOP_DB }}"}
            await agent("elliot_discover_source", source_type="postgres", config={**config, "table": "orders"})

            csv = "country,region\nNO,Nordics\nSE,Nordics\nDE,Central\n"
            upload = await agent("elliot_upload_file", file_name="countries.csv", content=csv)
            await agent("elliot_discover_source", source_type="csv", config={"path": upload["managed_path"]})

            sources = ["customers", "orders", "countries"]
            built = await agent("build-connector", name="Web shop", sources=sources)
            assert (built["connector"], built["errors"], built["warnings"]) == ("web-shop", 0, 0)
            assert not {tool["id"] for tool in built["tools"]} & await agent.tools()

            # The agent adds what no tool answers yet: one SQL over the API, the database and the file.
            document = json.loads(built["text"])
            document["tools"].append(
                {
                    "id": "revenue_by_region",
                    "name": "Revenue by region",
                    "category": "READ",
                    "description": "Return the revenue of each region, highest first.",
                    "sql": "SELECT r.region, sum(o.total) AS revenue FROM orders o"
                    " JOIN customers c ON c.id = o.customer_id JOIN countries r ON r.country = c.country"
                    " GROUP BY r.region ORDER BY 2 DESC LIMIT 50",
                    "parameters": [],
                }
            )
            text = json.dumps(document)
            assert (await agent("lint-connector", text=text))["findings"] == []
            case = {"id": "sums", "tool_id": "revenue_by_region", "expect": {"min_rows": 3}}
            wrong = await agent("run-eval", text=text, eval=json.dumps({"cases": [case]}))
            assert wrong["passed"] is False
            case["expect"] = {"min_rows": 2, "max_rows": 2, "fields_present": ["region", "revenue"]}
            suite = json.dumps({"connector": "web-shop", "cases": [case]})
            assert (await agent("run-eval", text=text, eval=suite))["passed"]

            deployed = await agent("deploy-connector", text=text, eval=suite)
            assert (deployed["deployed"], deployed["blocks"]) == (True, [])
            assert set(deployed["tools"]) <= await agent.tools()

            rows = (await agent("revenue_by_region"))["rows"]
            assert {row["region"]: float(row["revenue"]) for row in rows} == expected()
            listed = await agent("list_orders_with_customer", status="open", limit=2)
            assert [row["customer_name"] for row in listed["rows"]] == ["Customer 4", "Customer 7"]

            # A change without a new version is held back, and what is served stays.
            document["tools"] = document["tools"][:-1]
            held = await agent("deploy-connector", text=json.dumps(document))
            assert [block["reason"] for block in held["blocks"]] == ["version_not_bumped", "evals_failed"]
            assert len((await agent("revenue_by_region"))["rows"]) == 2

            assert not [
                told for told in agent.told if TOKEN in told or postgres.quoted in told or str(tmp_path) in told
            ]
            names = [call.name for call in server.calls]
            assert names.count("deploy-connector") == 2
            assert len(names) == len(agent.told)
    assert {name.partition("/")[0] for name in files(tmp_path)} - {".jackfield"} == {"connectors", "uploads"}


def text_of(result: CallToolResult) -> str:
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


def files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def expected() -> dict[str, float]:
    region = {"NO": "Nordics", "DE": "Central"}
    sums = {"Nordics": 0.0, "Central": 0.0}
    for n in range(1, 301):
        sums[region[str(CUSTOMERS[n % 30]["country"])]] += n
    return sums


@pytest.mark.parametrize("era", ERAS)
async def test_what_was_deployed_is_called_by_the_very_next_request(tmp_path: Path, era: str) -> None:
    async with served(tmp_path, bare=True) as server, server.client(era) as client:
        agent = Agent(client)
        assert (await agent("deploy-connector", text=connector()))["deployed"]
        assert "list_animals" in await agent.tools()
        assert [row["name"] for row in (await agent("list_animals"))["rows"]] == ["Tom", "Rex"]


async def test_each_of_many_versions_is_live_when_its_deployment_answers_while_calls_go_on(tmp_path: Path) -> None:
    async with served(tmp_path, bare=True) as server, server.client("auto") as client:
        agent = Agent(client)
        assert (await agent("deploy-connector", text=connector()))["deployed"]
        done = anyio.Event()
        calls = 0

        async def call_on() -> None:
            nonlocal calls
            async with server.client("auto") as other:
                caller = Agent(other)
                while not done.is_set():
                    rows = (await caller("list_animals"))["rows"]
                    assert [row["id"] for row in rows][:2] == [1, 2]
                    calls += 1

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call_on)
            for number in range(1, 31):
                rows = [{"id": 1, "name": "Tom"}, {"id": 2, "name": "Rex"}, {"id": 3, "name": f"No {number}"}]
                source = {"id": "animals", "type": "rows", "rows": rows}
                told = await agent("deploy-connector", text=connector(version=f"1.0.{number}", sources=[source]))
                assert told["blocks"] == []
                assert (await agent("list_animals"))["rows"][2]["name"] == f"No {number}"
            done.set()
        assert calls > 0


async def test_nobody_but_the_local_operator_sees_or_calls_the_platform_tools(tmp_path: Path) -> None:
    async with (
        served(tmp_path, bare=True, authenticate=lambda scope: "stranger") as server,
        server.client("auto") as client,
    ):
        assert await Agent(client).tools() == set()
        with pytest.raises(MCPError):
            await client.call_tool("deploy-connector", {"text": connector()})
    assert files(tmp_path) == []


async def test_deployments_of_several_agents_at_once_each_go_live(tmp_path: Path) -> None:
    async with served(tmp_path, bare=True) as server, anyio.create_task_group() as tasks:

        async def one(number: int) -> None:
            async with server.client("auto") as client:
                agent = Agent(client)
                deployed = await agent("deploy-connector", text=connector(f"zoo{number}", prefix=True))
                assert deployed["blocks"] == []
                assert len((await agent(f"zoo{number}_list_animals"))["rows"]) == 2

        for number in range(5):
            tasks.start_soon(one, number)
