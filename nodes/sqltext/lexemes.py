"""A second reading of an SQL text, by the database's own rules: the tokens must agree with it about every character.

The tokenizer is made to read many dialects, and templates of other tools, so it may pass over what the database runs:
a comment of a template language, a zero-width character, a `--` that is none. Here only what the database's grammar
knows is known, and little of that: white space, comments, strings, quoted names, words and operators. Where the two
readings differ, or databases differ among themselves, the text is refused; a quoted name or a string is always a way
to write what is meant.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from sqlglot import Token, TokenType

from .tokens import STRINGS, Dialect, is_quoted, tokens

Kind = Literal["space", "comment", "string", "quoted", "word", "operator"]

SPACE: Final = r"(?P<space>[ \t\r\n]++)"
DASHES: Final = r"(?P<line>--[^\n]*+)"
BLOCK: Final = r"(?P<comment>/\*)"
STRING: Final = r"(?P<escaped>[eE]'(?:[^'\\]|''|\\.)*+')|(?P<string>'(?:[^']|'')*+')"
QUOTED: Final = r'(?P<quoted>"(?:[^"]|"")*+")'
DOLLARS: Final = r"(?P<dollars>\$(?:[^\W\d]\w*+)?\$)"
WORD: Final = r"(?P<word>[\w\u0080-\U0010ffff]++)"
OPERATOR: Final = r"(?P<operator>[][(){}.,;:+\-*/%<>=!~@#&|^?$])"
MYSQL: Final = (
    SPACE,
    r"(?P<line>--(?=[ \t\r\n]|\Z)[^\n]*+|\#[^\n]*+)",
    BLOCK,
    r"""(?P<string>'(?:[^'\\]|''|\\.)*+'|"(?:[^"\\]|""|\\.)*+")""",
    r"(?P<quoted>`(?:[^`]|``)*+`)",
    WORD,
    r"(?P<operator>[][().,;:+\-*/%<>=!~@&|^?])",
)
RULES: Final[Mapping[Dialect, re.Pattern[str]]] = {
    "duckdb": re.compile("|".join((SPACE, DASHES, BLOCK, STRING, QUOTED, DOLLARS, WORD, OPERATOR)), re.DOTALL),
    "postgres": re.compile(
        "|".join((SPACE, DASHES, BLOCK, STRING, QUOTED, DOLLARS, WORD, OPERATOR.replace("{}", ""))), re.DOTALL
    ),
    "mysql": re.compile("|".join(MYSQL), re.DOTALL),
}
KINDS: Final[Mapping[str, Kind]] = {
    "space": "space",
    "line": "comment",
    "comment": "comment",
    "string": "string",
    "escaped": "string",
    "dollars": "string",
    "quoted": "quoted",
    "word": "word",
    "operator": "operator",
}
UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
CHARSETS: Final = frozenset({"_utf8mb4", "_utf8mb3", "_utf8", "_latin1", "_ascii", "_binary"})
QUOTE_IT: Final = "Write it in a string or a quoted name."
TWO_WAYS: Final = ("This can be read in more than one way.", "Write it more plainly.")
PREFIXES: Final = frozenset({"n", "b", "x"})
FOREIGN: Final = frozenset({TokenType.BLOCK_START, TokenType.BLOCK_END, TokenType.HINT})  # of template languages


@dataclass(frozen=True, slots=True)
class Lexeme:
    kind: Kind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Doubt:
    """What may be read in two ways, at a place of the text."""

    start: int
    end: int
    message: str
    hint: str


def doubts(sql: str, dialect: Dialect) -> Iterator[Doubt]:
    """What the database could read otherwise than we do; nothing when every character is accounted for."""
    found: list[Lexeme] = []
    for each in _lexemes(sql, dialect):
        if isinstance(each, Doubt):
            yield each
            return
        if each.kind == "comment":
            yield from _in_comment(sql, each, dialect)
        elif each.kind == "word":
            yield from _in_word(sql, each)
        if each.kind not in ("space", "comment"):
            if found:
                yield from _side_by_side(sql, found[-1], each, dialect)
            found.append(each)
    yield from _disagreements(sql, found, dialect)


def _lexemes(sql: str, dialect: Dialect) -> Iterator[Lexeme | Doubt]:
    """The text from its begin to its end, or to what has no reading."""
    rule = RULES[dialect]
    place = 0
    while place < len(sql):
        match = rule.match(sql, place)
        if match is None:
            yield _no_reading(sql, place)
            return
        group, end = match.lastgroup or "", match.end()
        if group in ("comment", "dollars"):
            closing = "*/" if group == "comment" else match[0]
            found = sql.find(closing, end)
            if found < 0:
                yield Doubt(place, end, f"What {match[0]} begins does not end.", f"End it with {closing}.")
                return
            end = found + len(closing)
        yield Lexeme(KINDS[group], place, end)
        place = end


