"""The parsed tree of an SQL text, kept by text: checks, references and pushdown all read the same one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Final

from sqlglot import Parser, Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect as SqlglotDialect
from sqlglot.errors import ParseError

from ...graphs.errors import Code, JackfieldError
from .parameters import bound
from .tokens import Dialect, place, tokens, without_end

STATEMENTS = frozenset(
    {
        TokenType.ALTER,
        TokenType.ATTACH,
        TokenType.COMMAND,
        TokenType.COPY,
        TokenType.CREATE,
        TokenType.DROP,
        TokenType.PRAGMA,
        TokenType.SET,
    }
)
FEWEST_STEPS: Final = 20_000
STEPS: Final = 10  # for each token
READING = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.L_PAREN, TokenType.VALUES})
CHANGING = frozenset({TokenType.INSERT, TokenType.UPDATE, TokenType.DELETE, TokenType.MERGE, TokenType.WITH})


@lru_cache(maxsize=512)
def tree(sql: str, dialect: Dialect = "duckdb") -> exp.Expr:
    """The tree of the one statement in `sql`; it is shared, so nobody changes it.

    Raises QUERY_INVALID for no statement, several, a kind of statement that is neither a query nor a change of rows,
    or what can not be parsed whole: what we can not read we can not vouch for.
    """
    found = tokens(sql, dialect)
    if not found:
        raise invalid(sql, 0, 0, "The SQL is empty.", "Write one SELECT.")
    first = found[0]
    if first.token_type not in READING | CHANGING:
        raise _misplaced(sql, first, f"{first.text.upper()} is no query.")
    for before, token in pairwise(found):
        if before.token_type is TokenType.L_PAREN and token.token_type in STATEMENTS:
            raise _misplaced(sql, token, f"{token.text.upper()} is not allowed in a query.")
    text, parts = _bound_tokens(sql) if dialect == "duckdb" else _whole_tokens(sql, dialect)
    for token in parts:
        if token.token_type is TokenType.SEMICOLON:
            raise _misplaced(sql, token, "The SQL is more than one statement.")
    try:
        parsed = _parser(dialect, len(parts)).parse(parts, text)[0]
    except ParseError as error:
        first_error = error.errors[0] if error.errors else {}
        start = _offset(text, first_error.get("line"), first_error.get("col"), str(first_error.get("highlight") or ""))
        what = str(first_error.get("description") or "it is no SQL that we know").partition(" but got <")[0].rstrip(".")
        raise invalid(sql, start, start + 1, f"The SQL can not be parsed: {what}.", _dialect_hint(dialect)) from None
    except RecursionError:
        raise invalid(sql, 0, 1, "The SQL is nested too deeply.", "Use a WITH for its parts.") from None
    except _TooManyStepsError:
        message = "The SQL can not be read in time: one reading of it after the other fails."
        raise invalid(sql, 0, 1, message, "Give each JOIN its ON, and nest fewer types and parentheses.") from None
    if parsed is None:
        raise invalid(sql, 0, 0, "The SQL is empty.", "Write one SELECT.")
    return parsed


def _whole_tokens(sql: str, dialect: Dialect) -> tuple[str, list[Token]]:
    text = without_end(sql, dialect)
    return text, list(tokens(text, dialect))


def _bound_tokens(sql: str) -> tuple[str, list[Token]]:
    """With each `:name` as `$name`. The tokens are not those of that text, in which `$a+$` would begin a string."""
    query = bound(sql)
    marks = {span.start for span in query.spans}
    return query.sql, [_marked(token) if token.start in marks else token for token in tokens(without_end(sql))]


def _marked(colon: Token) -> Token:
    return Token(TokenType.PARAMETER, "$", colon.line, colon.col, colon.start, colon.end, colon.comments)


class _TooManyStepsError(Exception):
    """The parser goes back and forth over the same tokens, as it may do twice as often with each of them."""


def _parser(dialect: Dialect, size: int) -> Parser:
    parser: Parser = _bounded(dialect)(FEWEST_STEPS + STEPS * size, dialect=dialect)
    return parser


@cache
def _bounded(dialect: Dialect) -> type[Any]:
    """The dialect's parser, which counts its steps: most texts take fewer than five for a token."""
    known: type[Any] = SqlglotDialect.get_or_raise(dialect).parser_class

    class Bounded(known):  # type: ignore[misc]
        def __init__(self, steps: int, **options: Any) -> None:
            self.steps_left = steps
            super().__init__(**options)

        def _advance(self, times: int = 1) -> None:
            self.steps_left -= 1
            if self.steps_left < 0:
                raise _TooManyStepsError
            super()._advance(times)

    return Bounded


def _misplaced(sql: str, token: Token, message: str) -> JackfieldError:
    return invalid(sql, token.start, token.end + 1, message, "Write one SELECT (WITH is allowed).")


def _offset(text: str, line: int | None, column: int | None, highlight: str) -> int:
    """sqlglot counts columns to the end of the token that it stopped at."""
    if line is None or column is None:
        return 0
    start = sum(len(each) + 1 for each in text.split("\n")[: line - 1])
    return max(0, min(start + column - max(1, len(highlight)), len(text) - 1))


def _dialect_hint(dialect: Dialect) -> str:
    names = {"duckdb": "DuckDB", "postgres": "Postgres", "mysql": "MySQL"}
    return f"The SQL of this tool is read as {names[dialect]}'s."


def invalid(sql: str, start: int, end: int, message: str, hint: str = "") -> JackfieldError:
    """QUERY_INVALID at a place of the SQL."""
    found = place(sql, start, end)
    return JackfieldError(
        Code.QUERY_INVALID,
        message,
        hint,
        {"line": found.line, "column": found.column, "start": start, "end": end, "frame": found.frame},
    )


def near(name: str, names: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing when no name is near."""
    folded = {each.lower(): each for each in names}
    close = difflib.get_close_matches(name.lower(), list(folded), 1)
    return f"Did you mean '{folded[close[0]]}'?" if close else ""
