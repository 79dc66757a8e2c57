"""Columns of a table or query as a database describes them, and how each is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...graphs.errors import Code, JackfieldError


class TableChangedError(Exception):
    """The table is not as it was described. `error` is what the caller is told if it is so once more."""

    def __init__(self, error: JackfieldError) -> None:
        super().__init__(str(error))
        self.error = error


class Kind(StrEnum):
    """What a column's values are to a comparison. OPAQUE is never compared in the database."""

    BOOL = "bool"
    INT = "int"
    DECIMAL = "decimal"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    TEXT = "text"
    PADDED = "padded text"
    UUID = "uuid"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamp with zone"
    OPAQUE = "opaque"


@dataclass(frozen=True, slots=True)
class Column:
    """`select` is the SQL that gives the value in a form we read; `declared` the database's own name of the type.

    `digits` is (precision, scale) of a DECIMAL, None when the database sets no bound.
    `loose`: what the database takes for a match may be more than what matches here (collations, zero dates).
    `nan`: a DECIMAL that may hold NaN there, which is null here.
    `verbatim`: the value can be read too when SQL that is not ours selects it as it stands.
    `operand`: what a comparison is made with where it is not the column itself.
    """

    name: str
    kind: Kind
    declared: str
    select: str
    digits: tuple[int, int] | None = None
    loose: bool = False
    nan: bool = False
    verbatim: bool = True
    operand: str = ""


def find(columns: Iterable[Column], name: str) -> Column | None:
    """The column of that name, in any case of letters; None when there is none, or several."""
    matches = [column for column in columns if column.name.lower() == name.lower()]
    return matches[0] if len(matches) == 1 else None


def chosen(columns: Sequence[Column], names: Sequence[str] | None) -> tuple[Column, ...]:
    """The columns to ask for: those named, in their own order, or all. Never none, since rows have to be counted.

    A name that several columns share gives them all.
    """
    if names is None:
        return tuple(columns)
    wanted = {name.lower() for name in names}
    some = tuple(column for column in columns if column.name.lower() in wanted)
    return some or tuple(sorted(columns, key=lambda column: column.kind is Kind.OPAQUE)[:1])


def arrived(asked: Sequence[Column], found: Sequence[Column], plain: Callable[[str], str]) -> tuple[Column, ...]:
    """The columns of a result: those asked for as they are by what has come now, the others as they were asked for.

    Raises TableChangedError when they are not those that were asked for: the table is not as it was described.
    """
    if not asked:
        return tuple(found)
    same = len(asked) == len(found) and all(
        was.name == now.name and (was.select != plain(was.name) or now.verbatim)
        for was, now in zip(asked, found, strict=True)
    )
    if not same:
        raise TableChangedError(
            JackfieldError(
                Code.SCHEMA_CHANGED,
                "The columns of the result changed while it was read.",
                "Try again.",
                {"expected": [column.name for column in asked], "found": [column.name for column in found]},
            )
        )
    return tuple(
        now if was.select == plain(was.name) or was.declared == now.declared else was
        for was, now in zip(asked, found, strict=True)
    )


def missing_table(table: str, available: Sequence[str], place: str) -> JackfieldError:
    near = difflib.get_close_matches(table, available, 3) or difflib.get_close_matches(
        table.rpartition(".")[2], available, 3
    )
    if near:
        hint = f"Did you mean {' or '.join(repr(name) for name in near)}?"
    elif available:
        hint = f"There are {', '.join(repr(name) for name in available[:10])}{' …' if len(available) > 10 else ''}."
    else:
        hint = "This user sees no tables there: is it the right database, and may the user read it?"
    return JackfieldError(
        Code.SCHEMA_NOT_FOUND,
        f"The {place} has no table '{table}' that this user may read.",
        hint,
        {"table": table, "available": list(available[:50])},
    )


def ambiguous(columns: Sequence[Column]) -> JackfieldError:
    names = [column.name for column in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    return JackfieldError(
        Code.QUERY_INVALID,
        f"The query gives several columns named {', '.join(repr(name) for name in twice)}.",
        "Give each a name of its own with AS.",
        {"columns": twice},
    )
