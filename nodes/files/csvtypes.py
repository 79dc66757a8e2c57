"""Which type each column of a CSV has, found in its texts: only a type that gives every text back is taken.

So numbers with leading zeros, single letters, and dates in other forms than ISO stay text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from . import duck
from .names import quoted

if TYPE_CHECKING:
    import duckdb

SAMPLE_ROWS: Final = 20_000
MANY_ROWS: Final = 200_000  # looked at where a file is too large to look at all of it
WHOLE: Final = r"-?(0|[1-9][0-9]{0,17})"
SHORT: Final = r"-?(0|[1-9][0-9]{0,14})"  # what a double holds exactly
REAL: Final = SHORT + "|" + SHORT + r"?\.[0-9]+([eE][-+]?[0-9]{1,3})?|" + SHORT + r"[eE][-+][0-9]{1,3}"
MOMENT: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?"
ZONE: Final = r"(Z|[-+][0-9]{2}(:?[0-9]{2})?)"
TYPES: Final = ("BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMPTZ")  # in order of preference


def fits(text: str, kind: str) -> str:
    """The condition that the expression `text` is a value of `kind`, and nothing of it would be lost."""
    match kind:
        case "BIGINT":
            return f"regexp_full_match({text}, '{WHOLE}')"
        case "DOUBLE":
            return f"regexp_full_match({text}, '{REAL}')"
        case "BOOLEAN":
            return f"lower({text}) IN ('true', 'false')"
        case "DATE":
            return f"TRY_CAST({text} AS DATE)::VARCHAR IS NOT DISTINCT FROM {text}"
        case "TIMESTAMP":
            return f"(regexp_full_match({text}, '{MOMENT}') AND TRY_CAST({text} AS TIMESTAMP) IS NOT NULL)"
        case "TIMESTAMPTZ":
            return f"(regexp_full_match({text}, '{MOMENT}{ZONE}') AND TRY_CAST({text} AS TIMESTAMPTZ) IS NOT NULL)"
    return "true"


def found(
    connection: duckdb.DuckDBPyConnection, texts: str, columns: Sequence[str], *, all_rows: bool
) -> dict[str, str]:
    """The types of `columns` of the query `texts`: proposed by its first rows, and held against all where asked."""
    proposed = narrowest(connection, f"{texts} LIMIT {SAMPLE_ROWS}", dict.fromkeys(columns, TYPES))
    open_to = {column: (kind, "DOUBLE") if kind == "BIGINT" else (kind,) for column, kind in proposed.items()}
    settled = {column: kinds for column, kinds in open_to.items() if kinds != ("VARCHAR",)}
    if not settled:
        return proposed
    return proposed | narrowest(connection, texts if all_rows else f"{texts} LIMIT {MANY_ROWS}", settled)


def narrowest(connection: duckdb.DuckDBPyConnection, texts: str, among: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """For each column the first of its types that all its values are; a column without values is text."""
    asked = [(column, kind) for column, kinds in among.items() for kind in kinds]
    checks = []
    for column, kind in asked:
        text = quoted(column)
        checks.append(f"coalesce(bool_and({text} IS NULL OR {fits(text, kind)}) AND count({text}) > 0, false)")
    answers = connection.sql(f"SELECT {', '.join(checks)} FROM ({texts})").fetchall()[0]
    result = dict.fromkeys(among, "VARCHAR")
    for (column, kind), answer in reversed(list(zip(asked, answers, strict=True))):
        if answer:
            result[column] = kind
    return result


def guarded(column: str, kind: str) -> str:
    """The column in its type, for rows that nobody looked at before: a text that would lose something is an error."""
    text = quoted(column)
    if kind not in ("BIGINT", "DOUBLE"):
        return f"CAST({text} AS {kind}) AS {text}"
    doubt = f"regexp_matches({text}, '^[-+]?0[0-9]|^[+]|^[0-9]+[eE][0-9]|[a-df-zA-DF-Z]')"
    message = f"'Could not convert string \"' || {text} || '\" of column ' || {duck.literal(column)} || ' to {kind}'"
    return f"CASE WHEN {doubt} THEN error({message}) ELSE CAST({text} AS {kind}) END AS {text}"
