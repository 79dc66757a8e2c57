"""SQLite values as Arrow columns. A column's declared type is a wish there: any row may hold any kind of value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ...graphs.errors import Code, JackfieldError

if TYPE_CHECKING:
    import pyarrow as pa

WORDS: Final[Mapping[str, str]] = {
    "BOOL": "bool",
    "INT": "int64",
    "CHAR": "string",
    "CLOB": "string",
    "TEXT": "string",
    "BLOB": "binary",
    "REAL": "double",
    "FLOA": "double",
    "DOUB": "double",
    "TIMESTAMP": "timestamp[us]",
    "DATETIME": "timestamp[us]",
    "DATE": "date32[day]",
}


def arrow_name(declared: str) -> str:
    """The Arrow type that a declared SQLite type wishes for; empty when it wishes for none (`NUMERIC`)."""
    return next((arrow for word, arrow in WORDS.items() if word in declared), "")


def first_array(values: Sequence[Any], wish: str) -> pa.Array[Any]:
    """The column as its table wishes where the values allow it, else in the type that they have, else as text."""
    import pyarrow as pa

    zoned = ("timestamp[us, tz=UTC]",) if wish == "timestamp[us]" else ()
    if wish == "string" and not any(isinstance(value, bytes) for value in values):
        return texts(values)
    for kind in (wish, *zoned, ""):
        try:
            return converted(values, kind)
        except (pa.ArrowException, ValueError, TypeError, OverflowError):
            continue
    return texts(values)


def later_array(values: Sequence[Any], field: pa.Field[Any], file: str) -> pa.Array[Any]:
    """A later part of a column whose type the first part set. Raises TYPE_MISMATCH."""
    import pyarrow as pa

    try:
        if pa.types.is_string(field.type):
            return texts(values)
        return converted(values, str(field.type))
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        raise JackfieldError(
            Code.TYPE_MISMATCH,
            f"'{file}', column '{field.name}': its first rows are {field.type}, and later ones are not.",
            "Declare the column in the source's schema, as string for instance, or cast it in a 'query'.",
            {"path": file, "column": field.name, "expected": str(field.type)},
        ) from None


def converted(values: Sequence[Any], kind: str) -> pa.Array[Any]:
    import pyarrow as pa

    result: pa.Array[Any]
    match kind:
        case "":
            result = pa.array(values)
        case "bool":
            if any(value not in (0, 1, None) for value in values):
                raise ValueError
            result = pa.array([None if value is None else bool(value) for value in values], pa.bool_())
        case "date32[day]":
            result = pa.array(values, pa.string()).cast(pa.date32())
        case "timestamp[us]":
            result = pa.array(values, pa.string()).cast(pa.timestamp("us"))
        case "timestamp[us, tz=UTC]":
            result = pa.array(values, pa.string()).cast(pa.timestamp("us", "UTC"))
        case _:
            plain = {"int64": pa.int64(), "double": pa.float64(), "binary": pa.binary(), "string": pa.string()}
            result = pa.array(values, plain.get(kind, pa.null()))
    return result


def texts(values: Sequence[Any]) -> pa.Array[Any]:
    import pyarrow as pa

    return pa.array([as_text(value) for value in values], pa.string())


def as_text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.hex()
    return None if value is None else str(value)
