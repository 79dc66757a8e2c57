"""What the Postgres and the MySQL source share: their configuration, and a pull of just what a query needs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

from pydantic import Field, model_validator

from ...graphs.errors import Code, JackfieldError
from ..base import ARGUMENTS, ROWS, SCAN, Context, Inputs, Outputs
from ..scan import EVERYTHING, Scan
from ..source import SourceConfiguration
from ..table import Table
from .columns import Column, Kind
from .dsn import Engine, Tls, address
from .engines import bound_sql, database, dialect, relation
from .pull import Database, pull, pull_short
from .pushdown import Pushdown, Relation, push
from .session import Rows, Session

NO_SCHEMA: Final[Mapping[str, str]] = {}
# The type words whose conversion leaves a column's values, and so its comparisons, as they are.
SAME: Final[Mapping[str, frozenset[Kind]]] = {
    **dict.fromkeys(("int", "integer", "bigint"), frozenset({Kind.INT})),
    **dict.fromkeys(("float", "number", "double"), frozenset({Kind.FLOAT64})),
    **dict.fromkeys(("string", "text"), frozenset({Kind.TEXT, Kind.PADDED, Kind.UUID})),
    "uuid": frozenset({Kind.UUID}),
    **dict.fromkeys(("bool", "boolean"), frozenset({Kind.BOOL})),
    "date": frozenset({Kind.DATE}),
    **dict.fromkeys(("datetime", "timestamptz", "timestamp(tz)"), frozenset({Kind.TIMESTAMPTZ})),
    "timestamp": frozenset({Kind.TIMESTAMP}),
}


class DatabaseSource(SourceConfiguration):
    """`table` may be `schema.table`. A `query` is one SELECT in the database's own dialect, with `:name` parameters."""

    dsn: str | None = Field(
        None, description="Address, such as postgresql://user:password@host/db; may be {{ env:VAR }}"
    )
    url: str | None = Field(None, description="The same as dsn")
    table: str | None = Field(None, min_length=1, description="The table or view to read")
    query: str | None = Field(None, min_length=1, description="A SELECT to read instead of a table")
    tls: Tls | None = Field(None, description="Overrides the address's sslmode")

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.dsn is None) == (self.url is None):
            raise ValueError("exactly one of 'dsn' and 'url' is needed")
        if (self.table is None) == (self.query is None):
            raise ValueError("exactly one of 'table' and 'query' is needed")
        return self

    @property
    def address(self) -> str:
        return self.dsn or self.url or ""


async def read(engine: Engine, config: DatabaseSource, inputs: Inputs, context: Context) -> Outputs:
    """The rows of a source, on port `rows`: only what the Scan asks for, as far as the database can tell."""
    scan: Scan = inputs.get(SCAN) or EVERYTHING
    await _require_read_only(engine, config)
    place = relation_of(engine, config, inputs.get(ARGUMENTS) or {})
    dsn = address(config.address, engine, context.secrets, (context.folder, *context.roots)).over(config.tls)
    stream = context.streams and not config.cache_ttl_s
    source = database(dsn, timeout_s=None if stream else config.timeout_s)
    if not config.cache_ttl_s:
        return {ROWS: await _pull(engine, config, source, place, scan, context, stream)}

    async def pull_whole() -> Mapping[str, Table]:
        return {ROWS: await _pull(engine, config, source, place, scan, context, False)}

    asked = repr((source.key, place, scan.columns, scan.predicates, scan.limit, config.declared, config.contract))
    key = f"{context.connector}|{engine}:{hashlib.sha256(asked.encode('utf-8', 'surrogatepass')).hexdigest()}"
    if context.fresh:
        return dict(await pull_whole())
    return dict(await context.cache.tables(key, config.cache_ttl_s, pull_whole))


