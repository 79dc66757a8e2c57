"""The unlocked DuckDB that reads and writes files. It never sees a statement that a user or an author wrote."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..scan import Predicate, Scan
from .names import quoted

if TYPE_CHECKING:
    import duckdb


def scratch(memory: str = "256MB", spill: str = "") -> duckdb.DuckDBPyConnection:
    """A database in memory, of its own; it spills into the folder `spill`. The caller closes it."""
    import tempfile

    import duckdb

    connection = duckdb.connect(
        ":memory:",
        config={
            "threads": 2,
            "memory_limit": memory,
            "temp_directory": spill or tempfile.gettempdir(),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def literal(value: Any) -> str:
    """`value` as SQL text. Raises TypeError for what has no exact literal."""
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return f"CAST('{value!r}' AS DOUBLE)"
        case Decimal() if value.is_finite():
            return f"{value:f}"
        case str() if "\x00" not in value:
            return "'" + value.replace("'", "''") + "'"
        case dt.datetime() if value.tzinfo is not None:
            return f"TIMESTAMPTZ '{value.isoformat()}'"
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat()}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case list() | tuple():
            return "[" + ", ".join(literal(item) for item in value) + "]"
    raise TypeError(f"no literal for {type(value).__name__}")


def options(values: Mapping[str, Any]) -> str:
    """`, key=value` for each option that is not None."""
    return "".join(f", {key}={literal(value)}" for key, value in values.items() if value is not None)


def select(source: str, types: Mapping[str, str], scan: Scan) -> str:
    """The query that gives of `source`, whose columns have `types`, what `scan` asks for.

    Columns that the source has not are left out, predicates whose value is of another family than the column are
    dropped (the whole SQL runs again later), and the limit with them.
    """
    known = {column.lower(): column for column in types}
    columns = list(types) if scan.columns is None else [known[c.lower()] for c in scan.columns if c.lower() in known]
    conditions = [condition(p, known, types) for p in scan.predicates]
    kept = [text for text in conditions if text is not None]
    listed = ", ".join(quoted(column) for column in dict.fromkeys(columns)) or ", ".join(
        quoted(c) for c in list(types)[:1]
    )
    where = f" WHERE {' AND '.join(kept)}" if kept else ""
    limit = f" LIMIT {scan.limit}" if scan.limit is not None and len(kept) == len(conditions) else ""
    return f"SELECT {listed} FROM {source}{where}{limit}"


def condition(predicate: Predicate, known: Mapping[str, str], types: Mapping[str, str]) -> str | None:
    column = known.get(predicate.column.lower())
    if column is None:
        return None
    values: Sequence[Any] = predicate.value if isinstance(predicate.value, tuple) else (predicate.value,)
    if not values or not all(comparable(types[column], value) for value in values):
        return None
    try:
        texts = [literal(value) for value in values]
    except TypeError:
        return None
    if predicate.operator == "in":
        return f"{quoted(column)} IN ({', '.join(texts)})"
    return f"{quoted(column)} {predicate.operator} {texts[0]}"


def comparable(type: str, value: Any) -> bool:
    """Whether comparing means the same here as in the SQL of the tool, whatever casts that one adds."""
    base = type.split("(")[0].upper()
    match value:
        case bool():
            return base == "BOOLEAN"
        case int():
            return base.removeprefix("U") in {
                "TINYINT",
                "SMALLINT",
                "INTEGER",
                "BIGINT",
                "HUGEINT",
                "DECIMAL",
                "DOUBLE",
            }
        case float():
            return base == "DOUBLE"
        case Decimal():
            return base == "DECIMAL"
        case str():
            return base == "VARCHAR"
        case dt.datetime() if value.tzinfo is not None:
            return base == "TIMESTAMP WITH TIME ZONE"
        case dt.datetime():
            return base == "TIMESTAMP"
        case dt.date():
            return base == "DATE"
    return False
