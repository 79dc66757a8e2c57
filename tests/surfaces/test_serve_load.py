"""`jackfield serve` under load, as a process: a thousand calls at once, and kill -9 in the middle of many."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from servers.agents import Agent
from servers.audit import read
from servers.http import HttpServer, Seen
from servers.serve import ServeProcess

from jackfield.engine.audit.verify import verify

from .serving import SOURCE, connector

CALLS = 1_000
SESSIONS = 20
# Of a thousand calls at once a process that is warm may keep 128 kB each: a connection, a task, the arenas that both
# filled. Of the next thousand it keeps nothing new but what the allocator has not handed back: less than 32 kB each.
GROWTH_KB = 128 * CALLS
REST_KB = 32 * CALLS
WARM = 40
MARKER = {"name": "marker", "type": "string", "description": "Any text", "required": True}


def tool(name: str, source: str, sql: str, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "name": name.replace("_", " ").capitalize(),
        "category": "READ",
        "description": f"Return the marker that was given, by way of {source}.",
        "sql": sql,
        "parameters": [MARKER],
        **more,
    }


def markers(folder: Path, upstream: str = "http://127.0.0.1:9") -> Path:
    """Tools that answer the marker that they are given: from DuckDB alone, by an API, and into a file."""
    echo = {
        "id": "echo", "type": "rest", "url": f"{upstream}/echo", "schema": {"marker": "string"},
        "pushdown": {"marker": {"param": "marker", "operators": ["="], "exact": True}},
    }  # fmt: skip
    only = "SELECT :marker AS marker FROM animals WHERE id = 1"
    tools = [
        tool("get_marker", "rows", only),
        tool("fetch_marker", "an API", "SELECT marker FROM echo WHERE marker = :marker LIMIT 10"),
        tool("create_note", "a file", only, category="WRITE", save={"to": "notes", "mode": "append"}),
    ]
    saves = [{"id": "notes", "type": "jsonl", "path": "./notes.jsonl"}]
    return connector(folder, sources=[SOURCE, echo], tools=tools, saves=saves)


@asynccontextmanager
async def agents(port: int, count: int) -> AsyncIterator[list[Agent]]:
    """Connected agents: of four, one is stateless and three share sessions, several agents each."""
    async with AsyncExitStack() as stack:
        sessions: list[str] = []
        made: list[Agent] = []
        for number in range(count):
            agent = await stack.enter_async_context(Agent(port))
            if number % 4:
                if len(sessions) < SESSIONS:
                    sessions.append(await agent.shake())
                agent.session = sessions[number % len(sessions)]
            made.append(agent)
        yield made


@pytest.mark.anyio
async def test_a_thousand_calls_at_once_have_their_own_answers_one_line_each_and_leave_no_memory_behind(
    tmp_path: Path,
) -> None:
    asked: Counter[str] = Counter()

    def echo(seen: Seen) -> Any:
        asked[seen.query["marker"]] += 1
        return [{"marker": seen.query["marker"]}]

    answers: dict[str, Any] = {}

    async def one(agent: Agent, name: str, marker: str) -> None:
        answers[marker] = await agent.call(name, {"marker": marker})

    with HttpServer({"/echo": echo}) as upstream:
        markers(tmp_path, upstream.url)
        with ServeProcess(tmp_path) as serve:
            kilobytes: list[int] = []
            async with agents(serve.port, CALLS) as connected:
                for wave, count in enumerate((WARM, CALLS, CALLS)):
                    with anyio.fail_after(60):
                        async with anyio.create_task_group() as tasks:
                            for number, agent in enumerate(connected[:count]):
                                tasks.start_soon(one, agent, by_way(number), f"m{wave}.{number}")
                    kilobytes.append(resident(serve.process.pid))
            assert serve.end()[0] == 0
    expected = [f"m{wave}.{number}" for wave, count in enumerate((WARM, CALLS, CALLS)) for number in range(count)]
    for marker in expected:
        assert answers[marker]["structuredContent"].get("rows") == [{"marker": marker}], answers[marker]
    fetched = [marker for marker in expected if by_way(int(marker.partition(".")[2])) == "fetch_marker"]
    assert asked == Counter(fetched)
    audit = tmp_path / ".jackfield" / "audit"
    lines = read(audit)
    assert sorted(line["args"]["marker"] for line in lines) == sorted(expected)
    assert {line["era"] for line in lines} == {"handshake", "stateless"}
    assert {line["error"] for line in lines} == {None}
    assert verify(audit).fault is None
    warm, first, second = kilobytes
    assert first - warm < GROWTH_KB, kilobytes
    assert second - first < REST_KB, kilobytes


def by_way(number: int) -> str:
    """The tool of an agent: for a third of them, of both eras, by the API."""
    return "get_marker" if number % 3 else "fetch_marker"


def resident(pid: int) -> int:
    """The kilobytes that the process has in memory."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


@pytest.mark.anyio
async def test_kill_9_under_load_loses_no_line_of_an_answered_call_in_either_era(tmp_path: Path) -> None:
    markers(tmp_path)
    audit = tmp_path / ".jackfield" / "audit"
    answered: list[str] = []
    for round_number, most in enumerate((400, 1, 150, 60)):
        with ServeProcess(tmp_path) as serve:
            target = len(answered) + most

            async def work(agent: Agent, worker: int) -> None:
                for number in range(10_000):
                    marker = f"{round_number}.{worker}.{number}"  # noqa: B023 - used in this round only
                    name = "create_note" if worker < 2 else "get_marker"
                    try:
                        result = await agent.call(name, {"marker": marker})
                    except (OSError, EOFError):  # the server is gone, perhaps in the middle of an answer
                        return
                    assert not result.get("isError"), result
                    answered.append(marker)
                    if len(answered) == target:  # noqa: B023
                        serve.process.send_signal(signal.SIGKILL)

            with anyio.fail_after(60):
                async with agents(serve.port, 16) as connected, anyio.create_task_group() as tasks:
                    for worker, agent in enumerate(connected):
                        tasks.start_soon(work, agent, worker)
            assert serve.process.wait(20) == -signal.SIGKILL
        verdict = verify(audit)
        assert verdict.fault is None, str(verdict.fault)
        recorded = [line["args"]["marker"] for line in read(audit)]
        assert len(recorded) == len(set(recorded))
        assert set(answered) <= set(recorded)
        assert len(recorded) <= len(answered) + 16 * (round_number + 1)  # each agent had one call under way
    with ServeProcess(tmp_path) as serve:
        async with Agent(serve.port) as agent:
            await agent.call("get_marker", {"marker": "after"})
        assert serve.end()[0] == 0
    assert [line["args"]["marker"] for line in read(audit)][-1] == "after"
    assert verify(audit).fault is None
