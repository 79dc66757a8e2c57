"""A document that is rewritten field by field while remembering where each moved field stood in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...graphs.findings import Finding, Place, Severity


class Rewriting:
    """Moves that keep their origin. `notes` are findings in pointers of the file as it was written."""

    def __init__(self) -> None:
        self.origins: dict[str, str] = {}
        self.words: dict[str, tuple[str, Mapping[str, str]]] = {}
        self.notes: list[Finding] = []

    def move(self, value: dict[str, Any], pointer: str, old: str, new: str) -> None:
        """Give field `old` the name `new`. Both present: `new` stays and `old` is noted as not read."""
        if old not in value:
            return
        moved = value.pop(old)
        if moved is None:
            return
        if value.get(new) is not None:
            self.warn(f"{pointer}/{old}", f"'{old}' is not read: '{new}' says the same and is there too.")
            return
        value[new] = moved
        self.origins[f"{pointer}/{new}"] = f"{pointer}/{old}"

    def came_from(self, pointer: str, old: str) -> None:
        self.origins[pointer] = old

    def written_from(self, pointer: str, text: str, words: Mapping[str, str]) -> None:
        """The text now at `pointer` was put together: each of `words` in it stood at a place of its own."""
        self.words[pointer] = text, words

    def original(self, pointer: str, start: int | None = None, length: int = 1) -> str:
        """Where in the file the value stood that is now at `pointer`, or that part of its text."""
        if start is not None and pointer in self.words:
            text, words = self.words[pointer]
            word = text[start : start + length].strip(':"').replace('""', '"')
            if word in words:
                return words[word]
        head = pointer
        while head:
            if head in self.origins:
                return self.origins[head] + pointer[len(head) :]
            head = head.rpartition("/")[0]
        return pointer

    def refuse(self, code: str, pointer: str, message: str, hint: str, subject: str) -> None:
        self.notes.append(Finding(code, Severity.ERROR, message, Place(pointer=pointer), hint, subject=subject))

    def warn(self, pointer: str, message: str, hint: str = "") -> None:
        self.notes.append(Finding("SPELLING_CONFLICT", Severity.WARNING, message, Place(pointer=pointer), hint))


def names(value: Any) -> list[str]:
    """The texts of a list; anything else is for the schema to refuse."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def objects(document: Mapping[str, Any], name: str) -> list[tuple[str, dict[str, Any]]]:
    """The objects of the list `document[name]`, each with its pointer; anything else is for the schema to refuse."""
    items = document.get(name)
    if not isinstance(items, list):
        return []
    return [(f"/{name}/{index}", item) for index, item in enumerate(items) if isinstance(item, dict)]
