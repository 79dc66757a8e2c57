"""What DuckDB says, in our words and codes: what was found, what there is, what would fix it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..graphs.errors import Code, JackfieldError
from ..nodes.sqltext.tokens import place
from ..nodes.sqltext.tree import near

COLUMN: Final = re.compile(r'Referenced column "(?P<column>[^"]+)"|does not have a column named "(?P<other>[^"]+)"')
TABLE: Final = re.compile(r'Table with name (?P<name>\S+) does not exist|Referenced table "(?P<alias>[^"]+)" not found')
LINE: Final = re.compile(r"^LINE (\d+): (.*)\n([ ]*)\^", re.MULTILINE)
HEADING: Final = re.compile(
    r"\b(INTERRUPT|Out of Memory|Parser|Syntax|Catalog|Binder|Conversion|Out of Range|Type Mismatch|Permission"
    r"|Invalid Input|Invalid type|Not implemented|IO|INTERNAL|FATAL|TransactionContext|Constraint"
    r"|Serialization) Error: "
)
FATAL: Final = re.compile(r"\b(?:INTERNAL|FATAL) Error: |database has been invalidated")
SOURCE_COLUMN: Final = re.compile(r"casting from source column (\S+)")
COMPARED: Final = re.compile(r"Cannot compare values of type (?P<one>\S+) and (?:values of )?type (?P<other>\S+)")
MOMENTS: Final = {"DATE": "date", "TIMESTAMP": "timestamp", "TIME": "time"}
MAX_MESSAGE: Final = 600

Schemas = Mapping[str, Sequence[str]]


def is_fatal(error: BaseException) -> bool:
    """Whether DuckDB refuses every further query of its database after this error."""
    return FATAL.search(str(error)) is not None


def translated(error: BaseException, sql: str, columns: Schemas, empty: Sequence[str]) -> JackfieldError:
    """The JackfieldError for what DuckDB raised, or what Arrow raised for it while rows were read.

    `columns` are those of each table of the query, and `empty` names the tables whose source gave nothing.
    """
    text = str(error)
    found = HEADING.search(text)
    if found is None:
        return JackfieldError(Code.INTERNAL_ERROR, f"The query failed: {text[:MAX_MESSAGE]}")
    kind, text = found[1], text[found.end() :]
    message = _sentence(text)
    details = _place(text, sql)
    if "database has been invalidated" in text:
        hint = "Try again: the next query gets a new database."
        message = "Another query broke the database in which this one ran."
        return JackfieldError(Code.INTERNAL_ERROR, message, hint, transient=True)
    if kind in ("INTERNAL", "FATAL"):
        hint = "This is an error of DuckDB, most often in one function over unusual values: write it another way."
        return JackfieldError(Code.INTERNAL_ERROR, f"The database failed: {message}", hint)
    if kind == "INTERRUPT":
        return JackfieldError(Code.QUERY_TIMEOUT, "The query was interrupted before it ended.", "Ask for less.")
    if kind == "Out of Memory":
        hint = "Ask for less (a narrower filter, fewer columns), or raise the engine's memory limit."
        return JackfieldError(Code.BUDGET_EXCEEDED, "The query needs more memory than it may use.", hint)
    if kind in ("Parser", "Syntax"):
        return JackfieldError(Code.QUERY_INVALID, f"The SQL can not be parsed: {message}", "", details)
    if kind in ("Catalog", "Binder") and (table := TABLE.search(text)):
        return no_table(table["name"] or table["alias"], columns)
    if kind == "Binder" and (column := COLUMN.search(text)):
        return no_column(column["column"] or column["other"], columns, empty, details)
    if kind in ("Conversion", "Out of Range", "Type Mismatch"):
        if source := SOURCE_COLUMN.search(text):
            details["field"] = source[1]
        hint = "Cast with TRY_CAST to get NULL instead, or declare the column's type in the source's `schema`."
        return JackfieldError(Code.TYPE_MISMATCH, message, hint, details)
    if kind == "Permission":
        return JackfieldError(Code.QUERY_INVALID, "The SQL asks for what a tool may not do: files, settings, network.")
    if kind == "Binder" and (pair := COMPARED.search(text)):
        return _incomparable(pair["one"], pair["other"], message, details)
    if kind in ("Catalog", "Binder", "Invalid Input", "Invalid type", "Not implemented"):
        return JackfieldError(Code.QUERY_INVALID, message, _further(text), details)
    return JackfieldError(Code.INTERNAL_ERROR, f"The database failed: {message}", "", details)


def _incomparable(one: str, other: str, message: str, details: Mapping[str, Any]) -> JackfieldError:
    """Text beside a moment is most often a source's column that nobody declared."""
    word = next((MOMENTS[kind] for kind in (one, other) if kind in MOMENTS), "")
    if word and "VARCHAR" in (one, other):
        hint = f"Declare the column as {word} in the source's `schema`, or cast it: CAST(column AS {word.upper()})."
    else:
        hint = "Cast one side to the type of the other."
    return JackfieldError(Code.QUERY_INVALID, message, hint, details)


def no_table(name: str, columns: Schemas) -> JackfieldError:
    available = sorted(columns)
    return JackfieldError(
        Code.SCHEMA_NOT_FOUND,
        f"The SQL reads '{name}', which is not a table here.",
        near(name, available) or _there_is("table", available),
        {"table": name, "available": available},
    )


def no_column(name: str, columns: Schemas, empty: Sequence[str], details: Mapping[str, Any]) -> JackfieldError:
    available = [f"{table}.{column}" for table, names in columns.items() for column in names]
    hint = near(name, [column for names in columns.values() for column in names])
    if empty and not hint:
        tables = ", ".join(f"'{table}'" for table in empty)
        hint = f"{tables} gave no rows, so its columns are not known: declare them in the source's `schema`."
    if not hint:
        hint = _there_is("column", available[:20]) if available else "The tables have no columns."
    return JackfieldError(
        Code.SCHEMA_NOT_FOUND,
        f"Column '{name}' is not in the tables of this query.",
        hint,
        {**details, "field": name, "available": available},
    )


def _there_is(kind: str, names: Sequence[str]) -> str:
    if not names:
        return f"There is no {kind}."
    return f"The only {kind} is {names[0]}." if len(names) == 1 else f"The {kind}s are {', '.join(names)}."


def _sentence(text: str) -> str:
    first = text.split("\n", 1)[0].strip()[:MAX_MESSAGE]
    return first if first.endswith((".", "!", "?")) else f"{first}."


def _further(text: str) -> str:
    lines = [line.strip() for line in text.split("\n")[1:] if line.strip() and not line.startswith("LINE ")]
    return " ".join(lines)[:MAX_MESSAGE]


def _place(text: str, sql: str) -> dict[str, Any]:
    """Line and column in the SQL, where DuckDB points at one. It may cut a long line, so we look for what it shows."""
    found = LINE.search(text)
    if found is None:
        return {}
    line, shown = int(found[1]), found[2].removeprefix("...").removesuffix("...")
    lines = sql.split("\n")
    if line > len(lines) or shown not in lines[line - 1]:
        return {}
    dots = 3 if found[2].startswith("...") else 0
    offset = len(found[3]) - len(f"LINE {line}: ") - dots + lines[line - 1].index(shown)
    where = place(sql, sum(len(each) + 1 for each in lines[: line - 1]) + max(0, offset))
    return {"line": where.line, "column": where.column, "frame": where.frame}
