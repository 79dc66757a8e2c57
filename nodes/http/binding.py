"""Configured text meets call data: `{name}` in a URL, `:name` in parameters and bodies, `{{ env:VAR }}` anywhere.

Environment references are expanded in configured text only; an argument is never looked into.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote, unquote

from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Json
from ..base import Secrets

_PIECE: Final = re.compile(r"(\{\{.*?\}\})|\{([A-Za-z_]\w*)\}")
_BOUND: Final = re.compile(r":([A-Za-z_]\w*)\Z")
_ABSENT: Final = object()


def bound_name(value: Json) -> str | None:
    """The argument that a configured value names: `:name` as a whole text."""
    match = _BOUND.match(value) if isinstance(value, str) else None
    return match[1] if match else None


def names_in(url: str, *values: Json) -> frozenset[str]:
    """Every argument that a URL (by `{name}`) and values (by `:name`, at any depth) name."""
    in_url = {match[2] for match in _PIECE.finditer(url) if match[2]}
    return frozenset(in_url | {name for value in values for name in _names(value)})


def bound_url(template: str, arguments: Mapping[str, Any], secrets: Secrets) -> str:
    """The URL with each `{name}` percent-encoded as one path segment, or as one value after `?`.

    Raises VALIDATION_MISSING_FIELD, VALIDATION_INVALID_PARAMS naming the parameter, SECRET_MISSING, and CONFIG_INVALID
    for a `{name}` where the host is.
    """
    pieces: list[str] = []
    filled: list[tuple[int, str]] = []
    end = 0
    for match in _PIECE.finditer(template):
        pieces.append(template[end : match.start()])
        end = match.end()
        if match[1]:
            pieces.append(secrets.expand(match[1]))
            continue
        name = match[2]
        so_far = "".join(pieces)
        if so_far.count("/") < 3:
            raise JackfieldError(
                Code.CONFIG_INVALID,
                f"'{{{name}}}' stands in the host of the URL, where no argument may go.",
                "Arguments go into the path or the query.",
            )
        pieces.append(quote(_segment(name, arguments), safe=""))
        filled.append((len(so_far), name))
    pieces.append(template[end:])
    url = "".join(pieces)
    path_end = url.find("?") if "?" in url else len(url)
    for place, name in filled:
        if place < path_end:
            _check_segment(url, place, path_end, name)
    return url


def bound_pairs(
    configured: Mapping[str, Json], arguments: Mapping[str, Any], secrets: Secrets
) -> Iterator[tuple[str, str]]:
    """Query parameters or headers by name; a null value is not sent, a list is sent once for each item."""
    for name, value in configured.items():
        found = bound_value(value, arguments, secrets)
        for each in found if isinstance(found, list | tuple) else (found,):
            if each is not None and each is not _ABSENT:
                yield name, text_of(each)


def bound_value(value: Json, arguments: Mapping[str, Any], secrets: Secrets) -> Any:
    """`value` with `:name` replaced by the argument in its own type, at any depth; what is absent is left out."""
    name = bound_name(value)
    if name is not None:
        return _argument(name, arguments)
    if isinstance(value, str):
        return secrets.expand(value) if "{{" in value else value
    if isinstance(value, Mapping):
        found = {key: bound_value(each, arguments, secrets) for key, each in value.items()}
        return {key: each for key, each in found.items() if each is not _ABSENT}
    if isinstance(value, list):
        items = [bound_value(each, arguments, secrets) for each in value]
        return [each for each in items if each is not _ABSENT]
    return value


def text_of(value: Any) -> str:
    """An argument as HTTP text: true/false, ISO dates with Z for UTC, numbers as they are."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict | list | tuple):
        from ..conversions import json_text

        return json_text(value)
    return str(value)


def _argument(name: str, arguments: Mapping[str, Any]) -> Any:
    if name not in arguments:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"':{name}' names no parameter of the tool.",
            f"Parameters: {', '.join(arguments) or 'none'}.",
            {"parameter": name},
        )
    value = arguments[name]
    return _ABSENT if value is None else value


def _segment(name: str, arguments: Mapping[str, Any]) -> str:
    value = _argument(name, arguments)
    if value is _ABSENT:
        raise JackfieldError(
            Code.VALIDATION_MISSING_FIELD,
            f"Parameter '{name}' is missing, and the URL needs it.",
            f"Give '{name}'.",
            {"parameter": name},
        )
    if isinstance(value, dict | list | tuple):
        raise _unfit(name, "a list or an object", "one plain value")
    text = text_of(value)
    if not text:
        raise _unfit(name, "empty text", "text")
    return text


def _check_segment(url: str, place: int, path_end: int, name: str) -> None:
    """`quote` leaves dots as they are: a whole segment of them would climb."""
    start = url.rfind("/", 0, place) + 1
    end = url.find("/", place, path_end)
    segment = unquote(url[start : end if end != -1 else path_end])
    if segment in (".", ".."):
        raise _unfit(name, f"'{segment}'", "a name that is no step in a path")


def _unfit(name: str, found: str, expected: str) -> JackfieldError:
    return JackfieldError(
        Code.VALIDATION_INVALID_PARAMS,
        f"Parameter '{name}' becomes one part of a path: found {found}, expected {expected}.",
        f"Give '{name}' another value.",
        {"parameter": name, "found": found, "expected": expected},
    )


def _names(value: Json) -> Iterator[str]:
    name = bound_name(value)
    if name is not None:
        yield name
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _names(each)
    elif isinstance(value, list):
        for each in value:
            yield from _names(each)
