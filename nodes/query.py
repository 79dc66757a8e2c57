"""The `query` kind: a READ tool's SQL that runs whole in one database (`at`), in that database's dialect."""

from __future__ import annotations

from .base import ARGUMENTS, OBJECT, ROWS, TABLE, Context, Effect, Inputs, Outputs, Port, node
from .databases.at import AtDatabase
from .databases.engines import bound_sql, database
from .databases.pull import pull, pull_short
from .databases.pushdown import Query
from .databases.session import Rows, Session


@node(
    "query",
    description="Rows of one SELECT that runs whole in a database",
    effect=Effect.READS,
    configuration=AtDatabase,
    inputs=(Port(ARGUMENTS, OBJECT, "Values of the SQL's :name parameters", required=False),),
    outputs=(Port(ROWS, TABLE, "The rows"),),
)
async def query_node(config: AtDatabase, inputs: Inputs, context: Context) -> Outputs:
    """Raises QUERY_INVALID unless the SQL only reads; the session's read-only transaction holds it too."""
    from .sqltext.read_only import require_read_only
    from .sqltext.reading import read
    from .sqltext.references import table_parts

    await read(require_read_only, config.sql, config.engine)
    sql, values = bound_sql(config.engine, config.sql, inputs.get(ARGUMENTS) or {})
    query = Query(sql, tuple(values))
    stream = context.streams
    place = database(config.where(context), timeout_s=None if stream else config.timeout_s)

    # Only a function could change a session that but reads. None is called without a parenthesis, or behind a view.
    tables = table_parts(config.sql, config.engine)
    calls = "(" in config.sql

    if not stream:
        table = await pull_short(place, query, context, timeout_s=config.timeout_s)
        if table is not None:
            return {ROWS: table}
    begun: list[tuple[Query, Rows, bool]] = []

    def begin(session: Session) -> Rows:
        sent = session.statement(query)
        guarded = calls or not session.is_plain(tables)
        rows = session.read(sent, guarded=guarded)
        begun.append((sent, rows, guarded))
        return rows

    table = await pull(place, begin, context, timeout_s=config.timeout_s, stream=stream)
    if place.short is not None and not table.is_stream:
        sent, rows, guarded = begun[-1]
        place.short.learn(query.sql, sent.sql, rows, table.num_rows or 0, guarded=guarded)
    return {ROWS: table}
