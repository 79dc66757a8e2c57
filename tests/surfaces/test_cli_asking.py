"""`jackfield call` asks the person at the terminal, on stderr; without one it says that it cannot."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jackfield.graphs.model import Json

from .asking_graphs import node, text, tool
from .serving import connector

FORM: Json = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer"},
        "kind": {"type": "string", "oneOf": [{"const": "c", "title": "Cat"}, {"const": "d", "title": "Dog"}]},
        "sure": {"type": "boolean", "default": True},
        "days": {"type": "array", "items": {"type": "string", "enum": ["mo", "tu"]}},
        "note": {"type": "string"},
    },
    "required": ["name", "age", "kind"],
}
FILL = tool(
    "fill",
    [node("who", "ask", message="About you.", schema=FORM), text("{{content}}")],
    [("input", "who"), ("who", "content", "content", "content")],
)
AGREE = tool(
    "agree",
    [node("sure", "ask", message="Really?"), text("{{action}}")],
    [("input", "sure"), ("sure", "content", "action", "action")],
)
ROOTS = tool(
    "where",
    [node("folders", "roots"), node("say", "log", data="asked"), text("{{uris}}")],
    [("input", "folders"), ("folders", "say", "uris", "uris"), ("say", "content", "uris", "uris")],
)
MODEL = tool(
    "model",
    [node("it", "sample", prompt="Hi"), text("{{text}}")],
    [("input", "it"), ("it", "content", "text", "text")],
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    connector(tmp_path, tools=[FILL, AGREE, ROOTS, MODEL])
    return tmp_path


def at_a_terminal(folder: Path, tool: str, typed: bytes) -> tuple[int, str, str]:
    """(exit code, stdout, what the terminal showed) of a call whose person types that."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "jackfield.surfaces.cli", "call", "zoo", tool, "--format", "json"]
    process = subprocess.Popen(command, cwd=folder, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE)
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        shown += part
        if not part:
            break
    out, _ = process.communicate(timeout=30)
    os.close(ours)
    return process.returncode, out.decode(), shown.decode()


def test_a_form_is_filled_in_field_by_field(folder: Path) -> None:
    typed = b"Ada\nold\n36\nx\nc\n\nmo, tu\n\n"
    code, out, shown = at_a_terminal(folder, "fill", typed)
    assert code == 0, shown
    filled = json.loads(json.loads(out)["content"][0]["text"])
    assert filled == {"name": "Ada", "age": 36, "kind": "c", "sure": True, "days": ["mo", "tu"]}
    assert "About you." in shown
    assert "Your name" in shown
    assert "c (Cat), d (Dog)" in shown
    assert "'old' is not a valid integer" in shown
    assert "About you." not in out


def test_a_person_agrees(folder: Path) -> None:
    code, out, shown = at_a_terminal(folder, "agree", b"y\n")
    assert code == 0, shown
    assert "accept" in out


@pytest.mark.parametrize("typed", [b"n\n", b"\x04"], ids=["no", "end of input"])
def test_a_person_declines(folder: Path, typed: bytes) -> None:
    code, out, shown = at_a_terminal(folder, "agree", typed)
    assert code == 130, shown
    assert out == ""
    assert "The person declined" in shown.replace("\r\n", " ")


def called(folder: Path, tool: str, *more: str) -> Any:
    command = [sys.executable, "-m", "jackfield.surfaces.cli", "call", "zoo", tool, *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)


def test_without_a_terminal_nobody_is_asked(folder: Path) -> None:
    done = called(folder, "agree")
    assert done.returncode == 2
    assert "asks the person 'sure'" in done.stderr
    assert "Call it at a terminal." in done.stderr


def test_the_folder_is_the_root_and_what_is_logged_goes_to_stderr(folder: Path) -> None:
    done = called(folder, "where")
    assert folder.as_uri() in done.stdout
    assert "info: asked" in done.stderr
    assert "info: asked" not in called(folder, "where", "--quiet").stderr


def test_there_is_no_model_at_a_terminal(folder: Path) -> None:
    done = called(folder, "model")
    assert done.returncode == 2
    assert "an MCP client that has a model" in done.stderr
