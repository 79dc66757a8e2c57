"""The words that DuckDB's grammar keeps to itself: a column or table of such a name must be quoted.

The parser that lint uses takes many of them for names, and DuckDB does not. They are listed, as lint loads no DuckDB;
a test asks DuckDB itself for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from .tokens import tokens
from .tree import tree

_WORDS: Final = """
all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case cast check
collate collation column concurrently constraint create cross default deferrable desc describe distinct do else end
except fetch for foreign freeze from full glob group having ilike in initially inner intersect into is isnull join
lambda lateral leading left like limit natural not notnull offset on only or order outer overlaps pivot
pivot_longer pivot_wider placing positional primary qualify references returning right select semi show similar
some summarize symmetric table tablesample then to trailing union unique unpack unpivot using variadic verbose when
where window with
"""
RESERVED: Final = frozenset(_WORDS.split())


def reserved_names(sql: str) -> Iterator[tuple[str, int, int]]:
    """(word, start, end) of each reserved word that stands, unquoted, for a column or a table. Raises QUERY_INVALID."""
    found = [name for name in tree(sql, "duckdb").find_all(exp.Identifier, bfs=False) if _is_reserved_name(name)]
    places = {token.start: token.end + 1 for token in tokens(sql, "duckdb")}
    for name in found:
        start = name.meta.get("start", -1)
        yield name.name, max(start, 0), places.get(start, 0)


def _is_reserved_name(identifier: exp.Identifier) -> bool:
    word, parent = identifier.name.lower(), identifier.parent
    if identifier.quoted or word not in RESERVED:
        return False
    if isinstance(parent, exp.Column):
        by_all = word == "all" and isinstance(parent.parent, exp.Ordered)  # ORDER BY ALL means every column
        return parent.parts[0] is identifier and not by_all
    if isinstance(parent, exp.Table):
        return parent.parts[0] is identifier
    return isinstance(parent, exp.TableAlias) and parent.this is identifier
