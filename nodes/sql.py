"""The `sql` kind: one SELECT of DuckDB's dialect over the tables on its ports."""

from __future__ import annotations

from pydantic import Field

from ..graphs.errors import Code, JackfieldError
from .base import ARGUMENTS, OBJECT, ROWS, TABLE, Configuration, Context, Effect, Inputs, Outputs, Port, node
from .table import Table


class SqlConfiguration(Configuration):
    sql: str = Field(
        description="One SELECT; each port is a table of that name, `:name` an argument",
        json_schema_extra={"format": "sql"},
    )


@node(
    "sql",
    description="Rows of a SELECT over the tables on its ports, joined in a locked DuckDB. `:name` binds an argument.",
    effect=Effect.PURE,
    configuration=SqlConfiguration,
    inputs=[Port(ARGUMENTS, OBJECT, "Values of the `:name` parameters", required=False)],
    outputs=[Port(ROWS, TABLE, "The rows")],
    open_inputs=True,
)
async def sql_node(config: SqlConfiguration, inputs: Inputs, context: Context) -> Outputs:
    arguments = inputs.get(ARGUMENTS) or {}
    tables = {name: as_table(name, value) for name, value in inputs.items() if name != ARGUMENTS}
    rows = await context.tables.query(config.sql, arguments, tables, stream=context.streams)
    return {ROWS: rows}


def as_table(name: str, value: object) -> Table:
    """Rows as other nodes give them: a Table, a list of objects, or one object. Raises TYPE_MISMATCH."""
    if isinstance(value, Table):
        return value
    if isinstance(value, dict):
        value = [value]
    if isinstance(value, list) and all(isinstance(row, dict) for row in value):
        return Table.from_rows(value)
    raise JackfieldError(
        Code.TYPE_MISMATCH,
        f"The SQL reads '{name}', which came as {type(value).__name__}, not as rows.",
        "Wire a port that gives a table or a list of objects.",
        {"table": name, "found": type(value).__name__},
    )