def _no_reading(sql: str, place: int) -> Doubt:
    if sql[place] in "'\"`" and sql.count(sql[place]) % 2:
        return Doubt(place, place + 1, f"What {sql[place]} begins does not end.", "Close every string and quoted name.")
    return _unexpected(sql[place], place)


def _unexpected(char: str, place: int) -> Doubt:
    if char == "\0":
        return Doubt(place, place + 1, "The SQL holds a NUL character.", "Leave it out.")
    shown = char if unicodedata.category(char) not in UNSEEN else f"U+{ord(char):04X} {unicodedata.name(char, '')}"
    return Doubt(place, place + 1, f"The character {shown.strip()} has no place in SQL.", QUOTE_IT)


def _in_comment(sql: str, comment: Lexeme, dialect: Dialect) -> Iterator[Doubt]:
    text = sql[comment.start : comment.end]
    if text.startswith("/*"):
        if "/*" in text[2:]:
            yield Doubt(
                comment.start, comment.end, "A comment inside of a comment.", "Databases disagree where it ends."
            )
        if dialect == "mysql" and text.startswith(("/*!", "/*M!")):
            yield Doubt(comment.start, comment.end, "MySQL runs what stands in /*! … */.", "Leave it out.")
        if text.startswith("/*+"):
            message = "A hint (/*+ … */) may change how a server guards itself."
            yield Doubt(comment.start, comment.end, message, "Leave it out.")
    elif "\r" in text.rstrip("\r"):
        yield Doubt(comment.start, comment.end, "A line break that not every database sees.", "End lines with \\n.")
    for offset, char in enumerate(text):
        if (not char.isprintable() and char not in " \t\r\n") and unicodedata.category(char) != "Zs":
            yield _unexpected(char, comment.start + offset)


def _in_word(sql: str, word: Lexeme) -> Iterator[Doubt]:
    text = sql[word.start : word.end]
    if text.isascii():
        return
    for offset, char in enumerate(text):
        if not char.isascii() and unicodedata.category(char)[0] not in "LMN":
            yield _unexpected(char, word.start + offset)


def _side_by_side(sql: str, before: Lexeme, after: Lexeme, dialect: Dialect) -> Iterator[Doubt]:
    """What begins or goes on otherwise because of what stands before it."""
    first = sql[before.start : before.end]
    if before.end == after.start and "$" in (first, sql[after.start]) and before.kind == "word":
        yield Doubt(after.start, after.end, "A $ inside of a name.", 'Write the name in quotes: "a$b".')
    if dialect != "mysql" and before.kind == after.kind == "string" and first[0] != "'":
        # The second string goes on in the manner of the first, as `E'a' 'b\''` does.
        yield Doubt(after.start, after.end, "A string that goes on another.", "Join them with ||.")
    escapes = first == "&" and before.end == after.start and after.kind in ("string", "quoted")
    if dialect == "postgres" and escapes and sql[before.start - 1 : before.start].upper() == "U":
        yield Doubt(before.start - 1, after.end, "A name or string with escapes (U&).", "Write the characters.")
    if dialect == "mysql" and after.kind == "string" and first.startswith("_") and first.lower() not in CHARSETS:
        yield Doubt(before.start, after.end, f"A string in the character set {first}.", "Write it as _utf8mb4.")


def _disagreements(sql: str, found: list[Lexeme], dialect: Dialect) -> Iterator[Doubt]:
    """Each token is one or more whole lexemes, a string or quoted name is one alone, and no lexeme is left out."""
    left = deque(found)
    for token in tokens(sql, dialect):
        end = token.end + 1
        covered: list[Lexeme] = []
        while left and left[0].start < end:
            each = left.popleft()
            if each.end > end and sql[each.start].isdigit():
                # A number may end within letters: DuckDB reads `0x1F` as `0 AS x1F`.
                left.appendleft(Lexeme("word", end, each.end))
                each = Lexeme("word", each.start, end)
            covered.append(each)
        whole = bool(covered) and covered[0].start == token.start and covered[-1].end == end
        if not whole or not _agrees(sql, token, covered):
            yield Doubt(token.start, end, *TWO_WAYS)
            return
    if left:
        yield Doubt(left[0].start, left[0].end, *TWO_WAYS)


def _agrees(sql: str, token: Token, covered: list[Lexeme]) -> bool:
    kinds = [each.kind for each in covered]
    if token.token_type in STRINGS:
        if kinds == ["word", "string"]:
            return sql[covered[0].start : covered[0].end].lower() in PREFIXES
        return kinds == ["string"] or (kinds == ["word"] and sql[token.start] == "0")
    if is_quoted(token):
        return kinds == ["quoted"] or kinds == ["word"]
    if token.token_type in FOREIGN or "string" in kinds or "quoted" in kinds:
        return False
    # `ſelect` is a keyword to who folds it, and a name to the database.
    return token.token_type is TokenType.VAR or sql.isascii() or sql[token.start : token.end + 1].isascii()
