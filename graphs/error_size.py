"""How large an error may be when it leaves: what a caller gave may stand in its texts, names and lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

MOST: Final = 15 * 1024  # bytes; MCP sends an error twice, as structured content and as text
LONGEST: Final = 300  # characters of a text in an error that is too large
LONGEST_NAME: Final = 80
LISTS: Final = (50, 20, 8, 3, 1)  # items of each list: the first of these with which it fits
DEEPEST: Final = 8
MOST_BITS: Final = 1_000


class Parts(NamedTuple):
    message: str
    hint: str
    details: Mapping[str, Any]


def fitted(parts: Parts) -> Parts:
    """The same, where it fits; else with long texts and lists cut, and `details["cut"]` true."""
    if _weight(list(parts)) <= MOST and _sent(parts) <= MOST:
        return parts
    message, hint = shortened(parts.message), shortened(parts.hint)
    for most in LISTS:
        cut = Parts(message, hint, {**_cut(parts.details, most), "cut": True})
        if _sent(cut) <= MOST:
            return cut
    return Parts(message, hint, {"cut": True})


def shortened(text: str, longest: int = LONGEST) -> str:
    """The text, or its beginning and how long it is."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"


def _weight(value: Any, depth: int = 0) -> int:
    """About how many characters it has; no more is looked at than shows that they are too many."""
    if depth > DEEPEST:
        return MOST + 1
    if isinstance(value, str):
        return len(value)
    if isinstance(value, int):
        return value.bit_length() // 3 if value.bit_length() <= MOST_BITS else MOST + 1
    if not isinstance(value, Mapping | list | tuple):
        return 8
    held = 0
    for each in value.items() if isinstance(value, Mapping) else value:
        held += 2 + _weight(each, depth + 1)
        if held > MOST:
            break
    return held


def _sent(parts: Parts) -> int:
    """Bytes of it as JSON, and of that JSON as a text."""
    try:
        once = json.dumps(parts, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return MOST + 1
    twice = json.dumps(once, ensure_ascii=False)
    return len(once.encode("utf-8", "surrogatepass")) + len(twice.encode("utf-8", "surrogatepass"))


def _cut(value: Any, most: int, depth: int = 0) -> Any:
    if depth > DEEPEST:
        return "…"
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, Mapping):
        kept = list(value.items())[:most]
        return {shortened(str(name), LONGEST_NAME): _cut(held, most, depth + 1) for name, held in kept}
    if isinstance(value, list | tuple):
        return [_cut(held, most, depth + 1) for held in value[:most]]
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"a whole number of {value.bit_length():,} bits"
    return value if value is None or isinstance(value, int | float) else shortened(str(value))
