"""Whether new rows fit the columns that a target already has, told before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...graphs.errors import Code, JackfieldError

if TYPE_CHECKING:
    import pyarrow as pa


def same_columns(new: Sequence[str], old: Sequence[str], target: str, known: Sequence[str] | None = None) -> None:
    """Raises SCHEMA_CHANGED when the names differ; their order may."""
    added = [name for name in new if name not in old]
    gone = [name for name in old if name not in new]
    if not added and not gone:
        return
    found = [f"has no column {', '.join(map(repr, added))}"] if added else []
    found += [f"also has {', '.join(map(repr, gone))}"] if gone else []
    raise JackfieldError(
        Code.SCHEMA_CHANGED,
        f"The rows do not fit '{target}': it {' and '.join(found)}.",
        "Give the rows the columns of the target, or save with mode 'overwrite'.",
        {"target": target, "added": added, "missing": gone, "available": list(known or old)},
    )


def fitting(
    new: pa.Schema, old: pa.Schema, target: str, known: Sequence[str] | None = None
) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """What turns batches of `new` into batches of `old`; errors tell of the columns `known`.

    Raises SCHEMA_CHANGED for other columns, TYPE_MISMATCH for a column of another kind; and so does the function, for a
    value that the narrower type of `old` cannot hold.
    """
    same_columns(new.names, old.names, target, known)
    for column in old:
        found = new.field(column.name).type
        if family(found) not in (family(column.type), "null") and family(column.type) != "null":
            raise mismatch(column.name, str(found), str(column.type), target)

    def fit(batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        arrays = []
        for column in old:
            try:
                arrays.append(batch.column(column.name).cast(column.type))
            except pa.ArrowException as error:
                raise mismatch(column.name, str(error), str(column.type), target) from None
        return pa.RecordBatch.from_arrays(arrays, schema=old)

    return fit


def mismatch(column: str, found: str, expected: str, target: str) -> JackfieldError:
    return JackfieldError(
        Code.TYPE_MISMATCH,
        f"Column '{column}' of '{target}' is {expected}, and the rows bring {found}.",
        "Cast the column in the SQL, or save with mode 'overwrite'.",
        {"target": target, "column": column, "found": found, "expected": expected},
    )


def family(type: pa.DataType) -> str:
    """Types of one family hold the same kind of value."""
    import pyarrow as pa

    tests: dict[str, Callable[[Any], bool]] = {
        "null": pa.types.is_null,
        "boolean": pa.types.is_boolean,
        "integer": pa.types.is_integer,
        "decimal": pa.types.is_decimal,
        "float": pa.types.is_floating,
        "text": lambda t: pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t),
        "binary": lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t),
        "date": pa.types.is_date,
        "time": pa.types.is_time,
        "timestamp with zone": lambda t: pa.types.is_timestamp(t) and t.tz is not None,
        "timestamp": pa.types.is_timestamp,
    }
    return next((name for name, holds in tests.items() if holds(type)), str(type))
