"""From what a driver gives to the Arrow types we promise: exact decimals, times within the calendar, no wrappers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from ...graphs.errors import Code, JackfieldError
from .columns import Column, Kind, TableChangedError

if TYPE_CHECKING:
    import pyarrow as pa

Array = Any  # pyarrow's stubs do not follow its compute functions
Step = Callable[[Array], Array]


class Reading:
    """How batches of one result are converted. `open` names the decimals whose digits are known only at the end."""

    def __init__(self, raw: pa.Schema, columns: Sequence[Column]) -> None:
        import pyarrow as pa

        types = [_target(field.type, column) for field, column in zip(raw, columns, strict=True)]
        self.schema = pa.schema([pa.field(c.name, t) for c, t in zip(columns, types, strict=True)])
        self.open = tuple(c.name for c in columns if c.kind is Kind.DECIMAL and c.digits is None)
        steps = [_step(f.type, t, c) for f, t, c in zip(raw, types, columns, strict=True)]
        self._steps = tuple((place, step) for place, step in enumerate(steps) if step is not None)

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Raises TYPE_MISMATCH when a value is not of its column's type."""
        arrays: list[Array] = batch.columns
        for place, step in self._steps:
            arrays[place] = step(arrays[place])
        return type(batch).from_arrays(arrays, schema=self.schema)


def _target(raw: pa.DataType, column: Column) -> pa.DataType:
    import pyarrow as pa

    if column.kind is Kind.DECIMAL and column.digits is not None:
        return pa.decimal128(*column.digits)
    if isinstance(raw, pa.BaseExtensionType):
        return raw.storage_type if not pa.types.is_fixed_size_binary(raw.storage_type) else pa.string()
    if pa.types.is_list(raw):
        return pa.list_(_target(raw.value_type, Column(column.name, Kind.OPAQUE, "", "")))
    return raw


def _step(raw: pa.DataType, target: pa.DataType, column: Column) -> Step | None:
    """What makes a column's array one of type `target`; None when it is that already."""
    import pyarrow as pa

    step: Step | None = None
    if column.kind is Kind.DECIMAL and column.digits is not None:
        step = partial(_decimals, target=target, column=column)
    elif column.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        step = _within_calendar
    elif (raw.storage_type if isinstance(raw, pa.BaseExtensionType) else raw) != target:
        step = methodcaller("cast", target)
    if not isinstance(raw, pa.BaseExtensionType):
        return step
    if step is None:
        return _storage
    bare = step
    return lambda array: bare(array.storage)


def _storage(array: Array) -> Array:
    return array.storage


def _decimals(array: Array, target: pa.DataType, column: Column) -> Array:
    """Text as decimals; NaN, which only Postgres' numeric has, becomes null."""
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute

    try:
        return _few_decimals(array, target) if len(array) <= FEW else array.cast(target)
    except pa.ArrowInvalid:
        pass
    try:
        return pc.if_else(_finite(array), array, None).cast(target)
    except pa.ArrowInvalid:
        raise TableChangedError(
            JackfieldError(
                Code.TYPE_MISMATCH,
                f"Column '{column.name}' holds a number that does not fit its type {column.declared}.",
                "Was the table changed? Try again.",
                {"column": column.name, "expected": column.declared},
            )
        ) from None


def _few_decimals(array: Array, target: pa.DataType) -> Array:
    import pyarrow as pa

    numbers = [None if text is None else Decimal(text) for text in array.to_pylist()]
    return pa.array([None if number is None or not number.is_finite() else number for number in numbers], target)


def _finite(array: Array) -> Any:
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute

    return pc.invert(
        pc.is_in(pc.utf8_lower(array), value_set=pa.array(["nan", "inf", "-inf", "infinity", "-infinity"]))
    )


def _within_calendar(array: Array) -> Array:
    """Times of the years 1 to 9999, others null: Postgres also has 'infinity', years before and far after."""
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute

    days = pa.types.is_date32(array.type)
    first, last = DAYS if days else MICROSECONDS
    if len(array) <= FEW:
        if all((number := each.value) is None or first <= number <= last for each in array):
            return array
        numbers = array.view(pa.int32() if days else pa.int64())
    else:
        numbers = array.view(pa.int32() if days else pa.int64())
        ends = pc.min_max(numbers)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        if low is None or (low >= first and high <= last):
            return array
    within = pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last))
    return pc.if_else(within, numbers, None).view(array.type)


FEW = 16  # of so few values a kernel of Arrow costs more than Python does
_EPOCH = date(1970, 1, 1)
DAYS = ((date(1, 1, 1) - _EPOCH).days, (date(9999, 12, 31) - _EPOCH).days)
_DAY = 86_400_000_000
MICROSECONDS = (DAYS[0] * _DAY, (DAYS[1] + 1) * _DAY - 1)


def whole(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_batches(list(batches), schema)


def fitted(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """`table` with text columns `names` as decimals of 38 digits and as many places as their values need.

    Text stays what has a value of more digits.
    """
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute

    for name in names:
        index = table.schema.get_field_index(name)
        text: Array = table.column(index)
        text = pc.if_else(_finite(text), text, None) if len(text) else text
        places = pc.if_else(
            pc.greater_equal(pc.find_substring(text, "."), 0),
            pc.subtract(pc.subtract(pc.utf8_length(text), pc.find_substring(text, ".")), 1),
            0,
        )
        scale = int(pc.max(places).as_py() or 0) if len(text) else 0
        try:
            whole = text.cast(pa.decimal128(38, scale)) if scale <= 38 else None
        except pa.ArrowInvalid:
            whole = None
        if whole is not None:
            table = table.set_column(index, pa.field(name, whole.type), whole)
    return table


def bound(values: Sequence[Any]) -> pa.RecordBatch | None:
    """Values to bind, one row; None when there are none."""
    import pyarrow as pa

    if not values:
        return None
    return pa.RecordBatch.from_arrays([_array(value) for value in values], names=[str(i) for i in range(len(values))])


def _array(value: Any) -> Array:
    import pyarrow as pa

    kind = type(value)
    if kind is int:
        return pa.array((value,), pa.int64())
    if kind is str:
        return pa.array((value,), pa.string())
    if isinstance(value, (list, tuple)):
        inner = pa.array(value)
        return pa.array([value], pa.list_(pa.string() if pa.types.is_null(inner.type) else inner.type))
    if value is None:
        return pa.array([None], pa.string())
    if isinstance(value, datetime) and value.tzinfo is not None:
        return pa.array([value.isoformat()])
    return pa.array([value])
