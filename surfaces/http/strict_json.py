"""JSON as it may reach a parser: what two parsers would read in two ways, or one would choke on, is refused before.

The MCP SDK reads a body with `json.loads` or pydantic, by era. Those take NaN, 1e400, keys given twice, halves of
surrogate pairs and UTF-16, which then fail somewhere deeper, or mean one thing to a check and another to a tool.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

MAX_DEPTH: Final = 100
MAX_KEYS: Final = 100_000
MAX_DIGITS: Final = 400  # more than any double, or decimal of a database that we read


class NotStrictError(ValueError):
    """The text is not JSON, or JSON that is refused. It says which, without the value."""


def loads(body: bytes) -> Any:
    """The value of a body. Raises NotStrictError."""
    try:
        msgspec.json.decode(body)
    except RecursionError:
        raise _too_deep() from None
    except UnicodeDecodeError:
        raise NotStrictError("it is not UTF-8") from None
    except msgspec.ValidationError:
        raise NotStrictError("a number is out of range") from None
    except msgspec.DecodeError as error:
        raise NotStrictError(_said(str(error), body)) from None
    try:
        _objects.keys = 0
        value = _decoder.decode(body.decode())
    except RecursionError:
        raise _too_deep() from None
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        _check_depth(value)
    return value


class _Objects:
    """Makes the objects of one document at a time, and counts their keys."""

    __slots__ = ("keys",)

    def __init__(self) -> None:
        self.keys = 0

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        self.keys += len(pairs)
        if len(made) != len(pairs):
            raise NotStrictError("an object has the same key twice")
        if self.keys > MAX_KEYS:
            raise NotStrictError(f"there are more than {MAX_KEYS:,} keys")
        return made


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise NotStrictError(f"a number has more than {MAX_DIGITS} digits")
    return int(text)


# Kept, since to make a decoder takes longer than to read a call.
_objects: Final = _Objects()
_decoder: Final = json.JSONDecoder(object_pairs_hook=_objects, parse_int=_integer)


def _check_depth(value: Any) -> None:
    level = [value] if isinstance(value, (dict, list)) else []
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _too_deep()
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]


def _too_deep() -> NotStrictError:
    return NotStrictError(f"it is nested deeper than {MAX_DEPTH} levels")


def _said(message: str, body: bytes) -> str:
    if body.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return "it begins with a byte order mark"
    if "truncated" in message and b"\\u" in body:
        return "it ends too early, or holds half of a surrogate pair"
    return message.removeprefix("JSON is malformed: ")
