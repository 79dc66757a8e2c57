"""The seed's flow, whole: its connector word for word, served; a call, its rows, its audit line, and the live event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client
from servers.http import HttpServer, Reply, Seen
from servers.serve import ServeProcess

from .apiserving import Stream
from .serving import ERAS
from .test_end_to_end import ANIMALS, SEED

KEYS = ["ts", "tool", "args", "rows", "bytes", "duration_ms", "error", "session_id"]
CATS = [row for row in ANIMALS if row["species"] == "cat"]
KEY = "key-of-the-shop"


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_the_seed_connector_answers_is_recorded_and_seen_within_a_second(tmp_path: Path, era: str) -> None:
    def animals(seen: Seen) -> Any:
        return {"items": ANIMALS} if seen.headers.get("x-api-key") == KEY else Reply({}, 401)

    with HttpServer({"/animals": animals}) as api:
        # But for its host, which is not there.
        text = SEED.read_text("utf-8").replace("https://api.example.com", api.url)
        (tmp_path / "petstore.connector.json").write_text(text, "utf-8")
        with ServeProcess(tmp_path, PETSTORE_API_KEY=KEY) as serve:
            streaming = httpx2.AsyncClient(base_url=serve.url, timeout=20, trust_env=False)
            async with streaming, streaming.stream("GET", "/api/events?nodes=false") as reply:
                stream = Stream(reply)
                await stream.next("snapshot")
                async with Client(f"{serve.url}/mcp", mode=era) as agent:
                    answer = await agent.call_tool("list_animals", {"species": "cat"})
                    with anyio.fail_after(1):
                        _, _, ended = await stream.next("call_ended")
                    again = await agent.call_tool("list_animals", {"species": "dog"})
            assert serve.end()[0] == 0
    assert len(api.requests) == 1, "the second call is of the cache"
    assert answer.structured_content is not None
    assert answer.structured_content["rows"] == CATS
    assert again.structured_content is not None
    assert again.structured_content["row_count"] == 1
    assert (ended["name"], ended["arguments"], ended["rows"]) == ("list_animals", {"species": "cat"}, len(CATS))

    lines = [json.loads(line) for line in (tmp_path / ".jackfield/audit/audit.log").read_text("utf-8").splitlines()]
    assert [list(line)[: len(KEYS)] for line in lines] == [KEYS, KEYS]
    line = lines[0]
    assert (line["tool"], line["args"], line["rows"], line["error"]) == ("list_animals", {"species": "cat"}, 2, None)
    assert line["duration_ms"] > 0
    assert line["session_id"] == ended["session"] == lines[1]["session_id"]
    assert KEY not in json.dumps(lines)
