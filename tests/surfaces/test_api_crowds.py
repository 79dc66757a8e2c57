"""Many at once over the API: each gets its own answer, one audit line and its two events."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import anyio
import pytest

from .apiserving import api, following
from .serving import SOURCE, connector

CALLS = 300


@pytest.mark.anyio
async def test_each_of_many_calls_at_once_has_its_own_answer_line_and_events(tmp_path: Path) -> None:
    tool = {
        "id": "echo", "name": "Echo", "category": "READ", "description": "Return a marker with each animal, up to 3.",
        "sql": "SELECT name, :marker AS marker FROM animals LIMIT 3",
        "parameters": [{"name": "marker", "type": "string", "description": "Any text", "required": True}],
    }  # fmt: skip
    connector(tmp_path, sources=[SOURCE], tools=[tool])
    runs: dict[str, str] = {}
    async with api(tmp_path) as served, following(served, "/events?nodes=false") as stream:
        await stream.next("snapshot")

        async def call(marker: str) -> None:
            answer = await served.run("echo", marker=marker)
            assert {row["marker"] for row in answer.json()["rows"]} == {marker}
            runs[answer.headers["x-run-id"]] = marker

        seen: Counter[tuple[str, str]] = Counter()

        async def watch() -> None:
            while sum(seen.values()) < 2 * CALLS:
                _, kind, data = await stream.next()
                seen[(kind, data["arguments"]["marker"])] += 1

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch)
                for number in range(CALLS):
                    tasks.start_soon(call, f"m{number}")
        lines = []
        before = None
        while True:
            params = {"limit": 100} if before is None else {"limit": 100, "before": before}
            page = (await served.get("/audit", params=params)).json()
            lines += page["lines"]
            before = page["before"]
            if before is None:
                break
        assert {line["run"]: line["args"]["marker"] for line in lines} == runs
        assert len(lines) == CALLS
        assert set(seen.values()) == {1}
        assert {marker for kind, marker in seen if kind == "call_ended"} == {f"m{number}" for number in range(CALLS)}
        assert (await served.get("/sessions")).json()["sessions"][0]["calls"] == CALLS
