"""The SQL text itself: one statement of the right kind, bound and never built."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...graphs.errors import JackfieldError
from ...graphs.findings import Finding
from ...nodes.http.binding import names_in
from ...nodes.sqltext import read_only
from ...nodes.sqltext.parameters import bound, names_in_strings
from ...nodes.sqltext.reserved import reserved_names
from ..native.compile import named_arguments
from ..native.document import Tool
from ..native.names import near
from .subject import Statement, Subject

PIECES: Final = re.compile(r"\{\{.*?\}\}|\$\{[^}]*\}|(?<!')\{[A-Za-z_]\w*\}|%\([A-Za-z_]\w*\)s")
# A bound value after one of these words is a constant where SQL wants a table or a column.
NAMING: Final = re.compile(r"\b(from|join|by|into|table|as)\s+$", re.IGNORECASE)


def sql(subject: Subject) -> Iterator[Finding]:
    for statement in subject.statements:
        pieces = PIECES.search(statement.sql)
        if pieces:
            message = f"The SQL of '{statement.tool.id}' holds '{pieces[0]}': SQL is bound, never put together."
            hint = "Write :name for a value; choose columns and tables in the text."
            yield subject.finding(
                "SQL_BUILT_OF_PIECES", statement.pointer, message, hint, statement.tool.id, pieces.span()
            )
            continue
        yield from _refusals(subject, statement)
        yield from _names(subject, statement)
    for pointer, tool in subject.tools:
        yield from _unbound_elsewhere(subject, pointer, tool)
        yield from _unused(subject, pointer, tool)


def _refusals(subject: Subject, statement: Statement) -> Iterator[Finding]:
    tool = statement.tool
    if tool.at is not None and tool.category != "READ" and tool.save is None:
        try:
            read_only.statement_kind(statement.sql, statement.dialect)
        except JackfieldError as error:
            start, end = error.details.get("start", 0), error.details.get("end", 0)
            code = "SQL_NOT_A_CHANGE" if "needs INSERT" in error.message else "SQL_INVALID"
            yield subject.finding(code, statement.pointer, error.message, error.hint, tool.id, (start, end))
        return
    for problem in read_only.problems(statement.sql, statement.dialect):
        message = f"The SQL of '{tool.id}': {problem.message}"
        span = (problem.start, problem.end)
        yield subject.finding(problem.code, statement.pointer, message, problem.hint, tool.id, span)
    if statement.dialect == "duckdb":
        yield from _reserved(subject, statement)


def _reserved(subject: Subject, statement: Statement) -> Iterator[Finding]:
    try:
        found = list(reserved_names(statement.sql))
    except JackfieldError:
        return  # reported above
    for word, start, end in found:
        message = f"The SQL of '{statement.tool.id}' uses '{word}' as a name, and DuckDB keeps that word to itself."
        hint = f'Quote it: "{word}".'
        yield subject.finding("SQL_INVALID", statement.pointer, message, hint, statement.tool.id, (start, end))


def _names(subject: Subject, statement: Statement) -> Iterator[Finding]:
    tool = statement.tool
    known = {parameter.name for parameter in tool.parameters}
    try:
        query = bound(statement.sql, statement.dialect)
        in_strings = names_in_strings(statement.sql, statement.dialect)
    except JackfieldError:
        return  # text without tokens: reported above
    for span in query.spans:
        if span.name not in known:
            message = f"':{span.name}' in the SQL of '{tool.id}' is not one of its parameters."
            hint = near(span.name, known, "parameters")
            yield subject.finding(
                "PARAMETER_UNBOUND", statement.pointer, message, hint, tool.id, (span.start, span.end)
            )
        elif NAMING.search(statement.sql[: span.start]):
            message = f"':{span.name}' of '{tool.id}' stands where SQL wants a name; a bound value names nothing."
            hint = "Write the column or table out; to choose between columns, use CASE :name WHEN … END."
            yield subject.finding(
                "PARAMETER_AS_IDENTIFIER", statement.pointer, message, hint, tool.id, (span.start, span.end)
            )
    for span in in_strings:
        if span.name in known:
            message = f"':{span.name}' of '{tool.id}' stands inside a string literal, where it is text."
            hint = f"Take it out of the quotes: '%' || :{span.name} || '%'."
            yield subject.finding(
                "PARAMETER_IN_STRING", statement.pointer, message, hint, tool.id, (span.start, span.end)
            )


def _unbound_elsewhere(subject: Subject, pointer: str, tool: Tool) -> Iterator[Finding]:
    known = {parameter.name for parameter in tool.parameters}
    named = named_arguments("request", tool.request) if tool.request is not None else frozenset()
    for part, names in (("request", named), ("rest_query_params", names_in("", tool.rest_query_params))):
        for name in sorted(names - known):
            message = f"The {part} of '{tool.id}' names '{name}', which is not one of its parameters."
            hint = near(name, known, "parameters")
            yield subject.finding("PARAMETER_UNBOUND", f"{pointer}/{part}", message, hint, tool.id)


def _unused(subject: Subject, pointer: str, tool: Tool) -> Iterator[Finding]:
    if tool.graph is not None or tool.id in subject.misread:
        return
    used = used_names(subject, tool)
    for index, parameter in enumerate(tool.parameters):
        if used is not None and parameter.name not in used:
            message = f"Parameter '{parameter.name}' of '{tool.id}' changes nothing: neither SQL nor request uses it."
            place = f"{pointer}/parameters/{index}/name"
            yield subject.finding("PARAMETER_UNUSED", place, message, "Use it, or take it out.", tool.id)


def used_names(subject: Subject, tool: Tool) -> set[str] | None:
    """The parameters that a tool's SQL, request and sources name; None where its SQL has no tokens."""
    used: set[str] = set()
    if tool.sql is not None:
        try:
            used |= set(bound(tool.sql, subject.dialect_of(tool)).names)
            used |= {span.name for span in names_in_strings(tool.sql, subject.dialect_of(tool))}
        except JackfieldError:
            return None
    if tool.request is not None:
        used |= named_arguments("request", tool.request)
    used |= names_in("", tool.rest_query_params)
    for source in subject.parts.sources.values():
        try:
            used |= named_arguments(source.type, source.configuration)
        except JackfieldError:
            return None
    return used
