"""Which source a table name in SQL means, and the near names that a message offers for one that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from ..model import Source

NESTED = ("rest", "file", "rows")  # kinds whose records may hold arrays, and so child tables


def matching_source(table: str, sources: Mapping[str, Source]) -> tuple[str, str] | None:
    """(source id, child path) of a table name; the child is empty for the source's own rows. None: no source.

    `orders_items` is the child table `items` of `orders`, unless a source has that very name; the longest
    source name wins.
    """
    wanted = table.lower()
    by_id = next((source for source in sources.values() if source.id.lower() == wanted), None)
    named = (source for source in sources.values() if wanted in (name.lower() for name in source.names))
    if owner := by_id or next(named, None):
        return owner.id, ""
    prefixes = [
        (len(name), source.id, table[len(name) + 1 :])
        for source in sources.values()
        if source.type in NESTED
        for name in source.names
        if wanted.startswith(f"{name.lower()}_") and len(table) > len(name) + 1
    ]
    if not prefixes:
        return None
    _, parent, child = max(prefixes)
    return parent, child


def near(name: str, known: Iterable[str], what: str) -> str:
    """“Did you mean 'x'?”, else the known names when they are few."""
    known = sorted(set(known))
    close = difflib.get_close_matches(name, known, 1)
    if close:
        return f"Did you mean '{close[0]}'?"
    if not known:
        return f"The connector has no {what}."
    if len(known) <= 12:
        return f"Known {what}: {', '.join(known)}."
    return ""
