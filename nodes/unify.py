"""Python values of any mixture to one Arrow column that loses nothing: the careful way, for records that drift.

| values of one place | column |
|---|---|
| integers | int64; beyond it decimal of 38 digits; beyond that text |
| integers and fractions | float64 where each integer is exact in it, else text |
| only objects | struct, or JSON text where too deep or irregular |
| only lists | list of the column of all items; JSON text where lists of objects are within lists |
| anything else mixed | text: text as it is, the rest as JSON |
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from .conversions import Column, json_text
from .flatten import MAX_COLUMNS, MAX_DEPTH

if TYPE_CHECKING:
    import pyarrow as pa

MAX_REGULAR_KEYS: Final = 10  # an object with more keys than this, most of them absent, is a map and not a record
_EXACT_IN_DOUBLE: Final = 2**53
_LARGEST_DOUBLE: Final = Decimal("1.7976931348623157e308")


def column_of(values: Sequence[Any], exact: frozenset[str], name: str = "", depth: int = 0) -> Column:
    """`values` (None, bool, int, Decimal, str, list, dict) as one column; places in `exact` keep numbers as text."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {dict} and name not in exact:
        return _objects(values, exact, name, depth)
    if kinds == {list} and name not in exact:
        return _lists(values)
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds == {int}:
        return _integers(values)
    if kinds <= {int, Decimal} and name not in exact:
        return _numbers(values)
    return pa.array([None if value is None else json_text(value) for value in values], pa.string())


def is_irregular(keys: int, present: int, objects: int) -> bool:
    """Whether objects with `keys` different keys, `present` of them not null over all `objects`, are maps."""
    if keys > MAX_COLUMNS:
        return True
    return keys > MAX_REGULAR_KEYS and present * 2 < keys * objects


def _integers(values: Sequence[int | None]) -> Column:
    import pyarrow as pa

    widest = max(abs(value) for value in values if value is not None)
    if widest < 2**63:
        return pa.array(values, pa.int64())
    if widest < 10**38:
        return pa.array([None if value is None else Decimal(value) for value in values], pa.decimal128(38, 0))
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _numbers(values: Sequence[int | Decimal | None]) -> Column:
    import pyarrow as pa

    for value in values:
        if value is None:
            continue
        if isinstance(value, int) and abs(value) > _EXACT_IN_DOUBLE and int(float(value)) != value:
            break
        if Decimal(value).copy_abs() > _LARGEST_DOUBLE:  # abs() fails beyond the context's exponents
            break
    else:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _objects(values: Sequence[dict[str, Any] | None], exact: frozenset[str], name: str, depth: int) -> Column:
    import pyarrow as pa

    objects = [value for value in values if value is not None]
    keys = list(dict.fromkeys(key for value in objects for key in value))
    present = sum(each is not None for value in objects for each in value.values())
    if depth > MAX_DEPTH or is_irregular(len(keys), present, len(objects)) or not keys:
        return pa.array([None if value is None else json_text(value) for value in values], pa.string())
    place = f"{name}_" if name else ""
    columns = [
        column_of([None if value is None else value.get(key) for value in values], exact, place + key, depth + 1)
        for key in keys
    ]
    absent = pa.array([value is None for value in values])
    return pa.StructArray.from_arrays(columns, names=keys, mask=absent)


def _lists(values: Sequence[list[Any] | None]) -> Column:
    import pyarrow as pa

    items = [item for value in values if value is not None for item in value]
    column = column_of(items, frozenset())  # a child table is a table of its own: its depth counts anew
    if pa.types.is_null(column.type):
        column = pa.array(items, pa.string())  # Arrow itself errs with lists of its null type
    if _hides_objects(column.type):
        return pa.array([None if value is None else json_text(value) for value in values], pa.string())
    offsets: list[int | None] = []
    end = 0
    for value in values:
        offsets.append(None if value is None else end)
        end += len(value or ())
    return pa.ListArray.from_arrays(pa.array([*offsets, end], pa.int32()), column)


def _hides_objects(item: pa.DataType) -> bool:
    """Whether a list of `item` holds objects that no child table would show."""
    from pyarrow import types

    if types.is_list(item):
        return bool(types.is_struct(item.value_type) or _hides_objects(item.value_type))
    return False
