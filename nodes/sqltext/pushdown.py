"""What a query needs of each of its sources: columns, predicates and a limit. It may be more rows than needed, never
fewer: the whole SQL runs again over what comes back, so pushing can not change an answer.

A table is considered by the SELECT that reads it. It must be read once; its predicates are conditions of that
SELECT's WHERE. Such a condition may be pushed under any join, since it drops the rows in which an outer join left
nulls; but not where rows are matched by their order (ASOF, POSITIONAL), pivoted or sampled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlglot import exp

from ..scan import Predicate, Scan
from .parameters import argument, bound
from .predicates import Kept, Unknown, constant, pushed
from .references import enclosing_with, source_tables
from .tree import tree


@dataclass(frozen=True, slots=True)
class Need:
    """What one table's SELECT says of it. `limit` is there when nothing but the predicates decides which rows come."""

    table: str
    alias: str
    columns: tuple[str, ...] | None
    conditions: tuple[exp.Expr, ...]
    single: bool
    limit: exp.Expr | None
    kept: tuple[str, ...]

    def scan(self, arguments: Mapping[str, Any]) -> Scan:
        predicates: dict[Predicate, None] = {}
        kept = list(self.kept)
        exact = True
        for condition in self.conditions:
            found = pushed(condition, self._is_mine, arguments)
            if isinstance(found, Kept):
                exact = False
                if self._concerns(condition):
                    kept.append(f"{_shown(condition)}: {found.reason}")
            else:
                predicates.update(dict.fromkeys(found))
        limit = None
        if self.limit is not None:
            value = constant(self.limit, arguments)
            if value is None or isinstance(value, (Unknown, bool)) or not isinstance(value, int):
                pass
            elif exact:
                limit = value
            else:
                kept.append("LIMIT: not every condition was pushed")
        return Scan(self.columns, tuple(predicates), limit, tuple(kept))

    def _concerns(self, condition: exp.Expr) -> bool:
        """Whether a reader of the plan would look for `condition` at this table."""
        tables = {column.parts[0].name.lower() for column in condition.find_all(exp.Column) if len(column.parts) > 1}
        return not tables or self.alias in tables

    def _is_mine(self, column: exp.Column) -> bool:
        parts = [part.name for part in column.parts]
        if len(parts) == 1:
            return self.single
        return len(parts) == 2 and parts[0].lower() == self.alias


@dataclass(frozen=True, slots=True)
class Prepared:
    """The needs of each table that was asked about, before any argument is known."""

    names: tuple[str, ...]
    needs: Mapping[str, Need]

    def scans(self, arguments: Mapping[str, Any]) -> dict[str, Scan]:
        """A Scan for each table. Raises QUERY_INVALID for a parameter that `arguments` does not have."""
        given = {name: argument(name, arguments) for name in self.names}
        return {table: need.scan(given) for table, need in self.needs.items()}


@lru_cache(maxsize=512)
def prepare(sql: str, tables: tuple[str, ...]) -> Prepared:
    """What `sql` (DuckDB's dialect, `:name` parameters) needs of `tables`. Raises QUERY_INVALID."""
    parsed = tree(sql)
    uses: dict[str, list[exp.Table]] = {}
    for table in source_tables(parsed):
        uses.setdefault(table.name.lower(), []).append(table)
    needs = {name: _need(name, uses.get(name.lower(), []), parsed) for name in tables}
    return Prepared(bound(sql).names, needs)


@lru_cache(maxsize=512)
def read_once(sql: str) -> frozenset[str]:
    """The tables, in lower case, whose rows the query passes over once: named once, outside of a WITH query that is
    recursive or read more than once."""
    parsed = tree(sql)
    found = source_tables(parsed)
    counts = Counter(table.name.lower() for table in found)
    reads = Counter(table.name.lower() for table in parsed.find_all(exp.Table))
    once = set()
    for table in found:
        name = table.name.lower()
        if counts[name] == 1 and all(
            not with_.args.get("recursive") and reads[cte.alias.lower()] <= 1 for with_, cte in enclosing_with(table)
        ):
            once.add(name)
    return frozenset(once)


