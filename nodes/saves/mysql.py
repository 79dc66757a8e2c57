"""The `mysql` save: rows into a MySQL or MariaDB table, in one transaction.

DDL ends a transaction here. So a table that is not there is made first, empty; and a table that is overwritten with
other columns is made beside the old one, which it replaces in one rename.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...graphs.errors import Code, JackfieldError
from ..base import Context
from ..databases.mysql_types import literal, quoted
from ..table import Table
from .base import CanSave, Saved, SaveType
from .fit import family, same_columns
from .intodatabase import FRESH, SAVES_TABLE, DatabaseJob, DatabaseSave, can_save_into, check_types, plain, save_into
from .staging import no_key, repeated_key

if TYPE_CHECKING:
    import pyarrow as pa

    from ..databases.mysql import MySQLSession

    Job = DatabaseJob[MySQLSession]

PACKET: Final = 1_000_000  # characters of one INSERT: below every server's default for a packet
NUMBERS: Final = frozenset({"integer", "decimal", "float", "boolean"})
TIMES: Final = frozenset({"timestamp", "timestamp with zone", "date"})
ACCEPTED: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint"), frozenset({"integer", "boolean"})),
    **dict.fromkeys(("decimal", "float", "double"), NUMBERS),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), frozenset({"text"})),
    **dict.fromkeys(("enum", "set", "json", "uuid", "inet6", "inet4"), frozenset({"text"})),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), frozenset({"binary"})),
    "date": frozenset({"date"}),
    **dict.fromkeys(("datetime", "timestamp"), TIMES),
    "time": frozenset({"time", "text"}),
    **dict.fromkeys(("year", "bit"), frozenset({"integer"})),
}
TYPES: Final[Mapping[str, str]] = {
    "boolean": "tinyint(1)",
    "text": "longtext",
    "binary": "longblob",
    "date": "date",
    "time": "time(6)",
    "timestamp": "datetime(6)",
    "timestamp with zone": "datetime(6)",
}


class MySQLSave(DatabaseSave):
    """A table of a MySQL or MariaDB database. Times with a zone are kept in UTC."""


def write(job: Job) -> int | None:
    if not job.idempotency_key:
        return _write(job)
    # Two saves with one key: the second waits for the first, and then finds its record.
    lock = literal(
        "jackfield:" + hashlib.sha256(f"{job.idempotency_key}\0{job.config.table}".encode()).hexdigest()[:50]
    )
    if job.session.rows(f"SELECT GET_LOCK({lock}, {int(job.config.timeout_s)})")[0][0] != 1:
        raise JackfieldError(
            Code.OVERLOADED,
            f"Another save into '{job.config.table}' with the same idempotency key is still under way.",
            "Try again when it is done.",
        )
    try:
        return _write(job)
    finally:
        job.session.tidy(f"DO RELEASE_LOCK({lock})")


def _write(job: Job) -> int | None:
    session = job.session
    name = session.dialect.relation(job.config.table).sql
    _make_records(job)
    target, replaces = _target(job, name)
    session.run("START TRANSACTION")
    try:
        repeated = _recorded(job)
        if repeated is None:
            _change(job, target)
            if replaces:
                session.run(f"RENAME TABLE {name} TO {_beside(name, 'old')}, {target} TO {name}")
                session.run(f"DROP TABLE {_beside(name, 'old')}")
            if job.idempotency_key:
                key, table = literal(job.idempotency_key), literal(job.config.table)
                session.run(
                    f"REPLACE INTO {_records(name)} (`key`, target, `rows`) VALUES ({key}, {table}, {job.rows.count})"
                )
        job.committing = True
        session.run("COMMIT")
    except BaseException:
        session.rollback()
        raise
    finally:
        if replaces:
            session.tidy(f"DROP TABLE IF EXISTS {target}")
        session.tidy(f"DROP TEMPORARY TABLE IF EXISTS {quoted(FRESH)}")
    return repeated


def _target(job: Job, name: str) -> tuple[str, bool]:
    """The table to write into, made if need be, and whether it is to replace the one that is there."""
    session, config = job.session, job.config
    schema, _ = plain(job.rows.schema)
    there = _columns(job, name)
    if there and config.mode == "overwrite" and not set(schema.names) <= there.keys():
        target = _beside(name, "new")
        session.run(f"DROP TABLE IF EXISTS {target}, {_beside(name, 'old')}")  # of a save that was killed
        _create(job, target, schema)
        return target, True
    if not there:
        _create(job, name, schema)
    return name, False


def _create(job: Job, name: str, schema: pa.Schema) -> None:
    key = job.config.key if job.config.mode == "upsert" else ()
    columns = [f"{quoted(f.name)} {column_type(f.type, in_key=f.name in key)}" for f in schema]
    if key:
        columns.append(f"PRIMARY KEY ({_listed(key)})")
    job.session.run(f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(columns)}) DEFAULT CHARSET utf8mb4")


def _change(job: Job, target: str) -> None:
    session, config = job.session, job.config
    schema, change = plain(job.rows.schema)
    there = _columns(job, target)
    same_columns(schema.names, [name for name in there if name in schema.names], config.table, list(there))
    _check_engine(job, target)
    check_types(
        job.rows.schema, schema, {name: ACCEPTED.get(there[name]) for name in schema.names}, there, config.table
    )
    rows = job.rows.changed(change)
    if config.mode == "overwrite":
        session.run(f"DELETE FROM {target}")
    if config.mode != "upsert":
        _insert(job, target, schema, rows)
        return
    key, listed, fresh = config.key, _listed(schema.names), quoted(FRESH)
    columns = ", ".join(f"{quoted(f.name)} {column_type(f.type, in_key=f.name in key)}" for f in schema)
    session.run(f"CREATE TEMPORARY TABLE {fresh} ({columns}, KEY ({_listed(key)})) DEFAULT CHARSET utf8mb4")
    _insert(job, fresh, schema, rows)
    _check_keys(job)
    insert = f"INSERT INTO {target} ({listed}) SELECT {listed} FROM {fresh}"
    if _unique_over(job, target):
        others = [quoted(name) for name in schema.names if name not in key] or [quoted(key[0])]
        session.run(f"{insert} ON DUPLICATE KEY UPDATE {', '.join(f'{name} = VALUES({name})' for name in others)}")
    else:
        same = " AND ".join(f"t.{quoted(name)} = f.{quoted(name)}" for name in key)
        session.run(f"DELETE t FROM {target} t JOIN {fresh} f ON {same}")
        session.run(insert)


def _insert(job: Job, target: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
    """Many rows to a statement, each value a literal of its own type."""
    begin = f"INSERT INTO {target} ({_listed(schema.names)}) VALUES "
    parts: list[str] = []
    size = 0
    for batch in batches:
        columns = [_literals(column) for column in batch.columns]
        for row in zip(*columns, strict=True):
            parts.append(f"({','.join(row)})")
            size += len(parts[-1])
            if size > PACKET:
                job.session.run(begin + ",".join(parts))
                parts, size = [], 0
    if parts:
        job.session.run(begin + ",".join(parts))


def _literals(column: pa.Array[Any]) -> list[str]:
    import pyarrow as pa

    found = family(column.type)
    if found in ("integer", "decimal"):
        return ["NULL" if text is None else text for text in column.cast(pa.string()).to_pylist()]
    if found in ("date", "time", "timestamp", "timestamp with zone"):
        texts = _naive(column).cast(pa.string()).to_pylist()
        return ["NULL" if text is None else f"'{text.removesuffix('Z')}'" for text in texts]
    if found == "binary":
        return ["NULL" if value is None else f"0x{value.hex()}" if value else "''" for value in column.to_pylist()]
    if found == "float":
        return ["NULL" if value is None else _float(value) for value in column.to_pylist()]
    if found in ("text", "boolean", "null"):
        return ["NULL" if value is None else literal(value) for value in column.to_pylist()]
    return ["NULL" if value is None else literal(str(value)) for value in column.to_pylist()]


def _naive(column: Any) -> Any:
    import pyarrow as pa

    zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
    return column.cast(pa.timestamp("us")) if zoned else column


def _float(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        raise JackfieldError(
            Code.TYPE_MISMATCH,
            f"The rows hold the number {value}, which MySQL cannot keep.",
            "Turn it into null in the SQL, with nullif or CASE.",
        )
    return literal(value)


def _check_keys(job: Job) -> None:
    key, fresh = job.config.key, quoted(FRESH)
    absent = " OR ".join(f"{quoted(name)} IS NULL" for name in key)
    empty = int(job.session.rows(f"SELECT count(*) FROM {fresh} WHERE {absent}")[0][0])
    if empty:
        raise no_key(empty, ", ".join(key))
    listed = _listed(key)
    if twice := job.session.rows(f"SELECT {listed} FROM {fresh} GROUP BY {listed} HAVING count(*) > 1 LIMIT 3"):
        raise repeated_key(twice, ", ".join(key))


def _columns(job: Job, name: str) -> dict[str, str]:
    """Column → the word of its type; empty when there is no such table."""
    found = job.session.rows(
        f"SELECT column_name, data_type FROM information_schema.columns WHERE {_named(name)} ORDER BY ordinal_position"
    )
    return {str(column): str(word).lower() for column, word in found}


def _check_engine(job: Job, name: str) -> None:
    found = job.session.rows(f"SELECT engine FROM information_schema.tables WHERE {_named(name)}")
    if found and str(found[0][0]).lower() in ("myisam", "aria", "memory", "csv"):
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"The table '{job.config.table}' is of engine {found[0][0]}, which has no transactions.",
            "Change it to InnoDB: a save is whole or not at all.",
        )


def _unique_over(job: Job, name: str) -> bool:
    found = job.session.rows(
        "SELECT index_name, column_name, sub_part FROM information_schema.statistics"
        f" WHERE {_named(name)} AND non_unique = 0"
    )
    indexes: dict[str, set[str]] = {}
    for index, column, part in found:
        indexes.setdefault(str(index), set()).add(str(column).lower() if part is None else "")
    return {name.lower() for name in job.config.key} in indexes.values()


def _make_records(job: Job) -> None:
    if job.idempotency_key:
        records = _records(job.session.dialect.relation(job.config.table).sql)
        job.session.run(
            f"CREATE TABLE IF NOT EXISTS {records} (`key` varbinary(255), target varchar(255) CHARSET utf8mb4,"
            " `rows` bigint, saved_at timestamp DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY (`key`, target)) ENGINE=InnoDB"
        )


def _recorded(job: Job) -> int | None:
    """The rows saved under the idempotency key before."""
    if not job.idempotency_key:
        return None
    records = _records(job.session.dialect.relation(job.config.table).sql)
    key, table = literal(job.idempotency_key), literal(job.config.table)
    found = job.session.rows(f"SELECT `rows` FROM {records} WHERE `key` = {key} AND target = {table}")
    return int(found[0][0]) if found else None


def _named(name: str) -> str:
    """The condition by which the information schema knows a quoted name."""
    schema, table = _parts(name)
    return f"table_schema = {literal(schema) if schema else 'DATABASE()'} AND table_name = {literal(table)}"


def _parts(name: str) -> tuple[str, str]:
    parts = [part.replace("``", "`") for part in re.findall(r"`((?:[^`]|``)+)`", name)]
    return ("", parts[0]) if len(parts) == 1 else (parts[-2], parts[-1])


def _beside(name: str, word: str) -> str:
    schema, table = _parts(name)
    beside = quoted(f"_jackfield_{word}_{table}"[:64])
    return f"{quoted(schema)}.{beside}" if schema else beside


def _records(name: str) -> str:
    schema, _ = _parts(name)
    return f"{quoted(schema)}.{quoted(SAVES_TABLE)}" if schema else quoted(SAVES_TABLE)


def column_type(type: pa.DataType, *, in_key: bool = False) -> str:
    """The type of a new column for values of an Arrow type; text in a key is limited, as an index needs it."""
    import pyarrow as pa

    found = family(type)
    if in_key and found in ("text", "null", "binary"):
        return "varbinary(255)" if found == "binary" else "varchar(255) COLLATE utf8mb4_bin"
    if found in TYPES:
        return TYPES[found]
    if found == "integer":
        sized = {8: "smallint", 16: "smallint", 32: "int"}.get(type.bit_width, "bigint")
        return {"smallint": "int", "int": "bigint"}.get(sized, sized) if str(type).startswith("uint") else sized
    if isinstance(type, pa.Decimal128Type):
        return f"decimal({type.precision},{min(type.scale, 30)})"
    if found == "float":
        return "double"
    return "longtext"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


async def save(config: MySQLSave, table: Table, context: Context) -> Saved:
    return await save_into("mysql", config, table, context, write)


async def can_save(config: MySQLSave, context: Context) -> CanSave:
    def check(session: Any) -> str:
        name = session.dialect.relation(config.table).sql
        found = session.rows(f"SELECT engine FROM information_schema.tables WHERE {_named(name)}")
        grants = " ".join(str(row[0]) for row in session.rows("SHOW GRANTS")).upper()
        needed = "INSERT" if found else "CREATE"
        if needed not in grants and "ALL PRIVILEGES" not in grants:
            return f"This user has no {needed} privilege for '{config.table}'."
        return ""

    return await can_save_into("mysql", config, context, check)


SAVE = SaveType("mysql", "A MySQL or MariaDB table", MySQLSave, ("append", "overwrite", "upsert"), save, can_save)
