"""What an SQL text refers to: the tables and columns it reads, the columns it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sqlglot import exp

from .tokens import Dialect
from .tree import tree


@dataclass(frozen=True, slots=True)
class References:
    """`tables` as first written, each once (names differ by more than case), without those that WITH defines.

    `columns` by table, where the text alone tells whose they are. `unqualified`: the others. `star`: some `*` reads
    every column. `output`: names of the result's columns, None where the text alone does not tell.
    """

    tables: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unqualified: tuple[str, ...] = ()
    star: bool = False
    output: tuple[str, ...] | None = None


@lru_cache(maxsize=512)
def references(sql: str, dialect: Dialect = "duckdb") -> References:
    """Raises QUERY_INVALID where `sql` can not be parsed."""
    parsed = tree(sql, dialect)
    named: dict[str, str] = {}
    for table in source_tables(parsed):
        named.setdefault(table.name.lower(), table.name)
    columns: dict[str, dict[str, None]] = {}
    unqualified: dict[str, None] = {}
    aliases = _aliases(parsed)
    for column in parsed.find_all(exp.Column, bfs=False):
        if isinstance(column.this, exp.Star) or (not column.table and column.name.lower() in aliases):
            continue  # every column, or a row as a whole
        owner = _owner(column, aliases)
        if owner is None:
            unqualified.setdefault(column.name)
        elif owner:
            columns.setdefault(named.get(owner, owner), {}).setdefault(column.name)
    return References(
        tuple(named.values()),
        {table: tuple(names) for table, names in columns.items()},
        tuple(unqualified),
        has_star(parsed),
        _output(parsed),
    )


@lru_cache(maxsize=512)
def table_parts(sql: str, dialect: Dialect) -> tuple[tuple[str, ...], ...]:
    """Each table that is read, as (name,) or (schema, name) or longer, as the database itself understands the names.

    Raises as `references` does.
    """
    fold = str.lower if dialect == "postgres" else str
    found = [
        tuple(part.name if part.args.get("quoted") else fold(part.name) for part in table.parts)
        for table in source_tables(tree(sql, dialect))
    ]
    return tuple(dict.fromkeys(found))


def source_tables(parsed: exp.Expr) -> list[exp.Table]:
    """The tables that are read, in order, without table functions and without what WITH defines where it is seen."""
    return [
        table
        for table in parsed.find_all(exp.Table, bfs=False)
        if isinstance(table.this, exp.Identifier) and not _is_cte(table)
    ]


def _is_cte(table: exp.Table) -> bool:
    """Whether a WITH around the table defines its name."""
    if table.db:
        return False
    name = table.name.lower()
    node: exp.Expr | None = table
    while node is not None:
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            recursive = bool(clause.args.get("recursive"))
            for cte in clause.expressions:
                # A CTE sees those before it, and itself when recursive.
                inside = _is_inside(table, cte)
                if cte.alias.lower() == name and (not inside or recursive):
                    return True
                if inside:
                    break
        node = node.parent
    return False


def enclosing_with(table: exp.Table) -> list[tuple[exp.With, exp.CTE]]:
    """The WITH queries that the table is read in, innermost first."""
    found = []
    node = table.find_ancestor(exp.CTE)
    while node is not None:
        if isinstance(node, exp.CTE) and isinstance(node.parent, exp.With):
            found.append((node.parent, node))
        node = node.find_ancestor(exp.CTE)
    return found


def _is_inside(node: exp.Expr, ancestor: exp.Expr) -> bool:
    current: exp.Expr | None = node
    while current is not None:
        if current is ancestor:
            return True
        current = current.parent
    return False


def _aliases(parsed: exp.Expr) -> dict[str, set[str]]:
    """Alias or table name (lower case) → the tables it may stand for; "" for a CTE or sub-query."""
    known: dict[str, set[str]] = {}
    sources = {id(table) for table in source_tables(parsed)}
    for table in parsed.find_all(exp.Table):
        stands = table.name.lower() if id(table) in sources else ""
        known.setdefault(table.alias_or_name.lower(), set()).add(stands)
    for query in parsed.find_all(exp.Subquery, exp.CTE):
        known.setdefault(query.alias_or_name.lower(), set()).add("")
    return known


def _owner(column: exp.Column, aliases: Mapping[str, set[str]]) -> str | None:
    """The table of a column; "" for one of a CTE or sub-query; None when the text does not tell."""
    if column.table:
        stands = aliases.get(column.table.lower(), {""})
        return next(iter(stands)) if len(stands) == 1 else ""
    select = column.find_ancestor(exp.Select)
    if select is None:
        return None
    from_ = select.args.get("from_")
    if select.args.get("joins") or select.args.get("laterals") or not isinstance(from_, exp.From):
        return None
    if isinstance(select.parent, (exp.Subquery, exp.Exists, exp.In)) and select.parent_select is not None:
        return None  # may be a column of the query around it
    if not isinstance(from_.this, exp.Table) or column.name.lower() in _own_names(select):
        return None
    stands = aliases.get(from_.this.alias_or_name.lower(), {""})
    return next(iter(stands)) if len(stands) == 1 else None


def _own_names(select: exp.Select) -> set[str]:
    """Names that the query itself defines: DuckDB lets WHERE and GROUP BY use the aliases of the SELECT list."""
    return {item.alias.lower() for item in select.expressions if isinstance(item, exp.Alias)}


def has_star(parsed: exp.Expr) -> bool:
    """Whether some `*`, `t.*` or COLUMNS(…) reads every column; `count(*)` does not."""
    if parsed.find(exp.Columns) is not None:
        return True
    return any(not isinstance(star.parent, exp.Count) for star in parsed.find_all(exp.Star))


def _output(parsed: exp.Expr) -> tuple[str, ...] | None:
    query = parsed.unnest() if isinstance(parsed, exp.Subquery) else parsed
    while isinstance(query, exp.SetOperation):
        query = query.left
    if not isinstance(query, exp.Select) or not query.expressions:
        return None
    names = []
    for item in query.expressions:
        if isinstance(item, exp.Alias) or (isinstance(item, exp.Column) and not isinstance(item.this, exp.Star)):
            names.append(item.alias_or_name)
        else:
            return None
    return tuple(names)
