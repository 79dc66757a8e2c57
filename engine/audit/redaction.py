"""What a line of the audit keeps of a call's arguments: nothing secret, and no more than its share of a line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any, Final

from msgspec import Raw

from ...nodes.secrets import HIDDEN, SHORTEST_HIDDEN
from .encoding import DEEPEST, one_line

MAX_ARGS_BYTES: Final = 8_192
LONG_VALUE: Final = 512  # bytes of one argument that may stand when all of them together are too many
LONGEST_KEY: Final = 128
MOST_HIDDEN: Final = 20
LONGEST_PART: Final = 64
SECRET_WORDS: Final = frozenset(
    ("auth", "authorization", "authorisation", "apikey", "bearer", "cookie", "credential", "credentials", "jwt", "otp",
     "passcode", "passphrase", "passwd", "password", "pwd", "secret", "token")
)  # fmt: skip
SECRET_PAIRS: Final = frozenset(("apikey", "accesskey", "privatekey", "secretkey", "signingkey", "encryptionkey"))
SECRET_ENDINGS: Final = ("password", "passwd", "passphrase", "secret", "token", "apikey", "credentials", "privatekey")
PLURALS: Final = frozenset(("passwords", "secrets", "tokens", "cookies", "apikeys"))  # a count of them is harmless
WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
SCALARS: Final = frozenset((str, int, float, bool, type(None)))
# In one pass over any text: what stands before a secret is of bounded length.
# A password in an address, credentials of a header (no mere word: those are of small letters), a password in a DSN.
IN_TEXT: Final = re.compile(
    r"""(?P<before>(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^\s/@:"]{0,256}:)[^\s/@"]+(?=@)"""
    r"""|(?P<scheme>\b(?:bearer|basic)\s+)(?-i:(?=[a-z+/_.~-]*[0-9A-Z=]))[a-z0-9+/=_.~-]{8,}"""
    r"""|(?P<field>\b(?:password|passwd|pwd)\s*=\s*)[^\s&;"']+""",
    re.IGNORECASE,
)


def may_hold_secrets(text: str) -> bool:
    """Whether it is worth looking for `IN_TEXT`: most texts have none of these in them."""
    if "@" in text and "://" in text:
        return True
    text = text.lower()
    return "bearer" in text or "basic" in text or "pwd" in text or "passw" in text


def no_secrets(text: str) -> str:
    """The `redact` of a log that knows of no secret."""
    return text


@lru_cache(maxsize=4_096)
def _is_secret(name: str) -> bool:
    words = [word.lower() for word in WORD.findall(name)]
    if any(word in SECRET_WORDS or word.endswith(SECRET_ENDINGS) for word in words):
        return True
    return any(first + second in SECRET_PAIRS for first, second in pairwise(words))


@lru_cache(maxsize=1_024)
def _holds_secrets(name: str) -> bool:
    words = [word.lower() for word in WORD.findall(name)]
    return any(word in PLURALS for word in words) or "apikeys" in "".join(words)


def names_secret(name: str, value: Any) -> bool:
    """Whether a field of this name is a secret: `db_password`, `accessToken`, `X-Api-Key`; not `max_tokens: 100`."""
    name = name[-LONGEST_KEY:]
    return _is_secret(name) or (_holds_secrets(name) and not isinstance(value, int | float))


def sensitive_names(schema: Mapping[str, Any]) -> frozenset[str]:
    """The parameters that an input schema marks `x-sensitive`, at any depth."""
    return frozenset(_marked(schema))


def _marked(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if isinstance(properties, Mapping):
            yield from (
                name for name, held in properties.items() if isinstance(held, Mapping) and "x-sensitive" in held
            )
        for held in schema.values():
            yield from _marked(held)
    elif isinstance(schema, list | tuple):
        for held in schema:
            yield from _marked(held)


class _LongError(Exception):
    """There are so many values that they cannot fit."""


class Redaction:
    """Hides values by their field's name, by the names a tool marks, and by what `redact` knows."""

    def __init__(
        self,
        sensitive: frozenset[str] = frozenset(),
        redact: Callable[[str], str] = no_secrets,
        max_args_bytes: int = MAX_ARGS_BYTES,
    ) -> None:
        self._sensitive = sensitive
        self._redact = redact
        self._max = max_args_bytes

    def arguments(self, args: Mapping[str, Any] | None, sensitive: frozenset[str]) -> tuple[Any, list[str]]:
        """What to write of `args`, and the texts that were hidden in them.

        What is too long becomes `{"cut_bytes": …, "sha256": …}`: of a text its UTF-8, of anything else its JSON.
        """
        hidden: list[str] = []
        if not args:
            return args, hidden
        walk = _Walk(self._sensitive | sensitive if sensitive else self._sensitive, hidden, self._max // 2)
        try:
            kept = walk.clean(args)
            written = one_line(kept)
            if len(written) <= self._max:
                return (Raw(written) if self._is_harmless(written.decode()) else self._spelled(kept)), hidden
        except _LongError:
            pass
        return self._cut(args, walk), hidden

    def facts(self, value: Any, hidden: list[str], most: int) -> Any:
        """Facts of ours that may repeat values of the caller, in at most `most` bytes."""
        written = one_line(value)
        if len(written) > most:
            return _mark(written)
        text = written.decode()
        if self._is_harmless(text) and not any(each in text for each in hidden):
            return Raw(written)
        return self._spelled(value, hidden)

    def text(self, text: str, hidden: list[str], longest: int) -> str:
        """A message, shortened after its secrets were hidden, so that none is cut in two and seen in part."""
        shown = self._shown(_covered(text[: longest * 4], hidden))
        return shown if len(shown) <= longest else shown[: longest - 1] + "…"

    def _is_harmless(self, text: str) -> bool:
        return not may_hold_secrets(text) and self._redact(text) == text

    def _shown(self, text: str) -> str:
        text = self._redact(text)
        return IN_TEXT.sub(_without, text) if may_hold_secrets(text) else text

    def _spelled(self, value: Any, hidden: Sequence[str] = ()) -> Any:
        """The value with each of its texts, names and numbers looked at by itself."""
        if isinstance(value, str):
            return self._shown(_covered(value, hidden))
        if isinstance(value, Mapping):
            return {self._shown(name): self._spelled(held, hidden) for name, held in value.items()}
        if isinstance(value, list | tuple):
            return [self._spelled(held, hidden) for held in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value if self._redact(str(value)) == str(value) else HIDDEN
        return value

    def _cut(self, args: Mapping[str, Any], walk: _Walk) -> Any:
        """`args` with the long ones cut; all of them as one when even their names are too many."""
        if len(args) <= self._max // LONG_VALUE * 4 and all(len(str(name)) <= LONGEST_KEY for name in args):
            kept = {str(name): self._short(str(name), value, walk) for name, value in args.items()}
            if len(one_line(kept)) <= self._max:
                return kept
        return _mark(one_line(args))

    def _short(self, name: str, value: Any, walk: _Walk) -> Any:
        if walk.hides(name, value):
            return HIDDEN
        if isinstance(value, str) and len(value) > LONG_VALUE:
            return _mark(value.encode("utf-8", "backslashreplace"))
        walk.left = LONG_VALUE
        try:
            kept = walk.clean(value)
        except _LongError:
            return _mark(one_line(value))
        written = one_line(kept)
        if len(written) > LONG_VALUE:
            return _mark(one_line(value))
        return Raw(written) if self._is_harmless(written.decode()) else self._spelled(kept)


class _Walk:
    """Copies arguments without their secrets, until they are sure to take more than twice `left` bytes."""

    __slots__ = ("_hidden", "_sensitive", "left")

    def __init__(self, sensitive: frozenset[str], hidden: list[str], left: int) -> None:
        self._sensitive = sensitive
        self._hidden = hidden
        self.left = left

    def hides(self, name: str, value: Any) -> bool:
        """Whether the value of this field is hidden; its texts are remembered then."""
        if value is None or not (name in self._sensitive or names_secret(name, value)):
            return False
        self._hidden.extend(islice(_texts(value), MOST_HIDDEN))
        return True

    def clean(self, value: Any, depth: int = 0) -> Any:
        self.left -= 1 + len(value) // 2 if type(value) is str else 1
        if self.left < 0:
            raise _LongError
        if type(value) in SCALARS:
            return value
        if isinstance(value, Mapping):
            if depth >= DEEPEST:
                return f"deeper than {DEEPEST} levels"
            kept = {}
            for name, held in value.items():
                name = str(name)
                if self.hides(name, held):
                    kept[name] = HIDDEN
                elif type(held) in SCALARS:
                    self.left -= 1 + len(held) // 2 if type(held) is str else 1
                    kept[name] = held
                else:
                    kept[name] = self.clean(held, depth + 1)
                if self.left < 0:
                    raise _LongError
            return kept
        if isinstance(value, list | tuple):
            if depth >= DEEPEST:
                return f"deeper than {DEEPEST} levels"
            return [self.clean(held, depth + 1) for held in value]
        return value


def _covered(text: str, hidden: Sequence[str]) -> str:
    """`text` without what was hidden in the arguments; nothing of it where a part of something long stands in it."""
    for each in hidden:
        if len(each) >= SHORTEST_HIDDEN and each[:LONGEST_PART] in text:
            if len(each) > LONGEST_PART and each not in text:
                return HIDDEN
            text = text.replace(each, HIDDEN)
    return text


def _texts(value: Any) -> Iterator[str]:
    """What a message might repeat of a value that is hidden."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, Mapping | list | tuple):
        for held in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(held)


def _mark(content: bytes) -> dict[str, Any]:
    return {"cut_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _without(found: re.Match[str]) -> str:
    return (found["before"] or found["scheme"] or found["field"]) + HIDDEN
