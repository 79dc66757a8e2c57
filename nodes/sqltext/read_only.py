"""Whether an SQL text only reads: parsed whole, one query, nothing in it that writes, and known functions alone.

The type of a statement is not enough: a CTE may INSERT and is still typed SELECT, and a function may do anything. So
the tree says what the statement is, and the tokens say which functions it names, as the database will read them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

from sqlglot import Token, TokenType, exp

from ...graphs.errors import Code, JackfieldError
from .functions import FUNCTIONS, TABLE_FUNCTIONS, WORDS
from .lexemes import doubts
from .tokens import STRINGS, Dialect, is_quoted, place, tokens
from .tree import near, tree

StatementKind = Literal["insert", "update", "delete", "merge"]

WRITING: Final = (
    exp.DML,
    exp.DDL,
    exp.Command,
    exp.Into,
    exp.Lock,
    exp.Set,
    exp.Pragma,
    exp.Describe,
    exp.Show,
    exp.Summarize,
    exp.Use,
    exp.Attach,
    exp.Detach,
    exp.Export,
    exp.LoadData,
    exp.TruncateTable,
    exp.Drop,
    exp.Alter,
    exp.Kill,
    exp.Analyze,
    exp.Transaction,
    exp.Commit,
    exp.Rollback,
)
CHANGES: Final[tuple[tuple[type[exp.Expr], StatementKind], ...]] = (
    (exp.Insert, "insert"),
    (exp.Update, "update"),
    (exp.Delete, "delete"),
    (exp.Merge, "merge"),
)
IN_STATEMENTS: Final = frozenset(
    {"conflict", "do", "duplicate", "into", "key", "matched", "nothing", "returning"}  # words of the grammar
    | {"default", "insert", "update", "delete", "merge", "replace"}
    | {"currval", "last_insert_id", "lastval", "nextval"}  # and the functions that give new rows their keys
)

SWELLING: Final = frozenset(
    {"array_resize", "bitstring", "format", "left_pad", "list_resize", "lpad", "printf", "repeat", "rpad", "space"}
)
LONGEST_DIGITS: Final = 7
SCHEMAS: Final = frozenset({"main", "pg_catalog", "information_schema", "system"})
WIDTHS: Final = re.compile(r"[0-9]{4}|\*|\{[^{}]*:[^{}]*\{")  # long, or that of an argument
OPERATOR: Final = re.compile(r"[][(){}.,;:+\-*/%<>=!~@#&|^?$]+")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an SQL text is refused; `start` and `end` are its place in the text."""

    code: str
    message: str
    hint: str = ""
    start: int = 0
    end: int = 0


@lru_cache(maxsize=512)
def problems(sql: str, dialect: Dialect = "duckdb") -> tuple[Problem, ...]:
    """All that makes `sql` more than one query that reads; nothing when it may run."""
    hidden: tuple[Problem, ...] = ()
    try:
        hidden = tuple(_hidden(sql, dialect))
        parsed = tree(sql, dialect)
    except JackfieldError as error:
        start, end = error.details.get("start", 0), error.details.get("end", 0)
        return (Problem("SQL_INVALID", error.message, error.hint, start, end), *hidden)
    found = [
        *_not_a_query(parsed, sql, dialect),
        *_table_sources(parsed, sql, dialect),
        *_functions(parsed, sql, dialect, frozenset()),
        *_swelling(sql, dialect),
        *_variants(parsed, sql, dialect),
        *_qualified(sql, dialect),
        *_formats(sql, dialect),
        *hidden,
    ]
    return tuple(dict.fromkeys(found))


def require_read_only(sql: str, dialect: Dialect = "duckdb") -> None:
    """Raises QUERY_INVALID with the first problem, its place in the SQL, and all of them in the details."""
    found = problems(sql, dialect)
    if found:
        raise _refusal(sql, found)


@lru_cache(maxsize=512)
def statement_kind(sql: str, dialect: Dialect) -> StatementKind:
    """What the one statement of a WRITE tool does. Raises QUERY_INVALID unless it is one INSERT, UPDATE, DELETE or
    MERGE that calls known functions only."""
    parsed = tree(sql, dialect)
    kind = next((kind for type_, kind in CHANGES if isinstance(parsed, type_)), None)
    if kind is None:
        problem = Problem(
            "SQL_NOT_A_CHANGE",
            f"A WRITE tool needs INSERT, UPDATE, DELETE or MERGE; this is {parsed.key.upper()}.",
            "A tool that only reads has the category READ.",
        )
        raise _refusal(sql, (problem,))
    inner = [
        Problem("SQL_WRITES", f"{node.key.upper()} is not allowed inside of {kind.upper()}.")
        for node in parsed.walk()
        if node is not parsed and isinstance(node, WRITING) and not _belongs_to_merge(node)
    ]
    found = (*inner, *_functions(parsed, sql, dialect, IN_STATEMENTS), *_hidden(sql, dialect))
    if found:
        raise _refusal(sql, found)
    return kind


