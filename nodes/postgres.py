"""The `postgres` source: a table, or a query, of which only the needed rows and columns are fetched."""

from __future__ import annotations

from .base import Context, Effect, Inputs, Outputs, node
from .databases.source import DatabaseSource, read
from .source import SOURCE_INPUTS, SOURCE_OUTPUTS


@node(
    "postgres",
    description="Rows of a Postgres table or query",
    effect=Effect.READS,
    configuration=DatabaseSource,
    inputs=SOURCE_INPUTS,
    outputs=SOURCE_OUTPUTS,
)
async def postgres_node(config: DatabaseSource, inputs: Inputs, context: Context) -> Outputs:
    return await read("postgres", config, inputs, context)
