"""Where the records are in a reply: a `data_path` applied to JSON bytes gives slices of them, one a record.

A plain dotted path slices the envelope without parsing the records; any other JMESPath expression parses it whole.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ..graphs.errors import Code, JackfieldError

_PLAIN: Final = re.compile(r"(?!.{2001})[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
MAX_LENGTH: Final = 2000  # JMESPath's parser recurses, and no hand writes more
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY: Final = msgspec.json.Decoder(list[msgspec.Raw])
_NAMES: Final = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}


def check_path(data_path: str) -> None:
    """Raises CONFIG_INVALID when `data_path` is no JMESPath expression, or a too long or too deep one."""
    if data_path and not _PLAIN.match(data_path):
        _compiled(data_path)


def is_plain(data_path: str) -> bool:
    """Whether the records are reached without parsing them."""
    return not data_path or _PLAIN.match(data_path) is not None


def record_slices(part: bytes, data_path: str, source: str) -> Sequence[msgspec.Raw]:
    """The JSON of each record in `part`. Raises SOURCE_BAD_REPLY when there is no list of objects at `data_path`."""
    check_text(part, source)
    if data_path and not _PLAIN.match(data_path):
        return _projected(part, data_path, source)
    try:
        value: msgspec.Raw | bytes = part
        for key in data_path.split(".") if data_path else ():
            value = _OBJECT.decode(value)[key]
        return _ARRAY.decode(value)
    except (msgspec.ValidationError, KeyError):
        raise _not_a_list(_parsed(part, source), data_path, source) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise not_json(error, source) from None


def value_of(part: bytes, key: str) -> Any:
    """The value of a key at the top, whatever characters it has; None when there is none."""
    try:
        return msgspec.json.decode(_OBJECT.decode(part)[key])
    except (msgspec.ValidationError, KeyError):
        return None


def value_at(part: bytes, path: str) -> Any:
    """The one value at the dotted or JMESPath `path`; None when there is none."""
    try:
        if not _PLAIN.match(path):
            return _search(path, msgspec.json.decode(part))
        value: msgspec.Raw | bytes = part
        for key in path.split("."):
            value = _OBJECT.decode(value)[key]
        return msgspec.json.decode(value)
    except (msgspec.ValidationError, KeyError):
        return None


def check_text(part: bytes, source: str) -> None:
    """Raises SOURCE_BAD_REPLY when `part` is not UTF-8: later stages trust it."""
    try:
        if not part.isascii():
            part.decode()
    except UnicodeDecodeError as error:
        raise JackfieldError(
            Code.SOURCE_BAD_REPLY,
            f"The reply of '{source}' is not UTF-8: byte {error.start} is {part[error.start]:#04x}.",
            "JSON is UTF-8, unless the content type names another charset.",
        ) from None


def not_json(error: Exception, source: str) -> JackfieldError:
    found = "it nests too deep" if isinstance(error, RecursionError) else str(error).removeprefix("JSON is malformed: ")
    return JackfieldError(
        Code.SOURCE_BAD_REPLY,
        f"The reply of '{source}' is not JSON: {found}.",
        "Expected a JSON document.",
    )


def described(value: Any) -> str:
    """What a JSON value is, in words, without its content."""
    if isinstance(value, dict):
        keys = ", ".join(list(value)[:8])
        return f"an object with {'no keys' if not value else f'the keys {keys}'}{', …' if len(value) > 8 else ''}"
    return _NAMES.get(type(value), "a number")


def _parsed(part: bytes, source: str) -> Any:
    try:
        return msgspec.json.decode(part)
    except (msgspec.DecodeError, RecursionError) as error:
        raise not_json(error, source) from None


def _projected(part: bytes, data_path: str, source: str) -> Sequence[msgspec.Raw]:
    document = _parsed(part, source)
    found = _search(data_path, document)
    if not isinstance(found, list):
        raise _not_a_list(document, data_path, source, found)
    return [msgspec.Raw(msgspec.json.encode(record)) for record in found]


def _search(data_path: str, document: Any) -> Any:
    from jmespath.exceptions import JMESPathError

    try:
        return _compiled(data_path).search(document)
    except JMESPathError as error:
        raise JackfieldError(
            Code.SOURCE_BAD_REPLY,
            f"data_path '{data_path[:80]}' does not fit the reply: {str(error)[:200]}.",
            "Check the expression against a reply of the API.",
        ) from None
    except RecursionError:
        raise _unusable(data_path, "it nests too deep") from None


def _compiled(data_path: str) -> Any:
    import jmespath
    from jmespath.exceptions import JMESPathError

    if len(data_path) > MAX_LENGTH:
        raise _unusable(data_path, f"it has {len(data_path):,} characters, and at most {MAX_LENGTH:,} are read")
    try:
        return jmespath.compile(data_path)
    except JMESPathError as error:
        raise _unusable(data_path, str(error).splitlines()[0][:200]) from None
    except RecursionError:
        raise _unusable(data_path, "it nests too deep") from None


def _unusable(data_path: str, why: str) -> JackfieldError:
    return JackfieldError(
        Code.CONFIG_INVALID,
        f"data_path '{data_path[:40]}{'…' if len(data_path) > 40 else ''}' is not usable JMESPath: {why}.",
        "Write the path to the list of records, such as 'data.items'.",
    )


_UNSEARCHED: Final = object()


def _not_a_list(document: Any, data_path: str, source: str, found: Any = _UNSEARCHED) -> JackfieldError:
    """Says where the path ended, what is there, and which keys are near."""
    place, keys = "the top of the reply", list(document) if isinstance(document, dict) else []
    if found is _UNSEARCHED:
        found = document
        for key in data_path.split(".") if data_path else ():
            keys = list(found) if isinstance(found, dict) else []
            found = found.get(key) if isinstance(found, dict) else None
            place = f"'{data_path}'"
    elif data_path:
        place = f"'{data_path}'"
    near = difflib.get_close_matches(data_path.rpartition(".")[2], keys, 3) or keys[:8]
    hint = "data_path must lead to a list of objects."
    if isinstance(found, dict):
        lists = [name for name, value in found.items() if isinstance(value, list)]
        if lists:
            hint += f" Try '{'.'.join(filter(None, (data_path, lists[0])))}'."
        hint += f" If this object itself is the one record, write '[{data_path or '@'}]'."
    elif found is None and near:
        hint += f" Keys that are there: {', '.join(near)}."
    return JackfieldError(
        Code.SOURCE_BAD_REPLY,
        f"Source '{source}': found {described(found)} at {place}, expected a list of objects.",
        hint,
        {"source": source, "data_path": data_path, "found": described(found), "keys": near},
    )
