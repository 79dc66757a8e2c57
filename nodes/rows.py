"""The `rows` source: rows written in the connector file itself, for small look-up tables and examples."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic import Field

from .base import ROWS, Context, Effect, Inputs, Outputs, node
from .source import SOURCE_INPUTS, SOURCE_OUTPUTS, SourceConfiguration, source_ports
from .table import Table


class RowsConfiguration(SourceConfiguration):
    """Inline rows. Nested objects and arrays become columns and child tables, as in a JSON file."""

    rows: tuple[Mapping[str, Any], ...] = Field(description="The rows, each an object of column to value")

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """Built once for a node: the rows cannot change while its graph lives."""
        from .files.records import from_objects

        return from_objects(self.rows, self, "inline rows")


@node(
    "rows",
    description="Rows written in the connector file",
    effect=Effect.PURE,
    configuration=RowsConfiguration,
    inputs=SOURCE_INPUTS,
    outputs=SOURCE_OUTPUTS,
    ports_of=source_ports,
)
async def rows_node(config: RowsConfiguration, inputs: Inputs, context: Context) -> Outputs:
    tables = config.tables
    context.note("pulled", source=context.node, rows=tables[ROWS].num_rows, cached=True)
    return dict(tables)
