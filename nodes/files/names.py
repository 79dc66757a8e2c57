"""Names in SQL: quoted, and told apart. SQL tells no case apart, and a file or a query may give a name twice."""

from __future__ import annotations

from collections.abc import Sequence


def quoted(identifier: str) -> str:
    """A name of a table or a column as DuckDB, SQLite and Postgres read it."""
    return '"' + identifier.replace('"', '""') + '"'


def distinct(names: Sequence[str]) -> list[str]:
    """`names`, where one that was there before has `_1`, `_2` … after it."""
    taken: set[str] = set()
    result = []
    for name in names:
        new, number = name, 0
        while new.lower() in taken:
            number += 1
            new = f"{name}_{number}"
        taken.add(new.lower())
        result.append(new)
    return result
