"""Audit logs as tests make them, and what is in their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jackfield.engine.audit.line import Line
from jackfield.engine.audit.log import AuditLog
from jackfield.engine.audit.places import CURRENT, rotated


def a_line(number: int = 0, **fields: Any) -> Line:
    given: dict[str, Any] = {
        "tool": "list_animals",
        "args": {"species": "cat", "n": number},
        "rows": number,
        "principal": "local",
        "category": "READ",
    }
    return Line(**(given | fields))


def fill(folder: Path, count: int, **settings: Any) -> None:
    """A log of `count` lines, opened and closed."""
    with AuditLog(folder, **settings) as log:
        for number in range(1, count + 1):
            log.append(a_line(number))


def files(folder: Path) -> list[Path]:
    """The files of lines, oldest first. A kill may come between the naming of a full one and the next."""
    current = folder / CURRENT
    return [*(one.path for one in rotated(folder)), *([current] if current.exists() else [])]


def read(folder: Path) -> list[dict[str, Any]]:
    """Every line of every file, as JSON."""
    return [json.loads(text) for path in files(folder) for text in path.read_bytes().decode().split("\n") if text]
