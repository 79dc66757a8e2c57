"""`jackfield serve --stdio`: JSON-RPC alone on stdout, whatever ends the client, and every request answered before."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from servers.http import Hang, HttpServer
from servers.listening import VERSION
from servers.listening import call as stateless_call
from servers.serve import ServeProcess

from .serving import ERAS, connector, zoo
from .test_http_endings import LIST_ROWS

HELLO = [
    {"jsonrpc": "2.0", "id": 1, "method": "initialize",
     "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]  # fmt: skip
LISTS = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list_animals", "arguments": {}}}
LOUD = """
import os, sys
from pathlib import Path
import anyio
from jackfield.surfaces.app import App
from jackfield.surfaces.auditing import AuditJournal, audit_log
from jackfield.surfaces.service import Service
from jackfield.surfaces.stdio import serve_stdio

class Loud(Service):
    async def call(self, *given, **named):
        print("a stray print", repr(sys.stdin.read()))
        os.write(1, b"a stray write")
        os.system("echo from a child; cat")
        return await super().call(*given, **named)

async def main():
    app = App()
    with audit_log(app.settings) as log:
        async with Loud(app, AuditJournal(log)) as service:
            await serve_stdio(service, anyio.Event())

anyio.run(main)
print("after")
"""


def lines(*messages: Any) -> str:
    return "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in messages)


def talk(folder: Path, text: str, *arguments: str) -> tuple[list[Any], str]:
    """The messages that a server answers to this text and its end, and what it says on stderr; it exits with 0."""
    done = subprocess.run(
        [sys.executable, "-m", "jackfield.surfaces.cli", "serve", "--stdio", *arguments],
        cwd=folder, input=text, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_the_official_client_calls_over_stdio_in_both_eras(tmp_path: Path, era: str) -> None:
    zoo(tmp_path)
    serve = StdioServerParameters(
        command=sys.executable, args=["-m", "jackfield.surfaces.cli", "serve", "--stdio"], cwd=tmp_path
    )
    with tempfile.TemporaryFile("w+") as said:
        async with Client(stdio_client(serve, errlog=said), mode=era) as client:
            answer = await client.call_tool("list_animals", {"species": "cat"})
            assert answer.structured_content is not None
            assert answer.structured_content["row_count"] == 2
        said.seek(0)
        assert "Jackfield serves stdin and stdout" in said.read()


def test_what_was_asked_is_answered_also_when_stdin_ends_at_once(tmp_path: Path) -> None:
    zoo(tmp_path)
    replies, said = talk(tmp_path, lines(*HELLO, LISTS))
    assert [reply["id"] for reply in replies] == [1, 2]
    assert replies[1]["result"]["structuredContent"]["row_count"] == 3
    assert "1 connector, 1 tool, 1 skill" in said
    assert talk(tmp_path, "") == ([], said)


def test_nothing_but_messages_reaches_stdout_and_nothing_else_reads_stdin(tmp_path: Path) -> None:
    zoo(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", LOUD], cwd=tmp_path, input=lines(*HELLO, LISTS), capture_output=True, text=True,
        timeout=60, check=True,
    )  # fmt: skip
    *replies, after = done.stdout.splitlines()
    assert [json.loads(reply)["id"] for reply in replies] == [1, 2]
    assert after == "after"
    assert [said in done.stderr for said in ("a stray print ''", "a stray write", "from a child")] == [True] * 3


def test_lines_that_are_no_messages_are_answered_and_the_next_is_served(tmp_path: Path) -> None:
    zoo(tmp_path)
    wrong = ["{", '{"a": NaN}', '{"id": 1, "id": 2}', "[" * 100_000, "3", '{"jsonrpc": "2.0"}', " ", '"\\ud800"']
    replies, said = talk(tmp_path, lines(*HELLO, *wrong, " " * (5 * 2**20), "x" * (5 * 2**20), LISTS))
    codes = [reply["error"]["code"] for reply in replies if "error" in reply]
    assert codes == [-32700, -32700, -32700, -32700, -32600, -32600, -32700, -32600, -32600]
    assert all(reply["id"] is None for reply in replies if "error" in reply)
    assert replies[-1]["result"]["structuredContent"]["row_count"] == 3
    assert "Traceback" not in said


def test_a_stateless_client_needs_no_handshake(tmp_path: Path) -> None:
    zoo(tmp_path)
    replies, _ = talk(tmp_path, lines(stateless_call("list_animals", {"species": "dog"}, 7)))
    assert [reply["id"] for reply in replies] == [7]
    assert replies[0]["result"]["structuredContent"]["rows"][0]["name"] == "Rex"
    assert VERSION == "2026-07-28"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_though_stdin_is_open(tmp_path: Path, number: int) -> None:
    zoo(tmp_path)
    with ServeProcess(tmp_path, "--stdio") as serve:
        say(serve, HELLO[0])
        assert hear(serve)["id"] == 1
        assert serve.end(number) == (0, serve.err)


def test_a_signal_ends_what_is_under_way_with_an_answer(tmp_path: Path) -> None:
    hang = Hang()
    with HttpServer({"/rows": hang}) as source:
        connector(tmp_path, sources=[{"id": "rows", "type": "rest", "url": f"{source.url}/rows"}], tools=[LIST_ROWS])
        with ServeProcess(tmp_path, "--stdio", JACKFIELD_SERVE_DRAIN_S="0.2") as serve:
            say(serve, *HELLO, {**LISTS, "params": {"name": "list_rows", "arguments": {}}})
            assert hear(serve)["id"] == 1
            assert hang.arrived.wait(20)
            serve.process.send_signal(signal.SIGTERM)
            assert hear(serve)["result"]["structuredContent"]["error"]["code"] == "CANCELLED"
            assert serve.end()[0] == 0


def test_a_client_that_goes_away_ends_it(tmp_path: Path) -> None:
    zoo(tmp_path)
    with ServeProcess(tmp_path, "--stdio") as serve:
        say(serve, HELLO[0])
        assert hear(serve)["id"] == 1
        assert serve.process.stdout is not None
        serve.process.stdout.close()
        say(serve, *HELLO[1:], LISTS)
        assert serve.process.wait(20) == 0
        assert "Traceback" not in serve.err


def test_a_client_that_reads_nothing_does_not_keep_it_from_ending(tmp_path: Path) -> None:
    zoo(tmp_path)
    with ServeProcess(tmp_path, "--stdio", JACKFIELD_SERVE_DRAIN_S="0.2") as serve:
        say(serve, *HELLO)
        for number in range(400):
            say(serve, {**LISTS, "id": number + 10, "method": "tools/list", "params": {}})
        assert serve.end()[0] == 0


def test_two_agents_of_one_workspace_have_an_audit_each(tmp_path: Path) -> None:
    zoo(tmp_path)
    with ServeProcess(tmp_path, "--stdio") as first:
        say(first, *HELLO, LISTS)
        assert [hear(first)["id"] for _ in range(2)] == [1, 2]
        replies, said = talk(tmp_path, lines(*HELLO, LISTS, {**LISTS, "id": 3}))
        assert len(replies) == 3
    assert "audit-2" in said
    written = [(tmp_path / ".jackfield" / name / "audit.log").read_text() for name in ("audit", "audit-2")]
    assert [len(text.splitlines()) for text in written] == [1, 2]


def say(serve: ServeProcess, *messages: Any) -> None:
    assert serve.process.stdin is not None
    serve.process.stdin.write(lines(*messages))
    serve.process.stdin.flush()


def hear(serve: ServeProcess) -> Any:
    assert serve.process.stdout is not None
    return json.loads(serve.process.stdout.readline())
