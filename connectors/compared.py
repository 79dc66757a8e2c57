"""Which column a tool compares a parameter with: its values are those that the parameter is likely to take."""

from __future__ import annotations

from ..graphs.errors import JackfieldError
from .model import Connector, Source, Tool
from .native.names import matching_source


def compared_column(owner: Connector, tool: Tool, parameter: str) -> tuple[Source, str] | None:
    """The source and its column in `column = :parameter`; None where the SQL does not say so in as many words."""
    if tool.sql is None or tool.at is not None:
        return None
    from sqlglot import exp

    from ..nodes.sqltext.references import source_tables
    from ..nodes.sqltext.tree import tree

    try:
        parsed = tree(tool.sql)
    except JackfieldError:
        return None  # lint and the call say so
    tables = {table.alias_or_name.lower(): table.name for table in source_tables(parsed)}
    for equal in parsed.find_all(exp.EQ):
        sides = (equal.left, equal.right)
        column = next((side for side in sides if isinstance(side, exp.Column)), None)
        if column is None or not any(isinstance(side, exp.Placeholder) and side.name == parameter for side in sides):
            continue
        table = tables.get(column.table.lower()) if column.table else _only(tables)
        found = None if table is None else matching_source(table, owner.sources)
        if found is not None and not found[1]:
            return owner.sources[found[0]], column.name
    return None


def _only(tables: dict[str, str]) -> str | None:
    names = set(tables.values())
    return names.pop() if len(names) == 1 else None
