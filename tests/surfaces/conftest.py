"""The command line as tests drive it: in this process, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error of a command that answers JSON."""
        return json.loads(self.err.strip().splitlines()[-1])["error"]


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """`cli("list", path)`: the command in this process, through the same `main` as the script."""

    def run(*arguments: object) -> Outcome:
        from jackfield.surfaces.cli import main

        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return run


@pytest.fixture
def process() -> Cli:
    """`process("list", path, cwd=…, env=…, input=…)`: the command as a process."""

    def run(*arguments: object, cwd: Path | None = None, env: dict[str, str] | None = None, input: str = "") -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "jackfield.surfaces.cli", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, **(env or {})},
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run
