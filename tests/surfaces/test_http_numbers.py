"""Requests of one session with the same id: the second is refused at once, and the first gets its own answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from servers.agents import HANDSHAKE, Agent
from servers.http import Hang, HttpServer
from servers.listening import listening

from .serving import connector
from .test_http_endings import LIST_ROWS


def called(number: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "list_rows", "arguments": {}}}


@pytest.mark.anyio
async def test_an_id_that_is_under_way_in_its_session_is_refused_and_may_come_again_after(tmp_path: Path) -> None:
    hang = Hang()
    first: list[Any] = []
    with HttpServer({"/rows": hang}) as upstream:
        rows = {"id": "rows", "type": "rest", "url": f"{upstream.url}/rows", "schema": {"id": "int"}}
        connector(tmp_path, sources=[rows], tools=[{**LIST_ROWS, "timeout_s": 2}])
        async with listening(tmp_path) as here, Agent(here.port) as agent, Agent(here.port) as other:
            headers = {"mcp_session_id": await agent.shake(), "mcp_protocol_version": HANDSHAKE}
            others = {**headers, "mcp_session_id": await other.shake()}

            async def call() -> None:
                first.append(await here.post(called(7), **headers))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                await anyio.to_thread.run_sync(hang.arrived.wait, 10)
                for number in (7, "7"):
                    refused = await here.post(called(number), **headers)
                    assert refused.status == 400
                    assert refused.json["error"]["code"] == -32600
                    assert refused.error["details"] == {"reason": "id_under_way"}
                assert first == []
                ping = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
                assert (await here.post(ping, **others)).status == 200  # of another session
            assert b"SOURCE_TIMEOUT" in first[0].body or b"QUERY_TIMEOUT" in first[0].body
            assert (await here.post(ping, **headers)).status == 200
