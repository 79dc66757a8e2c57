"""The tokens of an SQL text, each with its place: what is a string, a comment or a quoted name is never guessed at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

from sqlglot import Token, TokenType
from sqlglot.dialects.dialect import Dialect as SqlglotDialect
from sqlglot.errors import TokenError

from ...graphs.errors import Code, JackfieldError

Dialect = Literal["duckdb", "postgres", "mysql"]

# Reading a text takes milliseconds for a thousand tokens, and all other Python waits its turn meanwhile.
LONGEST: Final = 100_000
MOST_TOKENS: Final = 20_000

STRINGS = frozenset(
    {
        TokenType.STRING,
        TokenType.NATIONAL_STRING,
        TokenType.RAW_STRING,
        TokenType.HEREDOC_STRING,
        TokenType.UNICODE_STRING,
        TokenType.BYTE_STRING,
        TokenType.BIT_STRING,
        TokenType.HEX_STRING,
    }
)


@dataclass(frozen=True, slots=True)
class Place:
    """1-based line and column of an offset, and the line with a caret under it."""

    line: int
    column: int
    frame: str


def place(sql: str, start: int, end: int | None = None) -> Place:
    """Where `start` is in `sql`, for a message that a person can follow to the character."""
    begin = sql.rfind("\n", 0, start) + 1
    stop = sql.find("\n", begin)
    text = sql[begin : len(sql) if stop < 0 else stop]
    line, column = sql.count("\n", 0, start) + 1, start - begin + 1
    width = max(1, min(end if end is not None else start + 1, begin + len(text)) - start)
    gutter = f"{line} | "
    return Place(line, column, f"{gutter}{text}\n{' ' * (len(gutter) + column - 1)}{'^' * width}")


@lru_cache(maxsize=1024)
def tokens(sql: str, dialect: Dialect = "duckdb") -> tuple[Token, ...]:
    """Every token of `sql`. Raises QUERY_INVALID where a string or comment does not end, or the text is too long."""
    if len(sql) > LONGEST:
        raise _too_long(f"{len(sql):,} characters; {LONGEST:,} are allowed")
    try:
        found = tuple(SqlglotDialect.get_or_raise(dialect).tokenize(sql))
    except TokenError as error:
        raise JackfieldError(
            Code.QUERY_INVALID,
            f"The SQL can not be read: {str(error).splitlines()[0].rstrip('.')}.",
            "Close every string, quoted name and comment.",
        ) from None
    if len(found) > MOST_TOKENS:
        raise _too_long(f"{len(found):,} words and signs; {MOST_TOKENS:,} are allowed")
    return found


def _too_long(what: str) -> JackfieldError:
    return JackfieldError(
        Code.QUERY_INVALID,
        f"The SQL is too long: {what}.",
        "Give many values as one parameter (`IN (:ids)`), or read them from a source.",
    )


def is_word(token: Token) -> bool:
    """A bare name or keyword (`orders`, `select`, `date`), not a quoted name."""
    return token.text.isidentifier() and token.token_type not in STRINGS and not is_quoted(token)


def is_quoted(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER


def without_end(sql: str, dialect: Dialect = "duckdb") -> str:
    """`sql` without the semicolons that end it, and what follows them; a semicolon in the middle stays."""
    ending = None
    for token in reversed(tokens(sql, dialect)):
        if token.token_type is not TokenType.SEMICOLON:
            break
        ending = token.start
    return sql if ending is None else sql[:ending]
