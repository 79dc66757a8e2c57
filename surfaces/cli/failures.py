"""How an error and a finding look on a terminal, and as JSON where rows are asked for as JSON."""

from __future__ import annotations

import json
import os
import sys
import traceback
from dataclasses import dataclass
from typing import Final

import click

from ...graphs.errors import Code, JackfieldError

INTERRUPTED: Final = 130
TERMINATED: Final = 143
PIPE_CLOSED: Final = 141  # 128 + SIGPIPE, as any Unix filter whose reader has left
SHOWN_DETAILS: Final = 12
TRACEBACK: Final = "JACKFIELD_TRACEBACK"


@dataclass
class Invocation:
    """What `main` must know of the command that runs: whether its errors are to be JSON, as its rows are."""

    as_json: bool = False


def errors_as_json(wanted: bool) -> None:
    """Called by a command that answers JSON, before anything can fail."""
    click.get_current_context().ensure_object(Invocation).as_json = wanted


def show_error(error: JackfieldError, as_json: bool) -> None:
    """Write `error` to stderr: code and message, then the frame and the names that were available, then the hint."""
    if as_json:
        click.echo(json.dumps({"error": error.as_json()}, ensure_ascii=False, default=str), err=True)
        return
    for line in lines_of(error):
        click.echo(line, err=True)


def of_bug(error: Exception) -> JackfieldError:
    """What a person is told of a failure that nobody foresaw. Its trace may hold secrets, so it is shown on demand."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    hint = (
        "Please report it." if os.environ.get(TRACEBACK) else f"Set {TRACEBACK}=1 to see where, and please report it."
    )
    return JackfieldError(Code.INTERNAL_ERROR, f"Jackfield failed by a bug: {type(error).__name__}.", hint)


def lines_of(error: JackfieldError) -> list[str]:
    colour = sys.stderr.isatty()
    head = click.style(f"{error.code.value}", fg="red", bold=True) if colour else error.code.value
    lines = [f"{head}: {error.message}"]
    frame = error.details.get("frame")
    if isinstance(frame, str) and frame not in error.message:
        lines.extend("  " + line for line in frame.splitlines())
    available = error.details.get("available")
    if isinstance(available, (list, tuple)) and available:
        shown = ", ".join(str(name) for name in available[:SHOWN_DETAILS])
        more = f" and {len(available) - SHOWN_DETAILS} more" if len(available) > SHOWN_DETAILS else ""
        lines.append(f"  available: {shown}{more}")
    if error.hint:
        lines.append(f"  hint: {error.hint}")
    return lines
