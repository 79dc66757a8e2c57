"""Nested Arrow columns to plain tables: objects to `a_b` columns, arrays of objects to child tables.

A child table is named by its path (`items`, `items_parts`) and joins by `_parent_id`: the parent's `id` where the
parent has such a column, else its row number, which the parent then shows as `_row`. `_index` is the place in the
array, from 0. Arrays of plain values stay list columns, for `unnest` and `list_contains`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ..graphs.errors import Code, JackfieldError
from .conversions import Column

if TYPE_CHECKING:
    import pyarrow as pa

MAX_DEPTH: Final = 5  # objects within objects that become columns; what is deeper becomes JSON text
MAX_COLUMNS: Final = 4_000  # as of a CSV file; work on columns is not all linear, and nobody reads so many
MAX_SPARSE: Final = 10_000_000  # values, most of them null
MAX_NAME: Final = 63  # bytes: what Postgres takes
PARENT: Final = "_parent_id"
INDEX: Final = "_index"
ROW: Final = "_row"


def column_name(*path: str) -> str:
    """The column for a path of keys: joined by `_`; if that is too long, cut, with a hash of the whole at its end."""
    name = "_".join(path) or "_"
    encoded = name.encode()
    if len(encoded) <= MAX_NAME:
        return name
    return encoded[: MAX_NAME - 9].decode(errors="ignore") + "_" + hashlib.sha256(encoded).hexdigest()[:8]


def child_name(path: str, array: str) -> str:
    """The name of a child table: the path of arrays that lead to it."""
    return column_name(*filter(None, (path, array)))


@dataclass(slots=True)
class Flat:
    """`rows` and the child tables that were asked for and that some record has, and the parent of each child."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)


def check_size(columns: int, rows: int, size: int) -> None:
    """Raises BUDGET_EXCEEDED for too many columns, or for rows that have few of their columns and are too many.

    `size` is the bytes of JSON that the rows came in. Where each record has each key, a value takes several of them;
    records that have few keys in common would fill memory with nulls.
    """
    if columns > MAX_COLUMNS:
        raise _too_wide(f"would make {columns:,} columns, and {MAX_COLUMNS:,} are the most")
    if columns * rows > max(MAX_SPARSE, size):
        raise _too_wide(f"are {rows:,} of {columns:,} different keys, of which each has but a few")


def _too_wide(found: str) -> JackfieldError:
    return JackfieldError(
        Code.BUDGET_EXCEEDED,
        f"The records {found}.",
        "Keys that are values (ids, dates) make a column each: let data_path turn them into rows, or nest them.",
    )


def flatten(nested: pa.Table, children: Collection[str]) -> Flat:
    """`nested` as plain tables: `rows`, and those of `children` that are there. Raises BUDGET_EXCEEDED."""
    flat = Flat()
    _flatten(nested, "", "rows", [], frozenset(children), flat)
    return flat


def _flatten(
    nested: pa.Table,
    path: str,
    name: str,
    lead: Sequence[tuple[str, Column]],
    children: frozenset[str],
    flat: Flat,
) -> None:
    import pyarrow as pa

    columns: dict[str, Column] = dict(lead)
    taken = {each.lower(): 1 for each in columns}
    arrays: list[tuple[str, Column]] = []
    for keys, column in _leaves(nested):
        if _is_array_of_objects(column.type):
            arrays.append((column_name(*keys), column.combine_chunks()))
            continue
        free = _free_name(column_name(*keys), taken)
        columns[free] = column
        check_size(len(columns), 0, 0)
    wanted = [(child_name(path, array), values) for array, values in arrays]
    wanted = [(child, values) for child, values in wanted if any(_leads_to(child, each) for each in children)]
    if wanted:
        identity = columns.get("id")
        if identity is None or pa.types.is_nested(identity.type):
            identity = columns[_free_name(ROW, taken)] = pa.array(range(nested.num_rows), pa.int64())
        for child, values in wanted:
            records, parents, places = _unrolled(values)
            lead = [(PARENT, _combined(identity).take(parents)), (INDEX, places)]
            flat.parents[child] = name
            _flatten(records, child, child, lead, children, flat)
    if name == "rows" or name in children:
        if not columns and nested.num_rows:  # a table without columns has no rows in SQL
            columns[ROW] = pa.array(range(nested.num_rows), pa.int64())
        flat.tables[name] = pa.table(columns)


def _leaves(table: pa.Table) -> Iterator[tuple[tuple[str, ...], Column]]:
    """Each column that is no object, with its path of keys, in the order of the records."""
    for name in table.column_names:
        yield from _within((name,), table[name])


def _within(keys: tuple[str, ...], column: Column) -> Iterator[tuple[tuple[str, ...], Column]]:
    import pyarrow as pa
    from pyarrow import types

    if not types.is_struct(column.type) or column.type.num_fields == 0:
        yield keys, _of_text(column) if column.type == pa.list_(pa.null()) else column
        return
    for inner, values in zip(column.type, column.flatten(), strict=True):
        yield from _within((*keys, inner.name), values)


def _of_text(lists: Column) -> Column:
    """Lists that hold nothing, as lists of text, as `unify` has it."""
    import pyarrow as pa

    return pa.chunked_array([pa.array(lists.to_pylist(), pa.list_(pa.string()))])


def _is_array_of_objects(found: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_list(found) and types.is_struct(found.value_type))


def _unrolled(arrays: Column) -> tuple[pa.Table, Column, Column]:
    """The objects of a list column as rows, with the row of the parent and the place in its array of each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parents: Column = pc.list_parent_indices(arrays)
    objects = arrays.flatten()
    counted: Column = pc.list_value_length(arrays)
    lengths: Column = pc.fill_null(counted, 0)
    starts: Column = pc.subtract(pc.cumulative_sum(lengths), lengths).cast(pa.int64())
    places: Column = pc.subtract(pa.array(range(len(objects)), pa.int64()), starts.take(parents))
    if objects.null_count:
        there = objects.is_valid()
        objects, parents, places = objects.filter(there), parents.filter(there), places.filter(there)
    fields = objects.flatten()
    if not fields:
        return pa.table({}).slice(0), parents, places
    return pa.table(fields, names=[inner.name for inner in objects.type]), parents, places


def _combined(column: Column) -> Column:
    import pyarrow as pa

    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _free_name(name: str, taken: dict[str, int]) -> str:
    """SQL does not tell `ID` from `id`: the second becomes `ID_2`. `taken` counts what each name was asked for."""
    free, low = name, name.lower()
    while free.lower() in taken:
        taken[low] = taken.get(low, 1) + 1
        free = column_name(f"{name}_{taken[low]}")
    taken[free.lower()] = 1
    return free


def _leads_to(child: str, wanted: str) -> bool:
    return wanted == child or wanted.startswith(f"{child}_")
