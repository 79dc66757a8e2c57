"""What a database says of itself: the queries that ask for its tables, columns and keys, and what their rows mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from .found import Column

Engine = Literal["postgres", "mysql"]
MOST_ROWS: Final = 5_000
VIEWS: Final = frozenset(("v", "m", "VIEW", "SYSTEM VIEW"))

_PG_OWN: Final = "n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg@_%' ESCAPE '@'"
_MY_OWN: Final = "TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"

# Of Postgres its own catalogs: information_schema hides the keys of tables that one may only read.
QUERIES: Final[Mapping[Engine, Mapping[str, str]]] = {
    "postgres": {
        "tables": f"""SELECT n.nspname AS place, c.relname AS name, c.relkind AS kind, c.reltuples AS estimate
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition AND {_PG_OWN}
            ORDER BY 1, 2 LIMIT {MOST_ROWS}""",
        "columns": f"""SELECT n.nspname AS place, c.relname AS name, a.attname AS column_name,
            a.attnotnull AS required, t.typname AS type
            FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_type t ON t.oid = a.atttypid
            WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'v', 'm', 'p', 'f') AND {_PG_OWN}
            ORDER BY 1, 2, a.attnum LIMIT {MOST_ROWS}""",
        "keys": f"""SELECT n.nspname AS place, c.relname AS name, a.attname AS column_name, k.contype AS kind,
            r.relname AS other, o.attname AS other_column
            FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[1]
            LEFT JOIN pg_class r ON r.oid = k.confrelid
            LEFT JOIN pg_attribute o ON o.attrelid = k.confrelid AND o.attnum = k.confkey[1]
            WHERE k.contype IN ('p', 'f') AND k.conkey[2] IS NULL AND {_PG_OWN} LIMIT {MOST_ROWS}""",
        "enums": f"""SELECT t.typname AS type, e.enumlabel AS label FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid
            ORDER BY e.enumtypid, e.enumsortorder LIMIT {MOST_ROWS}""",
    },
    "mysql": {
        "tables": f"""SELECT TABLE_SCHEMA AS place, TABLE_NAME AS name, TABLE_TYPE AS kind, TABLE_ROWS AS estimate
            FROM information_schema.TABLES WHERE {_MY_OWN} ORDER BY 1, 2 LIMIT {MOST_ROWS}""",
        "columns": f"""SELECT TABLE_SCHEMA AS place, TABLE_NAME AS name, COLUMN_NAME AS column_name,
            IS_NULLABLE AS nullable, COLUMN_TYPE AS type
            FROM information_schema.COLUMNS WHERE {_MY_OWN} ORDER BY 1, 2, ORDINAL_POSITION LIMIT {MOST_ROWS}""",
        "keys": f"""SELECT TABLE_SCHEMA AS place, TABLE_NAME AS name, COLUMN_NAME AS column_name,
            CONSTRAINT_NAME AS constraint_name, REFERENCED_TABLE_NAME AS other, REFERENCED_COLUMN_NAME AS other_column
            FROM information_schema.KEY_COLUMN_USAGE WHERE {_MY_OWN} LIMIT {MOST_ROWS}""",
    },
}
_ENUM: Final = re.compile(r"enum\((.*)\)\Z", re.IGNORECASE | re.DOTALL)
_LABEL: Final = re.compile(r"'((?:[^']|'')*)'")


@dataclass(frozen=True, slots=True)
class TableFacts:
    """`estimate` is how many rows the database thinks there are; None where it does not say.

    `columns` hold what their types do not show: whether they may be null, what an enum may be, keys.
    """

    place: str
    name: str
    is_view: bool = False
    estimate: int | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)


def tables_of(engine: Engine, answers: Mapping[str, Iterable[Mapping[str, Any]]]) -> tuple[TableFacts, ...]:
    """The tables and views in the rows that `QUERIES` gave, by query."""
    keys = _keys(engine, answers.get("keys", ()))
    labels: dict[str, list[str]] = {}
    for row in answers.get("enums", ()):
        labels.setdefault(str(row["type"]), []).append(str(row["label"]))
    columns: dict[tuple[str, str], dict[str, Column]] = {}
    for row in answers.get("columns", ()):
        table, name, kind = (str(row["place"]), str(row["name"])), str(row["column_name"]), str(row["type"])
        is_key, refers = keys.get((*table, name), (False, None))
        required = bool(row["required"]) if engine == "postgres" else row["nullable"] == "NO"
        values = tuple(labels.get(kind, ())) if engine == "postgres" else _labels(kind)
        column = Column(name, "", not required and not is_key, is_key, values, native=kind, refers=refers)
        columns.setdefault(table, {})[name] = column
    return tuple(
        TableFacts(
            str(row["place"]),
            str(row["name"]),
            row["kind"] in VIEWS,
            _estimate(row["estimate"]),
            columns.get((str(row["place"]), str(row["name"])), {}),
        )
        for row in answers.get("tables", ())
    )


def _estimate(value: Any) -> int | None:
    """Postgres says -1 of a table that was never looked at."""
    return None if value is None or value < 0 else int(value)


Key = tuple[bool, tuple[str, str] | None]


def _keys(engine: Engine, rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], Key]:
    """(whether it is the primary key, what it refers to) of each column that is a key by itself."""
    found: dict[tuple[str, str, str], Key] = {}
    by_constraint: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for number, row in enumerate(rows):
        one = str(row["constraint_name"]) if engine == "mysql" else str(number)
        by_constraint.setdefault((str(row["place"]), str(row["name"]), one), []).append(row)
    for (place, name, constraint), parts in by_constraint.items():
        if len(parts) > 1:
            continue  # of several columns: none alone names a row
        part = parts[0]
        column = (place, name, str(part["column_name"]))
        is_key, refers = found.get(column, (False, None))
        if part["other"] is not None and part["other_column"] is not None:
            refers = (str(part["other"]), str(part["other_column"]))
        elif (part["kind"] == "p") if engine == "postgres" else constraint == "PRIMARY":
            is_key = True
        found[column] = (is_key, refers)
    return found


def _labels(kind: str) -> tuple[str, ...]:
    """The values of a MySQL enum type, as it is written."""
    match = _ENUM.match(kind)
    return tuple(label.replace("''", "'") for label in _LABEL.findall(match[1])) if match else ()
