"""Characters that are there and are not seen, in what agents and people read of a connector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...graphs.findings import Finding
from ..visible import HIDDEN, HIDDEN_IN_LINE
from .subject import Subject, texts

PARTS: Final = ("tools", "skills", "resources")
NAMES: Final = frozenset(("name", "title"))
TEXTS: Final = frozenset(("description", "instructions", "prompt_template", "when_to_use", "text"))


def invisible(subject: Subject) -> Iterator[Finding]:
    document = subject.parts.document
    shown = {name: document.get(name) for name in ("name", "description", "instructions", *PARTS)}
    for pointer, text in texts(shown, ""):
        keys = pointer.split("/")
        if keys[-1] in NAMES:
            hidden, where = HIDDEN_IN_LINE, "a name"
        elif keys[-1] in TEXTS or "enum" in keys[-2:]:
            hidden, where = HIDDEN, "text that agents read"
        else:
            continue
        found = hidden.search(text)
        if found is not None:
            character = f"U+{ord(found[0]):04X}"
            message = f"There is the character {character} in {where}, which is not seen."
            yield subject.finding("TEXT_INVISIBLE", pointer, message, "Take it out.", character, found.span())
