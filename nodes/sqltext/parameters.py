"""`:name` parameters: found by tokens, never by a pattern over the text, so that only what is one is taken for one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sqlglot import Token, TokenType

from ...graphs.errors import Code, JackfieldError
from .tokens import STRINGS, Dialect, is_word, tokens, without_end

# After one of these a colon goes on with what was begun: a slice, a struct key, an alias.
OPERAND_ENDS: Final = STRINGS | {
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.NUMBER,
    TokenType.R_PAREN,
    TokenType.R_BRACKET,
    TokenType.R_BRACE,
    TokenType.END,
    TokenType.NULL,
    TokenType.TRUE,
    TokenType.FALSE,
}
NAME_IN_TEXT: Final = re.compile(r"(?<![\w:]):([A-Za-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Span:
    """A `:name` and where it stands in the text, colon included. `after` is the word before it, in upper case."""

    name: str
    start: int
    end: int
    after: str = ""


@dataclass(frozen=True, slots=True)
class InList:
    """`[NOT] IN (…)` with a parameter among its items: a list given for one stands for as many items.

    `start` is the place of NOT or IN, `end` is behind the parenthesis. An item that is no parameter is its place.
    """

    start: int
    end: int
    negated: bool
    items: tuple[Span | tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """`sql` has each `:name` as `$name`, so that every offset is that of the text as it was written."""

    sql: str
    names: tuple[str, ...]
    spans: tuple[Span, ...]
    lists: tuple[InList, ...]


@lru_cache(maxsize=1024)
def bound(sql: str, dialect: Dialect = "duckdb") -> Bound:
    """The parameters of `sql`, without the semicolon that ends it. Raises QUERY_INVALID where it has no tokens."""
    text = without_end(sql, dialect)
    found = tokens(text, dialect)
    spans = tuple(_spans(text, found))
    letters = list(text)
    for span in spans:
        letters[span.start] = "$"
    names = tuple(dict.fromkeys(span.name for span in spans))
    return Bound("".join(letters), names, spans, tuple(_lists(found, {span.start: span for span in spans})))


def _spans(sql: str, found: tuple[Token, ...]) -> list[Span]:
    spans = []
    for index, token in enumerate(found[:-1]):
        after = found[index + 1]
        if token.token_type is not TokenType.COLON or after.start != token.end + 1 or not is_word(after):
            continue
        before = found[index - 1] if index else None
        if before is not None:
            # A colon glued to a word goes on with it, whatever the word: `{date:x}`, `parts[day:n]`.
            glued = is_word(before) and before.end + 1 == token.start
            if glued or before.token_type in OPERAND_ENDS or _begins_slice(found, index):
                continue
        word = before.text.upper() if before is not None and is_word(before) else ""
        spans.append(Span(sql[after.start : after.end + 1], token.start, after.end + 1, word))
    return spans


def _begins_slice(found: tuple[Token, ...], index: int) -> bool:
    """`parts[:n]` takes the first n; `[:n]` that follows no operand is a list of one parameter."""
    return (
        index >= 2
        and found[index - 1].token_type is TokenType.L_BRACKET
        and (found[index - 2].token_type in OPERAND_ENDS or is_word(found[index - 2]))
        and found[index - 2].text.upper() not in ("SELECT", "IN", "BY", "THEN", "ELSE", "WHEN", "AND", "OR", "NOT")
    )


def _lists(found: tuple[Token, ...], spans: Mapping[int, Span]) -> list[InList]:
    groups = []
    for index, token in enumerate(found[:-2]):
        if token.token_type is not TokenType.IN or found[index + 1].token_type is not TokenType.L_PAREN:
            continue
        if found[index + 2].token_type in (TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES):
            continue
        items, closing = _items(found, index + 2, spans)
        if closing is not None and any(isinstance(item, Span) for item in items):
            negated = index > 0 and found[index - 1].token_type is TokenType.NOT
            start = found[index - 1].start if negated else token.start
            groups.append(InList(start, found[closing].end + 1, negated, items))
    return groups


def _items(
    found: tuple[Token, ...], begin: int, spans: Mapping[int, Span]
) -> tuple[tuple[Span | tuple[int, int], ...], int | None]:
    """The items of a parenthesis that opens before token `begin`, and the token that closes it."""
    items: list[Span | tuple[int, int]] = []
    depth, first = 0, begin
    for index in range(begin, len(found)):
        kind = found[index].token_type
        closes = kind is TokenType.R_PAREN and depth == 0
        if closes or (kind is TokenType.COMMA and depth == 0):
            if index > first:
                span = spans.get(found[first].start)
                alone = span is not None and index - first == 2
                items.append(span if span is not None and alone else (found[first].start, found[index - 1].end + 1))
            if closes:
                return tuple(items), index
            first = index + 1
        depth += kind in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
        depth -= kind in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
    return tuple(items), None


def argument(name: str, arguments: Mapping[str, Any]) -> Any:
    """The value given for `name`, None if it was left out. Raises QUERY_INVALID for a name nobody declared."""
    if name in arguments:
        return arguments[name]
    near = difflib.get_close_matches(name, list(arguments), 1)
    raise JackfieldError(
        Code.QUERY_INVALID,
        f"The SQL names ':{name}', which is not a parameter of the call.",
        f"Did you mean ':{near[0]}'?" if near else "Declare it among the parameters.",
        {"parameter": name, "available": sorted(arguments)},
    )


def is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset))


def names_in_strings(sql: str, dialect: Dialect = "duckdb") -> tuple[Span, ...]:
    """Each `:name` inside a string literal, where nothing is bound: most often a mistake."""
    spans = []
    for token in tokens(sql, dialect):
        if token.token_type in STRINGS:
            for match in NAME_IN_TEXT.finditer(sql, token.start, token.end + 1):
                spans.append(Span(match[1], match.start(), match.end()))  # noqa: PERF401
    return tuple(spans)
