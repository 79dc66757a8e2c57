"""Results fit the context window: bounded, paged, and only the columns that were promised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ...graphs.errors import JackfieldError
from ...graphs.findings import Finding
from ...nodes.sqltext.references import references
from ..native.names import near
from .subject import Statement, Subject

MOST_TOOLS: Final = 25
LISTING: Final = ("list", "search", "find", "query", "browse")
PAGING: Final = frozenset(("limit", "offset", "page", "per_page", "page_size", "cursor", "max_results", "top"))
STAR: Final = re.compile(r"\bselect\s+(distinct\s+)?\*", re.IGNORECASE)
WHERE: Final = re.compile(r"\bwhere\b", re.IGNORECASE)
LIMIT: Final = re.compile(r"\blimit\b|\bfetch\s+(first|next)\b", re.IGNORECASE)


def results(subject: Subject) -> Iterator[Finding]:
    if len(subject.tools) > MOST_TOOLS:
        message = f"The connector has {len(subject.tools)} tools; an agent chooses well among at most {MOST_TOOLS}."
        yield subject.finding("TOO_MANY_TOOLS", "/tools", message, "Split it by task.")
    for statement in subject.statements:
        if statement.tool.category == "READ":
            yield from _bounds(subject, statement)
            yield from _columns(subject, statement)


def _bounds(subject: Subject, statement: Statement) -> Iterator[Finding]:
    tool, sql = statement.tool, statement.sql
    limited = LIMIT.search(sql) is not None
    star = STAR.search(sql)
    if star and not limited and not WHERE.search(sql):
        message = f"Tool '{tool.id}' selects every column of every row."
        yield subject.finding(
            "UNBOUNDED_SELECT", statement.pointer, message, "Add WHERE or LIMIT.", tool.id, star.span()
        )
    elif star and not limited:
        message = f"Tool '{tool.id}' selects every column without LIMIT."
        hint = "Add LIMIT, or name the columns."
        yield subject.finding("SELECT_STAR_NO_LIMIT", statement.pointer, message, hint, tool.id, star.span())
    names = {parameter.name.lower() for parameter in tool.parameters}
    if tool.id.startswith(LISTING) and not limited and not names & PAGING:
        message = f"Tool '{tool.id}' lists without LIMIT and without a paging parameter."
        hint = "Add `LIMIT :limit` with a default, or a fixed LIMIT."
        yield subject.finding("MISSING_PAGINATION", statement.pointer, message, hint, tool.id)


def _columns(subject: Subject, statement: Statement) -> Iterator[Finding]:
    tool = statement.tool
    asked = (*tool.result.fields, *tool.result.rename)
    if not asked:
        return
    try:
        given = references(statement.sql, statement.dialect).output
    except JackfieldError:
        return  # the SQL rules say why
    if given is None:
        return
    pointer = statement.pointer.removesuffix("/sql") + "/result"
    for name in dict.fromkeys(asked):
        if name not in given:
            message = f"Tool '{tool.id}' promises the column '{name}', which its SQL does not give."
            yield subject.finding("RESULT_FIELD_UNKNOWN", pointer, message, near(name, given, "columns"), tool.id)
