"""The audit of a served workspace: exactly one line a call, whatever the call, and however the process ends."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import Process
from mcp.shared.inbound import encode_header_value
from servers.audit import read
from servers.listening import VERSION, call, listening, read_reply

from jackfield.engine.audit.verify import verify
from jackfield.surfaces.auditing import AuditJournal, audit_folder

from .serving import LIST_ANIMALS, SOURCE, SPECIES, connector

CODE = {"name": "code", "type": "string", "description": "A code", "required": False, "sensitive": True}
LIST = {
    **LIST_ANIMALS,
    "sql": "SELECT id, :code AS code FROM animals WHERE (:species IS NULL OR species = :species) LIMIT 9",
    "parameters": [SPECIES, CODE],
}
ECHO = {
    "id": "get_marker",
    "name": "Get marker",
    "category": "READ",
    "description": "Return the marker that was given, once.",
    "sql": "SELECT :marker AS marker FROM animals WHERE id = 1",
    "parameters": [{"name": "marker", "type": "string", "description": "Any text", "required": True}],
}
KEEP = {
    "id": "create_note",
    "name": "Create note",
    "category": "WRITE",
    "description": "Write one note into the file of notes.",
    "sql": "SELECT :marker AS marker FROM animals WHERE id = 1",
    "parameters": ECHO["parameters"],
    "save": {"to": "notes", "mode": "append"},
}
LOAD = 1_000


def zoo(folder: Path) -> Path:
    saves = [{"id": "notes", "type": "jsonl", "path": "./out/notes.jsonl"}]
    return connector(folder, sources=[SOURCE], tools=[LIST, ECHO, KEEP], saves=saves)


def notes(folder: Path) -> list[str]:
    path = folder / "out" / "notes.jsonl"
    return [json.loads(line)["marker"] for line in path.read_text().splitlines()] if path.exists() else []


def answer(reply: Any) -> Any:
    return reply.json["result"]["structuredContent"]


@pytest.mark.anyio
async def test_a_call_leaves_the_line_that_says_what_it_gave(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here:
        reply = await here.call("list_animals", {"species": "cat"})
        assert answer(reply)["row_count"] == 2
        (line,) = here.lines
    assert (line["tool"], line["args"], line["rows"], line["error"]) == ("list_animals", {"species": "cat"}, 2, None)
    assert line["bytes"] == len(json.dumps(answer(reply), separators=(",", ":"), ensure_ascii=False).encode())
    assert (line["connector"], line["category"], line["principal"], line["era"]) == (
        "zoo",
        "READ",
        "local",
        "stateless",
    )
    assert line["client"] == "raw/1"
    assert line["session_id"]
    assert line["duration_ms"] > 0


@pytest.mark.anyio
async def test_aud_01_no_name_and_no_argument_makes_more_than_one_line(tmp_path: Path) -> None:
    hostile = ['x\n{"tool":"y"}', "\u2028\u2029\x85", "\x1b[2J", "\x00", "\u202e"]
    async with listening(zoo(tmp_path)) as here:
        for text in hostile:
            assert (await here.call("get_marker", {"marker": text})).status == 200
            refused = await here.call(f"get_{text}", {text: text}, mcp_name=encode_header_value(f"get_{text}"))
            assert b"Unknown tool" in refused.body
        content = (audit_folder(here.service.app.settings) / "audit.log").read_bytes().decode()
        assert len(content.splitlines()) == len(here.lines) == 2 * len(hostile)
    assert all(character.isprintable() for character in content.replace("\n", ""))


@pytest.mark.anyio
async def test_aud_02_what_a_tool_marks_sensitive_is_in_no_file(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here:
        await here.call("list_animals", {"species": "cat", "code": "canary-1"})
        await here.call("list_animals", {"species": 5, "code": "canary-2"})
        await here.call("list_animals", {"code": {"canary-3": 1}})
        await here.call("no_such_tool", {"password": "canary-4", "deep": [{"api_key": "canary-5"}]})
        first, *rest = here.lines
        assert first["args"] == {"species": "cat", "code": "***"}
        assert rest[-1]["args"] == {"password": "***", "deep": [{"api_key": "***"}]}
        assert "canary" not in (audit_folder(here.service.app.settings) / "audit.log").read_text()


@pytest.mark.anyio
async def test_aud_04_what_never_ran_has_its_line_with_who_and_why(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here:
        await here.call("list_animal", {})
        await here.call("list_animals", {"species": 5})
        await here.call("get_marker", {})
        lines = here.lines
    assert [line["error"] for line in lines] == [
        "TOOL_NOT_FOUND", "VALIDATION_INVALID_PARAMS", "VALIDATION_MISSING_FIELD",
    ]  # fmt: skip
    assert {(line["decision"], line["principal"], line["client"]) for line in lines} == {("denied", "local", "raw/1")}
    assert all(line["message"] for line in lines)


@pytest.mark.anyio
async def test_aud_09_five_megabytes_of_arguments_leave_a_short_line(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path), {"SERVE_MAX_BODY": str(2**23)}) as here:
        await here.call("get_marker", {"marker": "x" * 5_000_000})
        (line,) = here.lines
        assert (audit_folder(here.service.app.settings) / "audit.log").stat().st_size < 16_384
    assert line["args"]["marker"]["cut_bytes"] == 5_000_000


@pytest.mark.anyio
async def test_aud_07_without_its_folder_no_write_happens_and_no_answer_is_given(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here:
        assert "result" in (await here.call("create_note", {"marker": "before"})).json
        folder = audit_folder(here.service.app.settings)
        folder.rename(tmp_path / "aside")
        for name in ("create_note", "get_marker"):
            refused = (await here.call(name, {"marker": "during"})).json["result"]
            assert refused["isError"]
            assert refused["structuredContent"]["error"]["code"] == "AUDIT_UNAVAILABLE"
            assert "during" not in json.dumps(refused["content"])
        assert notes(tmp_path) == ["before"]
        (tmp_path / "aside").rename(folder)
        journal = here.service.journal
        assert isinstance(journal, AuditJournal)
        with anyio.fail_after(20):
            while not journal.log.is_available:  # noqa: ASYNC110 - the log tries once a second, when it is asked
                await anyio.sleep(0.05)
        assert "result" in (await here.call("create_note", {"marker": "after"})).json
        lines = here.lines
    assert notes(tmp_path) == ["before", "after"]
    assert [line["args"]["marker"] for line in lines[:3]] == ["before", "during", "during"]
    assert (lines[-1]["args"]["marker"], lines[-1]["error"]) == ("after", None)
    assert verify(folder).fault is None


@pytest.mark.anyio
async def test_aud_07_reads_go_on_where_the_workspace_says_so(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path), {"AUDIT_READ_WITHOUT": "true"}) as here:
        shutil.rmtree(audit_folder(here.service.app.settings))
        assert answer(await here.call("get_marker", {"marker": "m"}))["rows"] == [{"marker": "m"}]
        assert (await here.call("create_note", {"marker": "m"})).json["result"]["isError"]
    assert notes(tmp_path) == []


@pytest.mark.anyio
async def test_a_thousand_calls_at_once_have_their_own_answers_and_one_line_each(tmp_path: Path) -> None:
    wrong: list[Any] = []
    async with listening(zoo(tmp_path), {"SERVE_WAITING": str(LOAD)}) as here:

        async def one(number: int) -> None:
            reply = await here.call("get_marker", {"marker": f"m{number}"}, number)
            if reply.json["id"] != number or answer(reply).get("rows") != [{"marker": f"m{number}"}]:
                wrong.append(reply.json)

        async with anyio.create_task_group() as tasks:
            for number in range(LOAD):
                tasks.start_soon(one, number)
        lines = here.lines
    assert wrong == []
    assert sorted(line["args"]["marker"] for line in lines) == sorted(f"m{number}" for number in range(LOAD))
    assert [line["seq"] for line in lines] == list(range(1, LOAD + 1))
    assert verify(tmp_path / ".jackfield" / "audit").fault is None


@pytest.mark.anyio
async def test_aud_05_killing_the_server_under_load_loses_no_call_that_was_answered(tmp_path: Path) -> None:
    path = zoo(tmp_path)
    folder = tmp_path / ".jackfield" / "audit"
    answered: list[str] = []
    for round_number, most in enumerate((300, 37)):
        async with server(path) as (process, port):
            target = len(answered) + most

            async def caller(worker: int) -> None:
                for number in range(10_000):
                    marker = f"{round_number}.{worker}.{number}"  # noqa: B023 - used in this round only
                    tool = "create_note" if worker == 0 else "get_marker"
                    try:
                        await ask(port, tool, marker)
                    except (OSError, EOFError):  # the server is gone, perhaps in the middle of an answer
                        return
                    answered.append(marker)
                    if len(answered) == target:  # noqa: B023
                        process.send_signal(signal.SIGKILL)

            with anyio.fail_after(120):
                async with anyio.create_task_group() as tasks:
                    for worker in range(12):
                        tasks.start_soon(caller, worker)
                assert await process.wait() == -signal.SIGKILL
        verdict = verify(folder)
        assert verdict.fault is None, str(verdict.fault)
        markers = [line["args"]["marker"] for line in read(folder)]
        assert len(markers) == len(set(markers))
        assert set(answered) <= set(markers)
        assert len(markers) <= len(answered) + 12 * (round_number + 1)
    written = {line["args"]["marker"] for line in read(folder) if line["tool"] == "create_note"}
    assert len(set(notes(tmp_path)) - written) <= 3, "more was written than the one write of each round under way"


def serve(path: Path) -> list[str]:
    return [sys.executable, "-m", "jackfield.surfaces.cli", "serve", str(path), "--port", "0"]


@asynccontextmanager
async def server(path: Path) -> AsyncIterator[tuple[Process, int]]:
    """`jackfield serve` as a process, and its port."""
    with anyio.fail_after(60):
        async with await anyio.open_process(serve(path), cwd=path.parent, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            text = b""
            while not text.endswith(b"\n"):
                text += await process.stdout.receive()
            yield process, int(text.decode().strip().rpartition(":")[2])


async def ask(port: int, tool: str, marker: str) -> None:
    """One call, answered in whole and well. Raises OSError or EOFError when the server goes away."""
    body = json.dumps(call(tool, {"marker": marker})).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        f"accept: application/json, text/event-stream\r\nmcp-protocol-version: {VERSION}\r\n"
        f"mcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head.encode() + body)
        result = (await read_reply(reader)).json["result"]
        assert not result.get("isError"), result
    finally:
        writer.close()
