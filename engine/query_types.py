"""What a result's types become in Arrow, so that every reader of a result gets types it knows.

Sums of integers are HUGEINT to DuckDB and arrive as decimals; they are given as int64 where they fit. Types that
Arrow has no word for (BIT, BIGNUM, UNION, VARIANT, a time with a zone) are given as text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ..graphs.errors import Code, JackfieldError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

AS_TEXT: Final = frozenset({"bit", "bignum", "union", "variant", "time with time zone", "geometry"})
WIDE: Final = frozenset({"hugeint", "uhugeint"})


def readable(relation: duckdb.DuckDBPyRelation) -> tuple[duckdb.DuckDBPyRelation, tuple[int, ...]]:
    """The relation with text for what Arrow has no word for, and the places of its wide integers."""
    kinds = [kind.id for kind in relation.types]
    if AS_TEXT.isdisjoint(kinds):
        return relation, wide_places(kinds)
    names = ['"' + name.replace('"', '""') + '"' for name in relation.columns]
    items = [
        f"CAST({name} AS VARCHAR) AS {name}" if kind in AS_TEXT else name
        for name, kind in zip(names, kinds, strict=True)
    ]
    return relation.project(", ".join(items)), wide_places(kinds)


def wide_places(kinds: Sequence[str]) -> tuple[int, ...]:
    """Where integers are that may be wider than 64 bits."""
    return tuple([index for index, kind in enumerate(kinds) if kind in WIDE])


def narrowed(schema: pa.Schema, wide: Sequence[int]) -> pa.Schema:
    import pyarrow as pa

    for index in wide:
        schema = schema.set(index, schema.field(index).with_type(pa.int64()))
    return schema


def distinct(names: Sequence[str]) -> list[str]:
    """Names of which no two are the same: the second `a` becomes `a_2`."""
    given = set(names)
    found: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for name in names:
        unique = name
        while unique in found or (unique != name and unique in given):
            numbers[name] = numbers.get(name, 1) + 1
            unique = f"{name}_{numbers[name]}"
        found[unique] = None
    return list(found)


def fitting(table: pa.Table, wide: Sequence[int]) -> pa.Table:
    """Whole columns as int64 where all their values fit; else exact decimals."""
    import pyarrow as pa

    for index in wide:
        column = table.column(index)
        try:
            table = table.set_column(index, table.field(index).with_type(pa.int64()), column.cast(pa.int64()))
        except pa.ArrowInvalid:
            continue
    return table


def strict(schema: pa.Schema, wide: Sequence[int]) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A stream's type must be known before its values: a value that does not fit int64 is an error there."""
    import pyarrow as pa

    def narrow(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = list(batch.columns)
        for index in wide:
            try:
                columns[index] = columns[index].cast(pa.int64())
            except pa.ArrowInvalid:
                name = schema.field(index).name
                raise JackfieldError(
                    Code.TYPE_MISMATCH,
                    f"Column '{name}' has an integer beyond 64 bits.",
                    f"Write `{name}::DECIMAL(38, 0)`.",
                    {"column": name},
                ) from None
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return narrow
