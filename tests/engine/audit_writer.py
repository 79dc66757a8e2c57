"""Run by `test_audit_kill.py` in a process of its own: records calls as fast as it can, until it is killed.

Each call is acknowledged on stdout by its marker once `append` has returned, as an answer would be. With the word
`slow` each step that changes a file takes a moment before and after, so that kills land in between.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jackfield.engine.audit.line import Line
from jackfield.engine.audit.log import AuditLog

PAUSE_S = 0.001
STEPS = ("write", "pwrite", "rename", "open", "ftruncate")


def slowed(name: str) -> None:
    real: Callable[..., Any] = getattr(os, name)

    def slow(*args: Any, **kwargs: Any) -> Any:
        time.sleep(PAUSE_S)
        result = real(*args, **kwargs)
        time.sleep(PAUSE_S)
        return result

    setattr(os, name, slow)


def main(folder: Path, round_number: str, pace: str) -> None:
    acknowledge = os.write
    if pace == "slow":
        for name in STEPS:
            slowed(name)
    log = AuditLog(folder, max_bytes=20_000 if pace == "fast" else 3_000).open()
    acknowledge(1, "".join(f"note {note}\n" for note in log.notes).encode())
    number = 0
    while True:
        number += 1
        marker = f"{round_number}.{number}"
        log.append(Line(tool="write_order", category="WRITE", args={"marker": marker, "text": "x" * (number % 400)}))
        acknowledge(1, f"{marker}\n".encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
