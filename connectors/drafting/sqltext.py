"""SQL as the drafted tools are written in: names quoted where they must be, by the dialect of what runs it."""

from __future__ import annotations

import re
from typing import Final, Literal

from ...nodes.sqltext.reserved import RESERVED
from ..discovery.found import Column, Found

Dialect = Literal["duckdb", "postgres", "mysql"]
PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
# Of Postgres and MySQL together: quoting one too many does no harm.
_MORE: Final = """
add after alter before between bigint call cascade change char character comment condition convert count cube
current_date current_time current_timestamp current_user database databases date day day_hour dec decimal delete
dense_rank describe double drop each escape exists explain false first_value float force freeze fulltext
function generated get grant groups high_priority if ignore index insert int integer interval is isnull iterate
json_table key keys kill lag last_value lead leave lines load lock long loop match mod natural new no not ntile
null numeric nth_value of old option out over overlaps partition percent_rank position precision procedure purge
range rank read real recursive regexp rename repeat replace require restrict return revoke rlike row row_number
rows schema schemas separator session_user set signal smallint sql ssl starting stored system tablespace
terminated time timestamp tinyint trigger true type unlock unsigned update usage use user using utc_date value
values varchar varying virtual while write xor year zerofill
"""
QUOTED: Final = RESERVED | frozenset(_MORE.split())
# What a database compares with a bound value as it is, by Postgres' own names.
COMPARABLE: Final = frozenset(
    (
        *("int2", "int4", "int8", "numeric", "float4", "float8", "bool", "text", "varchar", "bpchar", "name"),
        *("date", "timestamp", "timestamptz"),
    )
)
PARAMETER_TYPES: Final = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "date": "date",
    "datetime": "datetime",
    "timestamp": "datetime",
    "string": "string",
}


def quoted(name: str, dialect: Dialect) -> str:
    """`name` as SQL takes it for a column or table."""
    if PLAIN.fullmatch(name) and name not in QUOTED:
        return name
    mark = "`" if dialect == "mysql" else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def is_usable(name: str) -> bool:
    """Whether a column's name can stand in SQL that is checked for marks of templates and for parameters."""
    return name.isprintable() and not re.search(r"[{}%\"`':\\$]", name)


def dialect_of(found: Found) -> Dialect:
    """What runs a tool over this source alone: the database itself, where the source is a table of one."""
    kind = str(found.source.get("type"))
    if "table" not in found.source or kind not in ("postgres", "mysql"):
        return "duckdb"
    return "postgres" if kind == "postgres" else "mysql"


def relation(found: Found, dialect: Dialect) -> str:
    """What stands after FROM: the database's own table, or the source by its name."""
    if dialect == "duckdb":
        return quoted(found.table, dialect)
    return ".".join(quoted(part, dialect) for part in str(found.source["table"]).split("."))


def parameter_type(column: Column) -> str | None:
    """The type of a parameter that is compared with a column; None where it cannot be."""
    return "float" if column.type.startswith("decimal") else PARAMETER_TYPES.get(column.type)


def compared(column: Column, name: str, operator: str, dialect: Dialect, alias: str = "") -> str | None:
    """`column operator :name`, with the casts that a database needs; None where it has no such comparison."""
    left = f"{alias}.{quoted(column.name, dialect)}" if alias else quoted(column.name, dialect)
    if dialect == "postgres" and column.native and column.native not in COMPARABLE:
        if column.values:
            return f"CAST({left} AS text) {operator} :{name}"
        return f"{left} {operator} CAST(:{name} AS uuid)" if column.native == "uuid" else None
    if dialect == "duckdb" and column.type == "timestamp":
        return f"{left} {operator} CAST(:{name} AS TIMESTAMP)"
    return f"{left} {operator} :{name}"
