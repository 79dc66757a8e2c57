"""Writes what the commands of a page really print into the page: `python -m tests.docs.update PAGE…`."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from jackfield.surfaces.demo_world import TOKEN, live_api

from .snippets import Command, blocks, commands, prepare, run_shell, same


def update(page: Path) -> None:
    text = page.read_text("utf-8")
    names: dict[str, Any] = {}
    shift = 0
    with tempfile.TemporaryDirectory(prefix="jackfield-docs-") as name, contextlib.chdir(name):
        folder = Path(name)
        for block in blocks(page):
            prepare(block, folder)
            if block.kind == "python":
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(block.body, str(page), "exec"), names)
            if block.output is not None:
                body = printed(Command(block.output, block.body), folder)
            elif block.kind == "sh":
                body = "".join(f"$ {command.text}\n{printed(command, folder)}" for command in commands(block))
            else:
                continue
            start = block.start + shift
            text = text[:start] + body + text[start + len(block.body) :]
            shift += len(body) - len(block.body)
    page.write_text(text, "utf-8")


def printed(command: Command, folder: Path) -> str:
    """What the command prints; as the page has it, where that still holds."""
    found = run_shell(command.text, folder)
    if command.expected and same(command.expected, found):
        return command.expected.strip("\n") + "\n"
    found = found.strip("\n").replace(f"{folder}/", "")
    return "".join(f"{line.rstrip()}\n" for line in found.splitlines())


def main() -> None:
    with live_api(8790) as url:
        os.environ.update(SHOP_API=url, SHOP_TOKEN=TOKEN)
        for page in sys.argv[1:]:
            update(Path(page).resolve())


if __name__ == "__main__":
    main()
