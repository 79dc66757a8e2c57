"""What a tool's SQL reads is there: its sources are named and loaded, its tables and columns exist."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ...graphs.errors import JackfieldError
from ...graphs.findings import Finding
from ...graphs.pointers import escaped
from ...nodes.schema import TYPE_WORDS, is_type_word
from ...nodes.sqltext.references import References, references
from ..model import Source
from ..native.names import matching_source, near
from .subject import Statement, Subject

SELECT: Final = re.compile(r"\bselect\b", re.IGNORECASE)


def tables(subject: Subject) -> Iterator[Finding]:
    sources = subject.sources
    for source in subject.parts.sources.values():
        yield from _types(subject, source)
    for pointer, tool in subject.tools:
        named = [(f"{pointer}/source_ids/{index}", name) for index, name in enumerate(tool.source_ids)]
        named += [(f"{pointer}/at", tool.at)] if tool.at else []
        for place, name in named:
            if name not in sources:
                message = f"Tool '{tool.id}' names source '{name}', and the connector has no such source."
                yield subject.finding("SOURCE_UNKNOWN", place, message, near(name, sources, "sources"), tool.id)
    for statement in subject.statements:
        if statement.tool.at is not None:
            continue  # its tables are those of the database
        try:
            found = references(statement.sql, statement.dialect)
        except JackfieldError:
            continue  # the SQL rules say why
        yield from _of_statement(subject, statement, found)


def _types(subject: Subject, source: Source) -> Iterator[Finding]:
    for name, word in (source.configuration.get("schema") or {}).items():
        if not is_type_word(word):
            message = f"Column '{name}' of '{source.id}' has the type '{word}', which there is not."
            place = f"{source.pointer}/schema/{escaped(name)}"
            yield subject.finding("COLUMN_TYPE_UNKNOWN", place, message, near(word, TYPE_WORDS, "types"), source.id)


def _of_statement(subject: Subject, statement: Statement, found: References) -> Iterator[Finding]:
    tool, sources = statement.tool, subject.sources
    columns: dict[
        str, tuple[Source, Sequence[str], bool]
    ] = {}  # by table: its source, its columns, whether that is all
    for table in found.tables:
        match = matching_source(table, sources)
        span = word_in(statement.sql, table)
        if match is None:
            names = [name for source in sources.values() for name in source.names]
            message = f"Tool '{tool.id}' reads the table '{table}', and no source has that name."
            hint = near(table, names, "sources")
            yield subject.finding("UNKNOWN_TABLE", statement.pointer, message, hint, tool.id, span)
            continue
        source, child = sources[match[0]], match[1]
        if tool.source_ids and source.id not in tool.source_ids:
            message = f"Tool '{tool.id}' reads '{table}' of source '{source.id}', which its source_ids leave out."
            hint = f"Add '{source.id}' to source_ids."
            yield subject.finding("TOOL_SOURCE_NOT_LOADED", statement.pointer, message, hint, tool.id, span)
        known = known_columns(subject, source, child)
        if known is not None:
            columns[table] = (source, *known)
    for table, (source, known_names, complete) in columns.items():
        for column in found.columns.get(table, ()):
            yield from _column(subject, statement, table, source, column, known_names, complete)
    simple = len(SELECT.findall(statement.sql)) == 1  # else a name may be one that an inner query defines
    if columns.keys() == set(found.tables) and len(columns) == 1 and found.output is not None and simple:
        table, (source, known_names, complete) = next(iter(columns.items()))
        own = {name.lower() for name in found.output if name}
        for column in found.unqualified:
            if column.lower() not in own:
                yield from _column(subject, statement, table, source, column, known_names, complete)


def known_columns(subject: Subject, source: Source, child: str) -> tuple[Sequence[str], bool] | None:
    """(columns, whether there can be no others) of a source, or None when nothing is known of them."""
    if subject.columns is not None and (real := subject.columns(source, child)) is not None:
        return list(real), True
    declared = source.configuration.get("schema")
    if child or not declared:
        return None
    return list(declared), source.configuration.get("contract", "evolve") != "evolve"


def _column(
    subject: Subject,
    statement: Statement,
    table: str,
    source: Source,
    column: str,
    known: Sequence[str],
    complete: bool,
) -> Iterator[Finding]:
    if column.lower() in (name.lower() for name in known) or column.startswith("_"):
        return
    span = word_in(statement.sql, column)
    tool = statement.tool.id
    if complete:
        message = f"Tool '{tool}' reads '{column}' of '{table}', which has no such column."
        yield subject.finding("UNKNOWN_COLUMN", statement.pointer, message, near(column, known, "columns"), tool, span)
    else:
        message = f"Tool '{tool}' reads '{column}' of '{table}', which the schema of '{source.id}' does not declare."
        hint = near(column, known, "columns") or f"Declare '{column}', so that an empty source still has it."
        yield subject.finding("COLUMN_NOT_DECLARED", statement.pointer, message, hint, tool, span)


def word_in(sql: str, word: str) -> tuple[int, int] | None:
    """Where a name stands in the SQL, the first time that it stands alone."""
    found = re.search(rf"(?<![\w:$]){re.escape(word)}(?!\w)", sql, re.IGNORECASE)
    return None if found is None else found.span()
