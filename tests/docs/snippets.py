"""Pages as programs: what a fenced block asks for, and running it.

```sh      `$ command` lines run in the page's folder; the lines after one are its output, stdout before stderr
```python  runs in one namespace a page, in its folder
```json    is JSON; `<!-- file: path -->` above any block writes it into the folder first

`<!-- output: command -->` above a block says that it is all that the command prints.
`<!-- shown -->` above a block says that it is a part to look at, and is only read.
In expected output `…` stands for anything, and durations, ports and temporary folders count as equal.
`python -m tests.docs.update PAGE…` writes the real output into a page.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n)?(?P<shown><!-- shown -->\n)?(?:<!-- output: (?P<output>[^\n]+) -->\n)?"
    r"```(?P<kind>\w*)\n(?P<body>.*?)^```$",
    re.M | re.S,
)
VOLATILE = (
    (re.compile(r"(< )?\d+(\.\d+)? (ms|s)\b"), "TIME"),
    (re.compile(r"\([^()\n]* → [^()\n]*(\)|…)$", re.M), "(PORTS)"),  # cut where a longer time leaves less room
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "HASH"),
    (re.compile(r"/[\w./-]*(pytest|tmp|jackfield-docs)[\w./-]*?/(?=[\w.-]+(/|\b))"), "/FOLDER/"),
)
ROOT = Path(__file__).parents[2]  # for `python -m tests.docs.agent`
SHELL = re.compile(r"[|<>;&$*]")


@dataclass(frozen=True)
class Block:
    kind: str
    body: str
    file: str | None
    line: int
    start: int  # of the body in the page's text
    shown: bool = False
    output: str | None = None


@dataclass(frozen=True)
class Command:
    text: str
    expected: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(
            found["kind"],
            found["body"],
            found["file"],
            text.count("\n", 0, found.start()) + 1,
            found.start("body"),
            bool(found["shown"]),
            found["output"],
        )
        for found in BLOCK.finditer(text)
    ]


def commands(block: Block) -> Iterator[Command]:
    parts = re.split(r"^\$ ", block.body, flags=re.M)
    for part in parts[1:]:
        lines = part.split("\n")
        count = 1
        while lines[count - 1].endswith("\\"):
            count += 1
        yield Command("\n".join(lines[:count]), "\n".join(lines[count:]).strip("\n"))


def run_shell(command: str, folder: Path) -> str:
    """What the command prints. One of `jackfield` alone runs in this process, which is faster."""
    if command.startswith("jackfield ") and not SHELL.search(command):
        return _run_here(shlex.split(command.replace("\\\n", ""))[1:], folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def _run_here(arguments: list[str], folder: Path) -> str:
    from jackfield.surfaces.cli import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        main(arguments)
    return "".join(stream.buffer.getvalue().decode() for stream in (out, err))


def same(expected: str, found: str) -> bool:
    """Whether the output is as the page says."""
    pattern = ".*?".join(re.escape(part.strip(" ")) for part in _steady(expected).split("…"))
    return re.fullmatch(pattern, _steady(found), re.S) is not None


def _steady(text: str) -> str:
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return re.sub(r"[ \t─]+", " ", "\n".join(line.rstrip() for line in text.strip().splitlines())).strip()


def prepare(block: Block, folder: Path) -> None:
    if block.file is not None:
        target = folder / block.file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block.body, "utf-8")
