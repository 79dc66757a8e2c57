"""The `postgres` save: rows into a Postgres table, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..base import Context
from ..table import Table
from .base import CanSave, Saved, SaveType
from .fit import family, same_columns
from .intodatabase import FRESH, SAVES_TABLE, DatabaseJob, DatabaseSave, can_save_into, check_types, plain, save_into
from .staging import no_key, repeated_key

if TYPE_CHECKING:
    import pyarrow as pa

    from ..databases.postgres import PostgresSession

    Job = DatabaseJob[PostgresSession]

NUMBERS: Final = frozenset({"integer", "decimal", "float"})
TIMES: Final = frozenset({"timestamp", "timestamp with zone", "date", "text"})
ACCEPTED: Final[Mapping[str, frozenset[str]]] = {
    "bool": frozenset({"boolean"}),
    **dict.fromkeys(("int2", "int4", "int8", "oid"), frozenset({"integer"})),
    "numeric": NUMBERS,
    **dict.fromkeys(("float4", "float8"), NUMBERS),
    **dict.fromkeys(("text", "varchar", "bpchar", "name"), frozenset({"text"})),
    "bytea": frozenset({"binary"}),
    "date": frozenset({"date", "text"}),
    **dict.fromkeys(("timestamp", "timestamptz"), TIMES),
    **dict.fromkeys(("uuid", "json", "jsonb", "inet", "cidr", "xml"), frozenset({"text"})),
}
TYPES: Final[Mapping[str, str]] = {
    "boolean": "boolean",
    "text": "text",
    "binary": "bytea",
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
    "timestamp with zone": "timestamptz",
}


class PostgresSave(DatabaseSave):
    """A table of a Postgres database. An upsert uses the table's unique index over `key` where it has one."""


def write(job: Job) -> int | None:
    connection = job.session.connection.adbc_connection
    connection.set_autocommit(False)
    try:
        repeated = _recorded(job)
        if repeated is None:
            _change(job)
            if job.idempotency_key:
                job.session.rows(
                    f"UPDATE {_records(job)} SET rows = $1::int8 WHERE key = $2::text AND target = $3::text"
                    " RETURNING 1",
                    (job.rows.count, job.idempotency_key, job.config.table),
                )
        job.committing = True
        job.session.commit()
    except BaseException:
        job.session.rollback()
        raise
    connection.set_autocommit(True)
    return repeated


def _change(job: Job) -> None:
    session, config = job.session, job.config
    schema, change = plain(job.rows.schema)
    target = session.dialect.relation(config.table).sql
    there = _columns(job)
    names = schema.names
    if there and config.mode == "overwrite":
        if set(names) <= there.keys():
            session.run(f"DELETE FROM {target}")
        else:
            session.run(f"DROP TABLE {target}")
            there = {}
    if not there:
        key = f", PRIMARY KEY ({_listed(config.key)})" if config.mode == "upsert" else ""
        columns = ", ".join(f"{_name(field.name)} {column_type(field.type)}" for field in schema)
        session.run(f"CREATE TABLE {target} ({columns}{key})")
        there = _columns(job)
    same_columns(names, [name for name in there if name in names], config.table, list(there))
    base = {name: there[name][0] for name in names}
    check_types(job.rows.schema, schema, {name: ACCEPTED.get(base[name]) for name in names}, base, config.table)
    exact = _exact(schema, base)
    if config.mode != "upsert" and exact is not None:
        session.ingest(config.table, job.rows.reader(exact, lambda batch: change(batch).cast(exact)), temporary=False)
        return
    session.ingest(FRESH, job.rows.reader(schema, change), temporary=True)
    if config.mode == "upsert":
        _check_keys(job)
    _move(job, target, schema, there)
    session.run(f"DROP TABLE pg_temp.{FRESH}")


def _move(job: Job, target: str, schema: pa.Schema, there: Mapping[str, tuple[str, str]]) -> None:
    """From the temporary table into the target. Text is cast in words; all else converts as an assignment does."""
    session, key, names = job.session, job.config.key, schema.names
    values = ", ".join(
        f"{_name(field.name)}::{there[field.name][1]}"
        if family(field.type) == "text" and ACCEPTED.get(there[field.name][0]) != ACCEPTED["text"]
        else _name(field.name)
        for field in schema
    )
    insert = f"INSERT INTO {target} ({_listed(names)}) SELECT {values} FROM pg_temp.{FRESH}"
    if job.config.mode != "upsert":
        session.run(insert)
    elif _unique_over(job):
        others = ", ".join(f"{_name(name)} = excluded.{_name(name)}" for name in names if name not in key)
        session.run(f"{insert} ON CONFLICT ({_listed(key)}) DO {f'UPDATE SET {others}' if others else 'NOTHING'}")
    else:
        session.run(f"LOCK TABLE {target} IN SHARE ROW EXCLUSIVE MODE")  # no unique index keeps out a second upsert
        same = " AND ".join(f"t.{_name(name)} = f.{_name(name)}::{there[name][1]}" for name in key)
        session.run(f"DELETE FROM {target} t USING pg_temp.{FRESH} f WHERE {same}")
        session.run(insert)


