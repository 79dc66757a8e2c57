"""A JSON scanner that knows where each value and key stands, and says exactly where a text is not JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Final, NoReturn

from .errors import Code, JackfieldError
from .findings import Finding, Place, Severity
from .model import Json
from .pointers import escaped

DEPTH: Final = 100  # levels of nesting; what walks a document may recurse this far
SYNTAX: Final = "JSON_SYNTAX"  # the code of a finding about text that is not JSON

Span = tuple[int, int]


class JsonSyntaxError(JackfieldError):
    """Text that is not JSON, or not JSON that we take. `finding` says it with its place."""

    def __init__(self, finding: Finding) -> None:
        place = finding.place
        super().__init__(
            Code.CONFIG_INVALID,
            f"{place}: {finding.message}",
            finding.hint,
            {"file": place.file, "line": place.line, "column": place.column},
        )
        self.finding = finding


class Spans:
    """One reading of a text by our own scanner: slower than the standard one, but it knows where everything is."""

    def __init__(self, text: str, file: str = "") -> None:
        self.text, self.file = text, file
        self.values: dict[str, Span] = {}
        self.keys: dict[str, Span] = {}
        if text.startswith("\ufeff"):
            self._refuse("The text begins with a byte order mark.", 0, "Save it as UTF-8 without BOM.")
        self.document, end = self._value(self._skip(0), "", 0)
        end = self._skip(end)
        if end != len(text):
            self._refuse("There is more text after the end of the document.", end)

    def _value(self, at: int, pointer: str, depth: int) -> tuple[Json, int]:
        text = self.text
        character = text[at : at + 1]
        value: Json
        if character == '"':
            value, end = self._string(at)
        elif character == "{":
            value, end = self._object(at, pointer, depth + 1)
        elif character == "[":
            value, end = self._array(at, pointer, depth + 1)
        elif number := _NUMBER.match(text, at):
            value, end = self._number(number), number.end()
        elif word := _WORD.match(text, at):
            if word[0] not in _CONSTANTS:
                self._refuse(f"'{word[0][:40]}' is not a JSON value.", at, _WORD_HINTS.get(word[0], ""), len(word[0]))
            value, end = _CONSTANTS[word[0]], word.end()
        else:
            self._unexpected("a value", at)
        self.values[pointer] = (at, end)
        return value, end

    def _object(self, opened: int, pointer: str, depth: int) -> tuple[dict[str, Json], int]:
        self._enter(opened, depth)
        found: dict[str, Json] = {}
        at = self._skip(opened + 1)
        if self.text[at : at + 1] == "}":
            return found, at + 1
        while True:
            if self.text[at : at + 1] != '"':
                self._unexpected("a property name in double quotes", at, opened)
            key, end = self._string(at)
            if key in found:
                first = self.keys[f"{pointer}/{escaped(key)}"]
                line = place_of(self.text, first).line
                self._refuse(
                    f"The property '{key}' is here twice; it was first on line {line}.", at, "Remove one.", end - at
                )
            below = f"{pointer}/{escaped(key)}"
            self.keys[below] = (at, end)
            at = self._skip(end)
            if self.text[at : at + 1] != ":":
                self._unexpected("':' after the property name", at, opened)
            found[key], end = self._value(self._skip(at + 1), below, depth)
            at = self._skip(end)
            if self.text[at : at + 1] == "}":
                return found, at + 1
            at = self._after_comma(at, end, "}", opened)

    def _array(self, opened: int, pointer: str, depth: int) -> tuple[list[Json], int]:
        self._enter(opened, depth)
        found: list[Json] = []
        at = self._skip(opened + 1)
        if self.text[at : at + 1] == "]":
            return found, at + 1
        while True:
            value, end = self._value(at, f"{pointer}/{len(found)}", depth)
            found.append(value)
            at = self._skip(end)
            if self.text[at : at + 1] == "]":
                return found, at + 1
            at = self._after_comma(at, end, "]", opened)

    def _after_comma(self, at: int, end: int, closing: str, opened: int) -> int:
        found = self.text[at : at + 1]
        if found != ",":
            if found and (found in '"{[' or found.isalnum()):
                self._refuse("There is no comma between two values.", max(end - 1, 0), "Add a comma here.")
            self._unexpected(f"',' or '{closing}'", at, opened)
        after = self._skip(at + 1)
        if self.text[after : after + 1] == closing:
            self._refuse(f"There is a comma before '{closing}'.", at, "Remove it: JSON has no trailing commas.")
        return after

    def _string(self, at: int) -> tuple[str, int]:
        try:
            value, end = _STRINGS.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            message, hint = next(v for start, v in _STRING_ERRORS if error.msg.startswith(start))
            if error.msg.startswith("Unterminated") or self.text[error.pos] == "\n":
                message, hint = _STRING_ERRORS[0][1]
                self._refuse(message, at, hint, self.text.find("\n", at) - at)
            escape = self.text.rfind("\\", at, error.pos + 1) if "\\" in error.msg else -1
            self._refuse(message, error.pos if escape < 0 else escape, hint)
        if not value.isascii() and (half := _SURROGATE.search(value)):
            self._refuse(
                "A string holds one half of a surrogate pair.",
                at,
                f"U+{ord(half[0]):04X} is no character by itself; write both halves, or the character.",
                end - at,
            )
        return value, end

    def _number(self, number: re.Match[str]) -> int | float:
        digits = number[0]
        if digits[:1] == "0" and (more := _DIGITS.match(self.text, number.end())):
            self._refuse("A number begins with 0.", number.start(), "Write it without the zero.", 1 + len(more[0]))
        try:
            value = float(digits) if number[1] or number[2] else int(digits)
        except ValueError:  # Python's own limit of digits for an integer
            value = math.inf
        if math.isinf(value):
            self._refuse("The number is too large.", number.start(), "Put it in quotes.", len(digits))
        return value

    def _enter(self, at: int, depth: int) -> None:
        if depth > DEPTH:
            self._refuse(f"Values are nested more than {DEPTH} levels deep.", at)

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        assert match is not None, "it also matches nothing"
        return match.end()

    def _unexpected(self, expected: str, at: int, opened: int | None = None) -> NoReturn:
        if at >= len(self.text):
            last = max(len(self.text.rstrip()) - 1, 0)
            where = "" if opened is None else f" '{self.text[opened]}' of line {place_of(self.text, (opened, 0)).line}"
            hint = f"The{where} is not closed." if where else "The document is empty or cut off."
            self._refuse(f"The text ends where {expected} was expected.", last, hint)
        found = self.text[at]
        hint = next((words for start, words in _HINTS if self.text.startswith(start, at)), "")
        self._refuse(f"Expected {expected}, found {found!r}.", at, hint)

    def _refuse(self, message: str, at: int, hint: str = "", length: int = 1) -> NoReturn:
        place = place_of(self.text, (at, at + max(length, 1)), self.file)
        raise JsonSyntaxError(syntax_problem(message, hint, place))


def place_of(text: str, span: Span, file: str = "", pointer: str = "") -> Place:
    """The place of `text[start:end]`; one that goes over several lines ends with its first."""
    start, end = span
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    last = min(end, len(text) if line_end < 0 else line_end)
    column = start - line_start + 1
    return Place(file, pointer, text.count("\n", 0, start) + 1, column, max(column + 1, last - line_start + 1))


def syntax_problem(message: str, hint: str, place: Place) -> Finding:
    return Finding(SYNTAX, Severity.ERROR, message, place, hint)


_STRINGS: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_DIGITS: Final = re.compile(r"\d+", re.ASCII)
_WORD: Final = re.compile(r"-?[A-Za-z_$][\w$]*")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONSTANTS: Final[Mapping[str, Json]] = {"true": True, "false": False, "null": None}
_WORD_HINTS: Final[Mapping[str, str]] = {
    "True": "JSON writes true in small letters.",
    "False": "JSON writes false in small letters.",
    "None": "JSON writes null.",
    "undefined": "JSON writes null.",
    "NaN": "JSON has no NaN; write null.",
    "Infinity": "JSON has no infinity; write null.",
    "-Infinity": "JSON has no infinity; write null.",
}
_HINTS: Final = (
    ("'", "JSON takes double quotes."),
    ("//", "JSON has no comments."),
    ("/*", "JSON has no comments."),
    ("#", "JSON has no comments."),
    (",", "There is a comma too many."),
    ("}", "A value is missing, or there is a comma too many."),
    ("]", "A value is missing, or there is a comma too many."),
    ("+", "JSON writes positive numbers without a sign."),
    (".", "JSON writes a zero before the decimal point."),
)
_STRING_ERRORS: Final = (
    (
        "Unterminated",
        ("The string is not closed on its line.", "Add a double quote at its end; a line break in it is \\n."),
    ),
    ("Invalid control", ("A string holds a raw control character.", "Write a line break as \\n, a tab as \\t.")),
    ("Invalid \\u", ("The \\u escape needs four hexadecimal digits.", "")),
    ("Invalid \\", ("This is no escape of JSON.", 'The escapes are \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX.')),
)
