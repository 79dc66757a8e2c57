"""The `statement` kind: a WRITE tool's one INSERT, UPDATE, DELETE or MERGE, run in its database."""

from __future__ import annotations

from .base import ARGUMENTS, OBJECT, ROWS, TABLE, Context, Effect, Inputs, Outputs, Port, node
from .databases.at import AtDatabase
from .databases.engines import bound_sql, database
from .databases.pushdown import Query
from .databases.writing import write_once
from .table import Table

AFFECTED = "affected"


@node(
    "statement",
    description="One INSERT, UPDATE, DELETE or MERGE in a database",
    effect=Effect.WRITES,
    configuration=AtDatabase,
    inputs=(Port(ARGUMENTS, OBJECT, "Values of the SQL's :name parameters", required=False),),
    outputs=(
        Port(ROWS, TABLE, "The rows of RETURNING, none without it"),
        Port(AFFECTED, {"type": "integer"}, "How many rows changed"),
    ),
)
async def statement_node(config: AtDatabase, inputs: Inputs, context: Context) -> Outputs:
    """Never made twice: OUTCOME_UNKNOWN when the connection is lost, or the call cancelled, before the answer."""
    import pyarrow as pa

    from .sqltext.read_only import statement_kind
    from .sqltext.reading import read

    kind = await read(statement_kind, config.sql, config.engine)
    sql, values = bound_sql(config.engine, config.sql, inputs.get(ARGUMENTS) or {})
    query = Query(sql, tuple(values))
    place = database(config.where(context), read_only=False, timeout_s=config.timeout_s)
    written = await write_once(place, context, lambda session: session.write(query), timeout_s=config.timeout_s)
    context.note("wrote", statement=kind, affected=written.affected)
    returned = pa.table({}) if written.returned is None else written.returned
    return {ROWS: Table.whole(returned), AFFECTED: written.affected}