def _belongs_to_merge(node: exp.Expr) -> bool:
    return isinstance(node.parent, exp.When) or node.find_ancestor(exp.OnConflict) is not None


def _refusal(sql: str, found: tuple[Problem, ...]) -> JackfieldError:
    first = found[0]
    where = place(sql, first.start, first.end)
    return JackfieldError(
        Code.QUERY_INVALID,
        first.message,
        first.hint,
        {
            "line": where.line,
            "column": where.column,
            "start": first.start,
            "end": first.end,
            "frame": where.frame,
            "problems": [problem.message for problem in found],
        },
    )


def _not_a_query(parsed: exp.Expr, sql: str, dialect: Dialect) -> Iterator[Problem]:
    if not isinstance(parsed, exp.Query):
        yield Problem("SQL_NOT_A_QUERY", f"{_what(parsed)} is no query.", "Write one SELECT (WITH is allowed).")
    for node in parsed.walk():
        if isinstance(node, WRITING):
            start, end = _word(sql, node.key.upper(), dialect)
            word = {"INTO": "SELECT INTO", "LOCK": "FOR UPDATE or FOR SHARE"}.get(node.key.upper(), _what(node))
            hint = "A tool's SQL only reads; a tool that writes has the category WRITE."
            yield Problem("SQL_WRITES", f"{word} is not allowed in a query.", hint, start, end)
        elif isinstance(node, exp.CTE) and not isinstance(node.this, exp.Query) and not isinstance(node.this, WRITING):
            yield Problem(
                "SQL_NOT_A_QUERY", f"The body of '{node.alias}' in WITH is no query.", "Write a SELECT there."
            )
        elif isinstance(node, exp.SessionParameter) or (dialect == "mysql" and isinstance(node, exp.Parameter)):
            yield Problem("SQL_VARIABLE", "Session variables (@, @@) are not allowed.", "Use a parameter: `:name`.")


def _what(node: exp.Expr) -> str:
    return node.name.upper() if isinstance(node, exp.Command) else node.key.upper()


def _word(sql: str, word: str, dialect: Dialect) -> tuple[int, int]:
    for token in tokens(sql, dialect):
        if token.text.upper() == word and token.token_type not in STRINGS:
            return token.start, token.end + 1
    return 0, 0


def _table_sources(parsed: exp.Expr, sql: str, dialect: Dialect) -> Iterator[Problem]:
    """Tables are names; functions that give rows are on their own list."""
    after_from = {TokenType.FROM, TokenType.JOIN, TokenType.COMMA}
    found = tokens(sql, dialect)
    names = {table.name for table in parsed.find_all(exp.Table) if isinstance(table.this, exp.Identifier)}
    for before, token in pairwise(found):
        if before.token_type in after_from and token.token_type in STRINGS and token.text in names:
            hint = "Name a table of the tool; a file is read by a source of type file."
            yield Problem("SQL_FILE", f"'{token.text}' is no table.", hint, token.start, token.end + 1)
    for table in parsed.find_all(exp.Table):
        if dialect == "duckdb" and table.db:
            start, end = _word(sql, table.db.upper(), dialect)
            name = ".".join(part.name for part in table.parts)
            yield Problem("SQL_SCHEMA", f"'{name}' names a schema.", f"Write '{table.name}' alone.", start, end)
        # sqlglot knows the others by name, and those names are on the list of functions or refused.
        if isinstance(table.this, exp.Anonymous) and table.this.name.lower() not in TABLE_FUNCTIONS[dialect]:
            name = table.this.name
            hint = near(name, TABLE_FUNCTIONS[dialect]) or "Rows come from the tables of the tool."
            start, end = _word(sql, name.upper(), dialect)
            yield Problem("SQL_FUNCTION", f"'{name}' may not give rows in a tool's SQL.", hint, start, end)


def _calls(sql: str, dialect: Dialect) -> Iterator[Token]:
    """What stands before an opening parenthesis, quoted or not, and is no operator, bracket or number."""
    for token, after in pairwise(tokens(sql, dialect)):
        if after.token_type is not TokenType.L_PAREN or token.token_type is TokenType.NUMBER:
            continue
        if is_quoted(token) or token.token_type in STRINGS or not OPERATOR.fullmatch(sql[token.start : token.end + 1]):
            yield token


def _called(token: Token, sql: str) -> str:
    """The name of a call in lower case; of a keyword of several words (GROUP BY) the last."""
    if is_quoted(token) or token.token_type in STRINGS:
        return token.text.lower()
    return sql[token.start : token.end + 1].split()[-1].lower()