async def _pull(
    engine: Engine,
    config: DatabaseSource,
    source: Database,
    place: Relation,
    scan: Scan,
    context: Context,
    stream: bool,
) -> Table:
    made: list[tuple[Pushdown, Rows, bool]] = []
    calls = config.query is not None
    tables = (place.parts,) if place.parts else ()

    def begin(session: Session) -> Rows:
        columns = session.columns(place)
        check_contract(config, columns, context.node)
        pushed = push_for(engine, config, place, scan, columns, stream=stream)
        guarded = calls or not session.is_plain(tables)
        made.append((pushed, session.read(pushed.query, guarded=guarded), guarded))
        if short is not None:
            short.describe(place.sql, columns)
        return made[-1][1]

    def convert(rows: Any) -> Any:
        if not config.declared:
            return rows
        from ..schema import obey

        declared = {name: word for name, word in config.declared.items() if name in rows.column_names}
        contract = "evolve" if config.contract == "freeze" else config.contract  # columns were checked already
        return obey(rows, declared, contract, context.node)

    short = source.short if scan.predicates else None  # what nothing narrows is not short
    columns = None if short is None else short.columns(place.sql)
    narrowed = None if columns is None else push_for(engine, config, place, scan, columns)
    if narrowed is not None and narrowed.pushed:
        rows = await pull_short(source, narrowed.query, context, timeout_s=config.timeout_s, arrow=True)
        if rows is not None:
            context.note("pushed", **narrowed.as_event())
            return Table.whole(convert(rows.arrow()))
    table = await pull(source, begin, context, timeout_s=config.timeout_s, stream=stream, convert=convert)
    pushed, read, guarded = made[-1]
    context.note("pushed", **pushed.as_event())
    if short is not None and pushed.pushed and not table.is_stream:
        bound = push_for(engine, config, place, scan, short.columns(place.sql) or ()).query
        short.learn(bound.sql, bound.sql, read, table.num_rows or 0, guarded=guarded)
    return table


async def _require_read_only(engine: Engine, config: DatabaseSource) -> None:
    """What `relation_of` asks of a `query` first, asked off the event loop; the answer is kept."""
    if config.query is not None:
        from ..sqltext.read_only import require_read_only
        from ..sqltext.reading import read as read_text

        await read_text(require_read_only, config.query, engine)


def relation_of(engine: Engine, config: DatabaseSource, arguments: Mapping[str, Any]) -> Relation:
    """What the source reads, as it stands after FROM. Raises QUERY_INVALID unless a `query` only reads."""
    if config.table is not None:
        return relation(engine, config.table)
    from ..sqltext.read_only import require_read_only

    assert config.query is not None
    require_read_only(config.query, engine)
    sql, values = bound_sql(engine, config.query, arguments)
    return Relation(f"({sql}\n) AS jackfield", tuple(values))


def push_for(
    engine: Engine,
    config: DatabaseSource,
    place: Relation,
    scan: Scan,
    columns: Sequence[Column],
    *,
    stream: bool = False,
) -> Pushdown:
    """What is sent for `scan`. Pure: `jackfield plan` shows it."""
    declared = config.declared or NO_SCHEMA
    converted = {
        column.name: f"declared as {declared[column.name]}, which is not the database's {column.declared}"
        for column in columns
        if column.name in declared and column.kind not in SAME.get(declared[column.name].strip().lower(), ())
    }
    if config.contract == "discard_row" and declared and scan.limit is not None:
        kept = (*scan.kept, f"LIMIT {scan.limit}: rows that do not fit the schema are dropped here")
        scan = Scan(scan.columns, scan.predicates, None, kept)
    return push(scan, columns, place, dialect(engine, stream=stream), converted)


def explain(
    engine: Engine,
    config: DatabaseSource,
    scan: Scan,
    columns: Sequence[Column],
    arguments: Mapping[str, Any] | None = None,
) -> Pushdown:
    """What `jackfield plan` shows: the SQL that is sent, what is checked again, why something is not pushed."""
    return push_for(engine, config, relation_of(engine, config, arguments or {}), scan, columns)


async def described(
    engine: Engine, config: DatabaseSource, context: Context, arguments: Mapping[str, Any]
) -> tuple[Column, ...]:
    """The columns of the source, asked of the database."""
    from ..blocking import in_thread
    from .pull import leased

    dsn = address(config.address, engine, context.secrets, (context.folder, *context.roots)).over(config.tls)
    await _require_read_only(engine, config)
    place = relation_of(engine, config, arguments)

    async def use(lease: Any) -> tuple[Column, ...]:
        found: tuple[Column, ...] = await in_thread(lambda: lease.value.columns(place), cancel=lease.value.cancel)
        return found

    return await leased(database(dsn, timeout_s=config.timeout_s), context, use, timeout_s=config.timeout_s)


def check_contract(config: DatabaseSource, columns: Sequence[Column], source: str) -> None:
    """Raises SCHEMA_CHANGED when a frozen schema is not what the database has."""
    if config.contract != "freeze" or not config.declared:
        return
    names = {column.name for column in columns}
    added, missing = sorted(names - config.declared.keys()), sorted(config.declared.keys() - names)
    if added or missing:
        found = [f"has new columns {', '.join(map(repr, added))}"] if added else []
        found += [f"lacks the columns {', '.join(map(repr, missing))}"] if missing else []
        raise JackfieldError(
            Code.SCHEMA_CHANGED,
            f"Source '{source}' {' and '.join(found)}, and its schema is frozen.",
            "Bring its `schema` up to date, or set another `contract`.",
            {"source": source, "added": added, "missing": missing},
        )
