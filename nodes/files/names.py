"""Column names of which none is another's: SQL tells no case apart, and a file or a query may give a name twice."""

from __future__ import annotations

from collections.abc import Sequence


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