def _functions(parsed: exp.Expr, sql: str, dialect: Dialect, further: frozenset[str]) -> Iterator[Problem]:
    """Each name before a parenthesis is a function of the list, a word of the grammar, or heads a list of columns."""
    allowed = FUNCTIONS[dialect]
    named_columns = Counter(
        alias.name.lower() for alias in parsed.find_all(exp.TableAlias) if alias.args.get("columns")
    ) + Counter(schema.this.name.lower() for schema in parsed.find_all(exp.Schema) if schema.this is not None)
    calls = list(_calls(sql, dialect))
    counts = Counter(_called(call, sql) for call in calls)
    reported: set[str] = set()
    for call in calls:
        name = _called(call, sql)
        bare = not is_quoted(call) and call.token_type not in STRINGS
        # What folds to a name of the list is not that name to the database: `K` (U+212A) is no k.
        known = name in allowed or name in further or (name in WORDS and bare)
        if name in reported or (known and call.text.isascii()):
            continue
        if counts[name] <= named_columns[name] and call.token_type not in STRINGS:
            continue
        reported.add(name)
        hint = near(name, allowed) or "docs/reference/sql.md lists the functions that a tool's SQL may call."
        message = f"The function '{name}' is not one that a tool's SQL may call."
        yield Problem("SQL_FUNCTION", message, hint, call.start, call.end + 1)


def _swelling(sql: str, dialect: Dialect) -> Iterator[Problem]:
    """One call of these makes a value as large as a number says, in memory that no limit counts until it is there."""
    found = tokens(sql, dialect)
    for index, token in enumerate(found[:-1]):
        if token.text.lower() not in SWELLING or found[index + 1].token_type is not TokenType.L_PAREN:
            continue
        depth = 0
        for inner in found[index + 1 :]:
            depth += (inner.token_type is TokenType.L_PAREN) - (inner.token_type is TokenType.R_PAREN)
            if depth == 0:
                break
            if inner.token_type is TokenType.NUMBER and len(inner.text.partition(".")[0]) > LONGEST_DIGITS:
                message = f"{token.text}(… {inner.text} …) makes one value too large to hold."
                yield Problem("SQL_TOO_LARGE", message, "Stay below 10 million.", inner.start, inner.end + 1)


def _qualified(sql: str, dialect: Dialect) -> Iterator[Problem]:
    """`main.repeat(…)` is not the `repeat` that the locked database bounds."""
    found = tokens(sql, dialect)
    if dialect != "duckdb":
        return
    for schema, dot, name, parenthesis in zip(found, found[1:], found[2:], found[3:], strict=False):
        called = dot.token_type is TokenType.DOT and parenthesis.token_type is TokenType.L_PAREN
        if called and schema.text.lower() in SCHEMAS and schema.token_type not in STRINGS:
            message = f"'{schema.text}.{name.text}' names a function by its schema."
            yield Problem("SQL_FUNCTION", message, f"Write '{name.text}' alone.", schema.start, name.end + 1)


def _formats(sql: str, dialect: Dialect) -> Iterator[Problem]:
    """DuckDB's `format('{:900000000d}', 5)` is one value of a gigabyte: the format is written out, without one."""
    if dialect != "duckdb":
        return
    found = tokens(sql, dialect)
    for index, token in enumerate(found[:-2]):
        if token.text.lower() not in ("format", "printf") or found[index + 1].token_type is not TokenType.L_PAREN:
            continue
        text = found[index + 2]
        ends = index + 3 < len(found) and found[index + 3].token_type in (TokenType.COMMA, TokenType.R_PAREN)
        if text.token_type is not TokenType.STRING or not ends or WIDTHS.search(text.text):
            hint = "Write the format as one string, with widths below 1000 and none from an argument."
            message = f"The format of {token.text}() may be of any width."
            yield Problem("SQL_TOO_LARGE", message, hint, token.start, text.end + 1)


def _variants(parsed: exp.Expr, sql: str, dialect: Dialect) -> Iterator[Problem]:
    """A cast of deeply nested JSON to VARIANT ends the process."""
    if dialect != "duckdb":
        return
    for kind in parsed.find_all(exp.DataType):
        if kind.this is exp.DataType.Type.VARIANT or "variant" in str(kind.args.get("kind", "")).lower():
            start, end = _word(sql, "VARIANT", dialect)
            yield Problem("SQL_TYPE", "The type VARIANT is not allowed.", "Cast to JSON.", start, end)


def _hidden(sql: str, dialect: Dialect) -> Iterator[Problem]:
    """What the database may read otherwise than we do."""
    for doubt in doubts(sql, dialect):
        yield Problem("SQL_HIDDEN", doubt.message, doubt.hint, doubt.start, doubt.end)
