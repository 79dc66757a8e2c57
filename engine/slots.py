"""Small rows that DuckDB reads by way of a slot, whose rows can be exchanged for others of the same columns.

To register a table costs DuckDB more than a look-up in it does, and a look-up in a database gives a fresh table each
time. What DuckDB knows of a slot is its columns; it asks for the rows again with every query.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

SLOT_BYTES: Final = 256 << 10  # of larger rows DuckDB reads only the columns that it needs, if they are registered

Shape = tuple[tuple[str, bytes], ...]


class Slot:
    """An Arrow stream for whoever asks for one, as often as it is asked for, of the rows that are there by then."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows

    def __arrow_c_schema__(self) -> object:
        return self.rows.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        rows: Any = self.rows
        return rows.__arrow_c_stream__(requested_schema)


def shape_of(rows: Mapping[str, pa.Table], columns: Mapping[str, bytes]) -> Shape | None:
    """The same for tables that fit the same slots: their names and columns, to the last detail. None: no slots.

    `columns` has the schemas by name, in order.
    """
    if not rows or not all(_is_plain(table) for table in rows.values()):
        return None
    return tuple(columns.items())


def _is_plain(table: pa.Table) -> bool:
    import pyarrow as pa

    # A dictionary is part of the rows, not of the columns.
    return table.num_columns > 0 and not any(
        pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or isinstance(kind, pa.BaseExtensionType)
        for kind in table.schema.types
    )
