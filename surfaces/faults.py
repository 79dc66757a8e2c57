"""Errors that surfaces make themselves, and any error without the secrets it might hold."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..connectors.masking import masked
from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Finding
from ..graphs.model import Json
from ..graphs.positions import caret


def redacted(error: JackfieldError, clean: Callable[[str], str]) -> JackfieldError:
    """The error with every text of it passed through `clean`."""
    details = _clean(dict(error.details), clean)
    return replace(error, message=clean(error.message), hint=clean(error.hint), details=details)


def _clean(value: Json, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {name: _clean(held, clean) for name, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(held, clean) for held in value]
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
    near = difflib.get_close_matches(name, list(names), 3, 0.5)
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
