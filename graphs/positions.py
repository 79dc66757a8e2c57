"""JSON text with the place of every value and key, exact syntax errors, and the frame that shows a place to a person.

A document is parsed by the standard library first; places are worked out when one is asked for.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .findings import Finding, Place
from .model import Json
from .scanner import DEPTH, JsonSyntaxError, Span, Spans, place_of, syntax_problem


@dataclass(frozen=True)
class Document:
    """A parsed JSON text. Its places are 1-based lines and columns, counted in characters."""

    value: Json
    text: str
    file: str = ""

    def place(self, pointer: str, *, key: bool = False) -> Place:
        """Where the value at `pointer` stands (its key, if asked), else where the nearest value around it begins."""
        known = pointer
        while known not in self._spans.values and known:
            known = known.rpartition("/")[0]
        span = self._spans.values[known]
        if key or known != pointer:  # a long object is best shown by its name
            span = self._spans.keys.get(known, span)
        return self._place(span, pointer)

    def place_within(self, pointer: str, start: int, length: int = 1) -> Place:
        """Where a part of the string value at `pointer` stands, as in one word of an SQL text."""
        span = self._spans.values.get(pointer)
        if span is None or self.text[span[0]] != '"':
            return self.place(pointer)
        ends = [span[0] + 1]
        ends.extend(match.end() for match in _CHARACTER.finditer(self.text, span[0] + 1, span[1] - 1))
        first = ends[min(start, len(ends) - 1)]
        last = ends[min(start + length, len(ends) - 1)]
        return self._place((first, max(last, first + 1)), pointer)

    def _place(self, span: Span, pointer: str) -> Place:
        return place_of(self.text, span, self.file, pointer)

    @cached_property
    def _spans(self) -> Spans:
        return Spans(self.text, self.file)


def read(text: str, file: str = "") -> Document:
    """Parse JSON. Refused beyond the standard: duplicate keys, numbers out of range, half surrogates, deep nesting.

    Raises JsonSyntaxError with the exact place.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
        if _nests_deeply(value) or _HALF_SURROGATE.search(text):
            raise ValueError
    except (ValueError, RecursionError):
        scanned = Spans(text, file)  # says where; raises, unless each surrogate has its other half
        return Document(scanned.document, text, file)
    return Document(value, text, file)


def read_bytes(data: bytes, file: str = "") -> Document:
    """`read` of a file's bytes, which must be UTF-8 without a byte order mark. Raises JsonSyntaxError."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            message = f"The file begins with a byte order mark of {encoding}."
            raise JsonSyntaxError(syntax_problem(message, "Save it as UTF-8 without BOM.", Place(file, "", 1, 1, 2)))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        place = place_of(before + "\ufffd", (len(before), len(before) + 1), file)
        message = f"Byte 0x{data[error.start]:02x} is not UTF-8 text."
        raise JsonSyntaxError(syntax_problem(message, "Save the file as UTF-8.", place)) from None
    return read(text, file)


def caret(finding: Finding, text: str) -> str:
    """The finding as a frame for a person: code and message, place, the line of `text` with carets, and the hint."""
    place = finding.place
    head = f"{finding.severity.value}[{finding.code}]: {finding.message}"
    lines = text.split("\n") if text else []
    if place.line is None or place.column is None or place.line > len(lines):
        frame = [head, f"  --> {place}"]
        return "\n".join([*frame, f"   = {finding.hint}"] if finding.hint else frame)
    shown, column, length = _cut(lines[place.line - 1], place.column, place.end_column or place.column + 1)
    gutter = " " * len(str(place.line))
    frame = [
        head,
        f"{gutter}--> {place}",
        f"{gutter} |",
        f"{place.line} | {_plain(shown)}",
        f"{gutter} | {' ' * _width(shown[:column])}{'^' * max(_width(shown[column : column + length]), 1)}",
    ]
    return "\n".join([*frame, f"{gutter} = {finding.hint}"] if finding.hint else frame)


def _cut(line: str, column: int, end_column: int, limit: int = 110) -> tuple[str, int, int]:
    """At most `limit` characters of a line around a place; the place's offset and length in them."""
    line = line.rstrip("\r")
    start = 0
    if len(line) > limit:
        start = max(0, min(column - 1 - limit // 3, len(line) - limit))
    shown = line[start : start + limit]
    if start:
        shown = "…" + shown[1:]
    if start + limit < len(line):
        shown = shown[:-1] + "…"
    offset = min(column - 1 - start, len(shown))
    return shown, offset, min(end_column - column, len(shown) - offset)


def _plain(text: str) -> str:
    """Text that is safe on a terminal: a file's control characters are not obeyed."""
    return "".join(c if c.isprintable() else " " if c == "\t" else "\ufffd" for c in text)


def _width(text: str) -> int:
    """Columns that text takes on a terminal."""
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _no_constant(name: str) -> Json:
    raise ValueError(name)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError
    return value


def _nests_deeply(value: Json) -> bool:
    level = [value]
    for _ in range(DEPTH + 1):
        containers = [found for found in level if isinstance(found, (dict, list))]
        if not containers:
            return False
        level = [inner for outer in containers for inner in (outer.values() if isinstance(outer, dict) else outer)]
    return True


_CHARACTER: Final = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u....|\\.|[^\\]", re.DOTALL)
_HALF_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_MARKS: Final = ((codecs.BOM_UTF8, "UTF-8"), (codecs.BOM_UTF16_LE, "UTF-16"), (codecs.BOM_UTF16_BE, "UTF-16"))
