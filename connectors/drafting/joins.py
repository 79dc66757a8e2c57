"""Which sources share a key: a column of one names a row of another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..discovery.found import Column, Found
from ..discovery.naming import identifier, singular
from .sqltext import Dialect, dialect_of, is_usable

MOST: Final = 8
VAGUE: Final = frozenset(("id", "uuid", "guid", "key", "code", "number", "slug", "name", "title", "status", "type"))


@dataclass(frozen=True, slots=True)
class Join:
    """`of.column` names the row of `to` whose `target` it is. `dialect`: of the database, where both are in one."""

    of: Found
    column: Column
    to: Found
    target: Column

    @property
    def dialect(self) -> Dialect:
        one, other = dialect_of(self.of), dialect_of(self.to)
        same = one == other and self.of.source.get("dsn") == self.to.source.get("dsn")
        return one if same else "duckdb"


def joins_of(found: Sequence[Found]) -> tuple[Join, ...]:
    """At most eight, those that a database declares first. A source that needs arguments takes no part."""
    free = [one for one in found if not one.is_single and not any(argument.required for argument in one.arguments)]
    joins = [join for one in free for other in free if other is not one for join in _between(one, other)]
    joins.sort(key=lambda join: join.column.refers is None)
    return tuple(joins[:MOST])


def _between(one: Found, other: Found) -> Iterator[Join]:
    key = other.key
    if key is None or not is_usable(key.name):
        return
    for column in one.shown:
        if is_usable(column.name) and column.type == key.type and _refers(one, column, other, key):
            yield Join(one, column, other, key)
            return


def _refers(one: Found, column: Column, other: Found, key: Column) -> bool:
    if column.refers is not None and one.source.get("dsn") == other.source.get("dsn"):
        return column.refers == (str(other.source.get("table", "")).rpartition(".")[2], key.name)
    if column.is_key:
        return False
    name, thing, wanted = identifier(column.name), singular(identifier(other.id)), identifier(key.name)
    if name in (f"{thing}_{wanted}", f"{thing}_id" if wanted in VAGUE else wanted):
        return name not in VAGUE
    return name == thing or (name == wanted and wanted not in VAGUE)
