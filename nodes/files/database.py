"""What files that hold several tables share: which table or query of theirs a source reads."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ...graphs.errors import Code, JackfieldError
from .base import FileConfiguration
from .names import quoted


def chosen(config: FileConfiguration, available: Sequence[str], file: str) -> str:
    """The table as a quoted name, or the query in parentheses. A file with one table needs neither.

    Raises CONFIG_INVALID, SCHEMA_NOT_FOUND.
    """
    if config.query is not None and config.table is not None:
        raise JackfieldError(Code.CONFIG_INVALID, "A source has a 'table' or a 'query', not both.")
    if config.query is not None:
        return f"({config.query.strip().rstrip(';')}\n)"
    if config.table is None:
        if len(available) == 1:
            return quoted(available[0])
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"'{file}' has {len(available)} tables; the source must say which.",
            f"Add 'table': one of {', '.join(available[:20])}." if available else "The file holds no table.",
            {"path": file, "available": list(available)},
        )
    by_lower = {table.lower(): table for table in available}
    if config.table.lower() not in by_lower:
        raise missing_table(config.table, available, file)
    return quoted(by_lower[config.table.lower()])


def missing_table(table: str, available: Sequence[str], file: str) -> JackfieldError:
    near = difflib.get_close_matches(table, available, 3)
    hint = f"Did you mean {' or '.join(repr(name) for name in near)}?" if near else f"It has: {', '.join(available)}."
    return JackfieldError(
        Code.SCHEMA_NOT_FOUND,
        f"'{file}' has no table '{table}'.",
        hint if available else "The file holds no table.",
        {"path": file, "table": table, "available": list(available)},
    )
