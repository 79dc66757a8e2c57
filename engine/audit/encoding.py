"""Any value as JSON on one line: whatever is in it, a reader of lines and a terminal see one harmless line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

DEEPEST: Final = 32
MOST_BITS: Final = 10_000  # of a whole number: Python writes no longer ones as decimals
# What JSON lets stand and some reader takes for a line end or obeys: DEL and C1, line and paragraph separators, marks
# that turn the direction of text or cannot be seen.
UNSAFE: Final = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_encoder: Final = msgspec.json.Encoder()


def one_line(value: Any) -> bytes:
    """`value` as compact JSON. What JSON has no form for becomes text; lone surrogates become their escapes as text."""
    try:
        found = _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):  # UnicodeEncodeError is a ValueError
        found = _encoder.encode(plain(value))
    if found.isascii() and b"\x7f" not in found:
        return found
    # Such characters stand only inside strings, where an escape means the same.
    return UNSAFE.sub(_escaped, found.decode()).encode()


def plain(value: Any, depth: int = 0) -> Any:
    """`value` made of what JSON can say, to a depth that every reader takes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= MOST_BITS else f"a whole number of {value.bit_length()} bits"
    if isinstance(value, Mapping | list | tuple):
        if depth >= DEEPEST:
            return f"deeper than {DEEPEST} levels"
        if isinstance(value, Mapping):
            return {plain(str(name)): plain(held, depth + 1) for name, held in value.items()}
        return [plain(held, depth + 1) for held in value]
    try:
        return _encoder.encode(value) and value
    except (TypeError, ValueError, OverflowError, RecursionError):
        return f"a value of type {type(value).__name__}"


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number < 0x10000:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"
