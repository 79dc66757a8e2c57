"""A file's text as it may be shown: what may be a secret is covered, so that no excerpt of any command prints it.

Nothing here needs the file to be JSON, or lint to have seen it: an excerpt is shown of files that cannot be read, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..graphs.findings import Finding
from .secret_text import HARMLESS_FIELDS, KINDS, SECRET_FIELD, names_a_secret

SECRET_CODES: Final = frozenset(("SECRET_LITERAL", "SECRET_IN_URL", "AUTH_LITERAL_SECRET"))
STRING: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)')
FIELD: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"\s*:\s*"((?:[^"\\\n]|\\.)*)')
REFERENCE: Final = re.compile(r"(?i:(?:bearer|basic)\s+)?(?:\{\{\s*env:\w+\s*\}\}|:\w+)")
COVER: Final = "•"


def masked(text: str, findings: Iterable[Finding] = ()) -> str:
    """`text` with secrets covered, character for character, so that lines and columns stay what they were."""
    spans = [found.span(2) for found in FIELD.finditer(text) if not _may_be_shown(found[1], found[2])]
    for part in (*STRING.finditer(text), *re.finditer(r"(?s)(.*)", text)):  # a pattern may ask for the whole of a value
        for _, pattern in KINDS:
            spans += [
                (part.start(1) + found.start(), part.start(1) + found.end()) for found in pattern.finditer(part[1])
            ]
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


def _may_be_shown(field: str, value: str) -> bool:
    """Whether a field is none of secrets by its name, or holds a reference, or a variable's name where one belongs."""
    if SECRET_FIELD.search(field) is None or field in HARMLESS_FIELDS or REFERENCE.fullmatch(value.strip()):
        return True
    return field.endswith("secret_key") and names_a_secret(value)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]
