"""What a Scan becomes for one database: the SQL that is sent, with its values bound, and what is left to DuckDB."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..scan import Predicate, Scan
from .columns import Column, chosen, find
from .narrowing import Comparison, NotPushedError, narrow


@dataclass(frozen=True, slots=True)
class Relation:
    """What stands after FROM: a quoted table, or a sub-select with its alias and the values it binds.

    `name` is a table's name for messages, empty for a sub-select, whose SQL is a user's; `parts` are its schema, if
    that is written, and its name.
    """

    sql: str
    values: tuple[Any, ...] = ()
    name: str = ""
    parts: tuple[str, ...] = ()


class Dialect(Protocol):
    """How one database writes what we ask for."""

    def relation(self, table: str) -> Relation:
        """`schema.table` as quoted identifiers; a part that has a dot is written in quotes."""

    def quoted(self, name: str) -> str:
        """`name` as an identifier, whatever is in it."""

    def condition(self, comparison: Comparison, values: list[Any], *, shown: bool = False, exact: bool = False) -> str:
        """The comparison as SQL; what it binds is added to `values`. `shown`: for people, without any value.

        `exact`: no row more than DuckDB would keep, since a LIMIT counts them.
        """


@dataclass(frozen=True, slots=True)
class Query:
    """SQL and the values it binds. `columns` are those of the result, in order; `shown` is the SQL without values."""

    sql: str
    values: tuple[Any, ...] = ()
    columns: tuple[Column, ...] = ()
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Pushdown:
    """For `jackfield plan`: what is sent, what DuckDB checks again although it is sent, and why something is not.

    Every predicate is checked again; `rechecked` names those whose answer may be larger than asked.
    """

    query: Query
    pushed: tuple[Predicate, ...]
    rechecked: tuple[str, ...]
    kept: tuple[str, ...]
    limit: int | None

    def as_json(self) -> dict[str, Any]:
        return {
            "sql": self.query.shown,
            "pushed": [predicate.as_json() for predicate in self.pushed],
            "rechecked": list(self.rechecked),
            "kept": list(self.kept),
            "limit": self.limit,
        }

    def as_event(self) -> dict[str, Any]:
        """What an event tells: no values."""
        return {
            "sql": self.query.shown,
            "kept": list(self.kept),
            "rechecked": list(self.rechecked),
            "limit": self.limit,
        }


def push(
    scan: Scan,
    columns: Sequence[Column],
    relation: Relation,
    dialect: Dialect,
    converted: Mapping[str, str] | None = None,
) -> Pushdown:
    """The query over `relation` that suffices for `scan`. `converted` names columns whose values are changed here
    after they came, with the reason: those are compared here only.
    """
    selected = chosen(columns, scan.columns)
    comparisons: list[Comparison] = []
    values: list[Any] = list(relation.values)
    pushed: list[Predicate] = []
    rechecked: list[str] = []
    kept = list(scan.kept)
    for predicate in scan.predicates:
        text = f"{predicate.column} {predicate.operator} …"
        column = find(columns, predicate.column)
        if column is None:
            kept.append(f"{text}: no one column has this name")
            continue
        if converted and column.name in converted:
            kept.append(f"{text}: {converted[column.name]}")
            continue
        try:
            narrowed = narrow(column, predicate)
        except NotPushedError as reason:
            kept.append(f"{text}: {reason}")
            continue
        comparisons += narrowed.comparisons
        pushed.append(predicate)
        if not narrowed.exact:
            rechecked.append(f"{text}: the database may give more rows than match")
    limit = scan.limit
    if limit is not None and (rechecked or len(pushed) < len(scan.predicates)):
        kept.append(f"LIMIT {limit}: not every predicate is applied exactly by the database")
        limit = None
    begin = f"SELECT {listed(selected, dialect)} FROM {relation.sql}"
    end = "" if limit is None else f" LIMIT {max(0, int(limit))}"

    def statement(values: list[Any], *, shown: bool) -> str:
        where = " AND ".join(
            dialect.condition(comparison, values, shown=shown, exact=limit is not None) for comparison in comparisons
        )
        return f"{begin} WHERE {where}{end}" if where else begin + end

    shown = statement(list(values), shown=True)
    sql = statement(values, shown=False)
    query = Query(sql, tuple(values), selected, shown)
    return Pushdown(query, tuple(pushed), tuple(rechecked), tuple(kept), limit)


def listed(columns: Sequence[Column], dialect: Dialect) -> str:
    """What stands between SELECT and FROM."""
    names = [dialect.quoted(column.name) for column in columns]
    return ", ".join(
        name if column.select == name else f"{column.select} AS {name}"
        for column, name in zip(columns, names, strict=True)
    )
