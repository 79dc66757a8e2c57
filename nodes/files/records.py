"""Records that are already Python objects, as the tables of a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ..records import read_records
from ..source import SourceConfiguration
from ..table import Table


def from_objects(rows: Sequence[Mapping[str, Any]], config: SourceConfiguration, source: str) -> Mapping[str, Table]:
    """`rows`, and a table for each of `config.children`. Raises SCHEMA_CHANGED, TYPE_MISMATCH."""
    tables = read_records(
        [msgspec.json.encode(rows)],
        declared=config.declared,
        contract=config.contract,
        source=source,
        children=config.children,
    )
    return {name: Table.whole(table) for name, table in tables.items()}
