"""Errors that surfaces make themselves, and any error without the secrets it might hold."""

from __future__ import annotations

import difflib
import logging
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ..connectors.masking import masked
from ..graphs.error_size import shortened
from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Finding
from ..graphs.model import Json
from ..graphs.positions import caret

LONGEST_NAME: Final = 200  # a longer one resembles no name of ours, and takes long to compare
logger = logging.getLogger(__name__)


def redacted(error: JackfieldError, clean: Callable[[str], str]) -> JackfieldError:
    """The error with every text of it passed through `clean`."""
    details = redacted_json(dict(error.details), clean)
    return replace(error, message=clean(error.message), hint=clean(error.hint), details=details)


def redacted_json(value: Json, clean: Callable[[str], str]) -> Any:
    """The value with every text in it passed through `clean`; names of fields stay as they are."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {name: redacted_json(held, clean) for name, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [redacted_json(held, clean) for held in value]
    return value


def of_finding(finding: Finding) -> JackfieldError:
    """A finding as the error that stops a call, with the frame of its place in the file."""
    try:
        text = Path(finding.place.file).read_text("utf-8")
    except (OSError, ValueError):
        text = ""
    text = masked(text, [finding])
    finding = replace(finding, message=masked(finding.message), hint=masked(finding.hint))
    return JackfieldError(
        Code.CONFIG_INVALID,
        f"{finding.place}: {finding.message}",
        finding.hint,
        # The frame's own head, place and hint are in the message and the hint.
        {"finding": finding.as_json(), "frame": "\n".join(caret(replace(finding, hint=""), text).splitlines()[2:])},
    )


def not_found(kind: str, name: str, names: Sequence[str] | Mapping[str, Any], where: str = "") -> JackfieldError:
    """TOOL_NOT_FOUND for a connector or tool, with near names, or all of them where they are few."""
    near = difflib.get_close_matches(name, list(names), 3, 0.5) if len(name) <= LONGEST_NAME else []
    name = shortened(name)
    if near:
        hint = f"Did you mean {' or '.join(repr(n) for n in near)}?"
    elif names:
        hint = f"There is: {', '.join(sorted(names)[:12])}."
    else:
        hint = "There is none here." if kind == "tool" else "No connector file was found here: see `jackfield doctor`."
    message = f"There is no {kind} '{name}'{where}."
    return JackfieldError(Code.TOOL_NOT_FOUND, message, hint, {"name": name, "available": sorted(names)[:50]})


def unwritable(name: str, error: OSError) -> JackfieldError:
    """What the system said when `name`, a file or standard output, was to be written."""
    why = os.strerror(error.errno) if error.errno else str(error)
    return JackfieldError(
        Code.SOURCE_ERROR,
        f"{name} cannot be written: {why}.",
        "Free some space, check the permissions of its folder, or name another place.",
        {"path": name},
    )


def internal_error(bug: Exception, where: str) -> JackfieldError:
    """INTERNAL_ERROR with an id, under which `bug` stands in the log."""
    number = secrets.token_hex(4)
    logger.error("internal error %s in %s", number, where, exc_info=bug)
    return JackfieldError(
        Code.INTERNAL_ERROR,
        f"Something went wrong in Jackfield (error {number}).",
        "Its log says what, under this id. Please report it.",
        {"id": number},
    )
