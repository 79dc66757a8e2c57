"""Arrow columns as values that SQLite keeps, and the column types that say what they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from .fit import family

if TYPE_CHECKING:
    import pyarrow as pa

# A decimal is TEXT: in a column of type DECIMAL, SQLite would turn it into a binary floating point number.
TYPES: Final[Mapping[str, str]] = {
    "boolean": "BOOLEAN",
    "integer": "INTEGER",
    "float": "REAL",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp with zone": "TIMESTAMP",
}
ACCEPTED: Final[Mapping[str, frozenset[str]]] = {
    "BOOL": frozenset({"boolean"}),
    "INT": frozenset({"integer", "boolean"}),
    "REAL": frozenset({"integer", "float", "decimal"}),
    "FLOA": frozenset({"integer", "float", "decimal"}),
    "DOUB": frozenset({"integer", "float", "decimal"}),
    "TIMESTAMP": frozenset({"timestamp", "timestamp with zone", "date", "text"}),
    "DATETIME": frozenset({"timestamp", "timestamp with zone", "date", "text"}),
    "DATE": frozenset({"date", "text"}),
    "NUM": frozenset({"integer", "float", "decimal"}),
    "DEC": frozenset({"integer", "float", "decimal"}),
}


def column_type(type: pa.DataType) -> str:
    return TYPES.get(family(type), "TEXT")


def accepts(declared: str, family: str) -> bool:
    """Whether a column of a declared type takes values of a family; one without a known type takes all."""
    kinds = next((kinds for word, kinds in ACCEPTED.items() if word in declared), None)
    return kinds is None or family in kinds or family == "null"


def values_of(column: pa.Array[Any]) -> Sequence[Any]:
    import pyarrow as pa

    found = column.type
    match family(found):
        case "boolean" | "integer" | "float" | "text" | "binary" | "null":
            return column.to_pylist()
        case "timestamp" | "timestamp with zone":
            zone = "+00:00" if found.tz is not None else ""
            texts = column.cast(pa.timestamp("us"), safe=False).cast(pa.string()).to_pylist()
            return [None if text is None else text + zone for text in texts]
        case "decimal" | "date" | "time":
            return column.cast(pa.string()).to_pylist()
    import msgspec

    encoder = msgspec.json.Encoder(decimal_format="number")
    return [None if value is None else encoder.encode(value).decode() for value in column.to_pylist()]
