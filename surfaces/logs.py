"""What a server says while it runs: on stderr, a line each; traces only on demand, for they may hold secrets."""

from __future__ import annotations

import logging
import os
import sys
from typing import Final

TRACEBACK: Final = "JACKFIELD_TRACEBACK"
QUIET: Final = {"uvicorn.error": logging.ERROR, "mcp": logging.ERROR, "sse_starlette": logging.ERROR}


class _Lines(logging.Formatter):
    """One line a record; of an exception only its type, unless traces are asked for."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{self.formatTime(record)} {record.levelname.lower()} {record.getMessage()}"
        if record.exc_info is None or record.exc_info[0] is None:
            return line
        if os.environ.get(TRACEBACK):
            return f"{line}\n{self.formatException(record.exc_info)}"
        return f"{line}: {record.exc_info[0].__name__} (set {TRACEBACK}=1 to see where)"


def log_to_stderr() -> None:
    """Warnings of everything, but only errors of libraries that warn of what any client may do as often as it likes."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    for name, level in QUIET.items():
        logging.getLogger(name).setLevel(level)