def _need(name: str, uses: list[exp.Table], parsed: exp.Expr) -> Need:
    def nothing(reason: str) -> Need:
        return Need(name, "", None, (), False, None, (reason,))

    if len(uses) != 1:
        return nothing("it is read more than once" if uses else "it is not read")
    table = uses[0]
    select = table.parent_select
    if not isinstance(select, exp.Select) or not _stands_in_from(table, select):
        return nothing("it is not read by a plain FROM or JOIN")
    if table.args.get("pivots") or any(other.args.get("pivots") for other in _tables_of(select)):
        return nothing("its rows are pivoted")
    if parsed.find(exp.TableSample) is not None or select.args.get("sample"):
        return nothing("the query takes a sample")
    joins: list[exp.Join] = select.args.get("joins") or []
    single = not joins and not select.args.get("laterals")
    alias = table.alias_or_name.lower()
    columns, whole = _columns(table, select, single)
    kept = [] if columns is not None else [f"all columns: {whole}"]
    where = select.args.get("where")
    conditions = tuple(_conjuncts(where.this)) if isinstance(where, exp.Where) else ()
    if any((join.args.get("method") or "").upper() in ("ASOF", "POSITIONAL") for join in joins):
        kept += [f"{_shown(condition)}: rows are matched by their order" for condition in conditions]
        return Need(name, alias, columns, (), single, None, tuple(kept))
    limit, unlimited = _limit(select, parsed, single)
    if unlimited:
        kept.append(f"LIMIT: {unlimited}")
    return Need(name, alias, columns, conditions, single, limit, tuple(kept))


def _stands_in_from(table: exp.Table, select: exp.Select) -> bool:
    parent = table.parent
    return isinstance(parent, (exp.From, exp.Join)) and parent.parent is select


def _tables_of(select: exp.Select) -> Iterable[exp.Expr]:
    """What the FROM and the joins of a SELECT read."""
    from_ = select.args.get("from_")
    if isinstance(from_, exp.From):
        yield from_.this
    for join in select.args.get("joins") or []:
        yield join.this


def _conjuncts(condition: exp.Expr) -> Iterable[exp.Expr]:
    condition = condition.unnest()
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def _columns(table: exp.Table, select: exp.Select, single: bool) -> tuple[tuple[str, ...] | None, str]:
    """The columns that the query may read of the table, or None and why all of them are read.

    A name that is not the table's own may be among them; a source passes over what it does not have.
    """
    alias = table.alias_or_name.lower()
    if select.find(exp.Columns) is not None:
        return None, "COLUMNS()"
    names: dict[str, None] = {}
    for join in select.args.get("joins") or []:
        if (join.args.get("method") or "").upper() == "NATURAL":
            return None, "NATURAL JOIN"
        names.update(dict.fromkeys(column.name for column in join.args.get("using") or []))
    for item in select.expressions:
        if isinstance(item, exp.Star):
            return None, "SELECT *"
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) and item.table.lower() == alias:
            return None, f"SELECT {item.table}.*"
    if not select.expressions:
        return None, "SELECT *"
    shared = {name.lower() for name in names}
    for column in select.find_all(exp.Column):
        if isinstance(column.this, exp.Star):
            continue
        parts = [part.name for part in column.parts]
        if parts[0].lower() == alias:
            if len(parts) == 1:
                return None, "a row as a whole"
            names.setdefault(parts[1])
        elif len(parts) == 1 or parts[0].lower() not in _visible(column, select):
            # Of a join it could be any table's, and a source that gave no rows would give it to the wrong one.
            if not single and parts[0].lower() not in shared:
                return None, f"whose column '{parts[0]}' is, the text does not tell"
            names.setdefault(parts[0])
    return tuple(sorted(names)), ""


def _visible(column: exp.Column, outermost: exp.Select) -> set[str]:
    """The names of tables that a column may be qualified with where it stands."""
    names: set[str] = set()
    select = column.parent_select
    while select is not None:
        if isinstance(select, exp.Select):
            names.update(source.alias_or_name.lower() for source in _tables_of(select))
            names.update(lateral.alias_or_name.lower() for lateral in select.args.get("laterals") or [])
        select = select.parent_select
    return names


def _limit(select: exp.Select, parsed: exp.Expr, single: bool) -> tuple[exp.Expr | None, str]:
    """The LIMIT, if it may be pushed once all conditions are; else why not ("" when there is none)."""
    limit = select.args.get("limit")
    if limit is None:
        return None, ""
    if not isinstance(limit, exp.Limit):
        return None, "only a plain LIMIT is pushed"
    if select is not parsed:
        return None, "it is not the outermost query's"
    if not single:
        return None, "the query joins"
    for part in ("group", "having", "order", "distinct", "qualify", "offset", "windows", "with_"):
        if select.args.get(part):
            return None, f"{part.rstrip('_').upper()} decides which rows come"
    if any(item.find(exp.AggFunc, exp.Window, exp.UDTF, exp.Explode, exp.Query) for item in select.expressions):
        return None, "a row of the table is not a row of the result"
    if limit.expression is None or limit.args.get("limit_options") is not None:
        return None, "only a plain LIMIT is pushed"
    return limit.expression, ""


def _shown(condition: exp.Expr) -> str:
    text = condition.sql(dialect="duckdb").replace("$", ":")
    return text if len(text) <= 80 else f"{text[:77]}…"
