"""A file's text as it may be shown: what lint took for a secret is covered, so that a caret frame does not print it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ...graphs.findings import Finding
from ..secret_text import KINDS
from .secrets import SECRET_FIELD

SECRET_CODES: Final = frozenset(("SECRET_LITERAL", "SECRET_IN_URL", "AUTH_LITERAL_SECRET"))
# Also where the file is no JSON yet, and no rule has seen it.
FIELD: Final = re.compile(rf'"[\w-]*(?:{SECRET_FIELD.pattern})[\w-]*"\s*:\s*"((?:[^"\\\n]|\\.)*)', re.IGNORECASE)
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,39}|\{\{\s*env:\w+\s*\}\}|:\w+")
COVER: Final = "•"


def masked(text: str, findings: Iterable[Finding] = ()) -> str:
    """`text` with secrets covered, character for character, so that lines and columns stay what they were."""
    spans = [(found.start(1), found.end(1)) for found in FIELD.finditer(text) if not _is_plain(found[1])]
    for _, pattern in KINDS:
        spans += [found.span() for found in pattern.finditer(text)]
    lines = _line_starts(text)
    for finding in findings:
        place = finding.place
        if finding.code in SECRET_CODES and place.line and place.column and place.end_column:
            start = lines[place.line - 1] + place.column - 1
            spans.append((start, start + place.end_column - place.column))
    characters = list(text)
    for start, end in spans:
        for index in range(start, min(end, len(characters))):
            if characters[index] not in '"\r\n':
                characters[index] = COVER
    return "".join(characters)


def _is_plain(value: str) -> bool:
    """A name, a reference or a bound parameter: what such fields should hold."""
    return NAME.fullmatch(value) is not None and not any(pattern.search(value) for _, pattern in KINDS)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]