def _check_keys(job: Job) -> None:
    key = job.config.key
    absent = " OR ".join(f"{_name(name)} IS NULL" for name in key)
    empty = job.session.rows(f"SELECT count(*) FROM pg_temp.{FRESH} WHERE {absent}")[0][0]
    if empty:
        raise no_key(empty, ", ".join(key))
    texts = ", ".join(f"{_name(name)}::text" for name in key)
    query = f"SELECT {texts} FROM pg_temp.{FRESH} GROUP BY {_listed(key)} HAVING count(*) > 1 LIMIT 3"
    if twice := job.session.rows(query):
        raise repeated_key(twice, ", ".join(key))


def _columns(job: Job) -> dict[str, tuple[str, str]]:
    """Name → base type, and type as it is written; empty when there is no such table."""
    found = job.session.rows(
        "SELECT a.attname::text, t.typname::text, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a"
        " JOIN pg_type d ON d.oid = a.atttypid JOIN pg_type t ON t.oid = coalesce(nullif(d.typbasetype, 0), d.oid)"
        " WHERE a.attrelid = to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        (job.session.dialect.relation(job.config.table).sql,),
    )
    return {name: (base, written) for name, base, written in found}


def _unique_over(job: Job) -> bool:
    """Whether a unique index that holds for every row is over just the key's columns."""
    found = job.session.rows(
        "SELECT array_agg(a.attname::text) FROM pg_index i"
        " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)"
        " WHERE i.indrelid = to_regclass($1::text) AND i.indisunique AND i.indimmediate AND i.indpred IS NULL"
        " AND i.indexprs IS NULL AND i.indnatts = i.indnkeyatts GROUP BY i.indexrelid",
        (job.session.dialect.relation(job.config.table).sql,),
    )
    return any(set(columns) == set(job.config.key) for (columns,) in found)


def _recorded(job: Job) -> int | None:
    """The rows saved under the idempotency key before; a second save under way with it waits here for the first."""
    if not job.idempotency_key:
        return None
    session, records = job.session, _records(job)
    session.rows("SELECT pg_advisory_xact_lock(hashtext($1::text))::text", (records,))
    session.run(
        f"CREATE TABLE IF NOT EXISTS {records} (key text, target text, rows int8, saved_at timestamptz DEFAULT now(),"
        " PRIMARY KEY (key, target))"
    )
    named = (job.idempotency_key, job.config.table)
    made = session.rows(
        f"INSERT INTO {records} (key, target) VALUES ($1::text, $2::text) ON CONFLICT DO NOTHING RETURNING 1", named
    )
    if made:
        return None
    return int(session.rows(f"SELECT rows FROM {records} WHERE key = $1::text AND target = $2::text", named)[0][0])


def _records(job: Job) -> str:
    """The table of records stands beside the target."""
    schema = job.session.dialect.relation(job.config.table).sql.rpartition(".")[0]
    return f"{schema}.{SAVES_TABLE}" if schema else SAVES_TABLE


def _exact(schema: pa.Schema, base: Mapping[str, str]) -> pa.Schema | None:
    """The Arrow schema by which rows can be copied straight into the target, None when a type needs conversion."""
    import pyarrow as pa

    types: dict[str, pa.DataType] = {
        "bool": pa.bool_(),
        "int2": pa.int16(),
        "int4": pa.int32(),
        "int8": pa.int64(),
        "float4": pa.float32(),
        "float8": pa.float64(),
        "text": pa.string(),
        "varchar": pa.string(),
        "bytea": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "timestamptz": pa.timestamp("us", "UTC"),
    }
    fields = []
    for field in schema:
        wanted = types.get(base[field.name])
        if wanted is None or family(wanted) != family(field.type) or wanted == pa.float32() != field.type:
            return None
        fields.append(pa.field(field.name, wanted))
    return pa.schema(fields)


def column_type(type: pa.DataType) -> str:
    """The type of a new column for values of an Arrow type."""
    import pyarrow as pa

    found = family(type)
    if found in TYPES:
        return TYPES[found]
    if found == "integer":
        return "smallint" if type.bit_width < 16 else {16: "smallint", 32: "integer"}.get(type.bit_width, "bigint")
    if isinstance(type, pa.Decimal128Type):
        return f"numeric({type.precision},{type.scale})"
    if found == "float":
        return "real" if type == pa.float32() else "double precision"
    return "interval"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(_name, names))


async def save(config: PostgresSave, table: Table, context: Context) -> Saved:
    return await save_into("postgres", config, table, context, write)


async def can_save(config: PostgresSave, context: Context) -> CanSave:
    def check(session: Any) -> str:
        name = session.dialect.relation(config.table).sql
        there, may, schema = session.rows(
            "SELECT to_regclass($1::text) IS NOT NULL,"
            " coalesce(has_table_privilege(to_regclass($1::text), 'INSERT'), false),"
            " coalesce(has_schema_privilege(coalesce($2::text, current_schema()), 'CREATE'), false)",
            (name, config.table.rpartition(".")[0].strip('"') or None),
        )[0]
        if there and not may:
            return f"This user may not insert into '{config.table}'."
        if not there and not schema:
            return f"There is no table '{config.table}', and this user may not make one."
        return ""

    return await can_save_into("postgres", config, context, check)


SAVE = SaveType("postgres", "A Postgres table", PostgresSave, ("append", "overwrite", "upsert"), save, can_save)
