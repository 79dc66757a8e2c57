"""Records that are already Python objects, as the tables of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base import ROWS
from ..source import SourceConfiguration
from ..table import Table


def from_objects(rows: Sequence[Mapping[str, Any]], config: SourceConfiguration, source: str) -> Mapping[str, Table]:
    """`rows`, and a table for each of `config.children`."""
    return {ROWS: Table.from_rows([dict(row) for row in rows])} | {
        name: Table.from_rows([]) for name in config.children
    }
