"""TPC-H data, made once into `.dev/tpch` by a generator with an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / ".dev" / "tpch"


@dataclass(frozen=True)
class Tpch:
    """`tables`: column types by table; `queries` and `answers` by number. The files lie in `folder`."""

    folder: Path
    tables: dict[str, dict[str, str]]
    queries: dict[int, str]
    answers: dict[int, str]


@pytest.fixture(scope="session")
def tpch() -> Tpch:
    if not (FOLDER / "facts.json").exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        python = FOLDER / "venv" / "bin" / "python"
        lock = HERE / "requirements.lock"
        install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
            "-r",
            str(lock),
        ]
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / "venv")], check=True)
        subprocess.run([str(python), *install], check=True)
        subprocess.run([str(python), str(HERE / "generate.py"), str(FOLDER)], check=True)
    facts = json.loads((FOLDER / "facts.json").read_text())
    numbered = {name: {int(key): value for key, value in facts[name].items()} for name in ("queries", "answers")}
    return Tpch(FOLDER, facts["tables"], **numbered)
