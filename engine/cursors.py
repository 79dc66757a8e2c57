"""The locked database's cursors. One that has a query's tables registered already is kept for the next such query.

A kept cursor is lent only to a query over the very same rows under the same names, or when all its rows have been
exchanged for the query's own (`slots`), so what is registered on it is that query's to see anyway. Small rows that are
asked again become TEMP tables of their cursor, which DuckDB reads in two thirds of the time. That no query writes to
them is `parse_tree`'s promise: a read-only transaction ignores them.
"""

from __future__ import annotations

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from . import bounded
from .slots import SLOT_BYTES, Shape, Slot, shape_of

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# The order matters: what is set must be set before `lock_configuration`, and the zone before it too. Not among them is
# `disabled_filesystems`, which makes the database unable to spill.
LOCKS: Final = (
    "SET GLOBAL TimeZone = 'UTC'",  # without GLOBAL a cursor has the zone of the machine
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
KEPT: Final = 24
KEPT_BYTES: Final = 64 << 20  # registering takes a quarter of a millisecond, which over larger tables nobody notices
SETTLED_BYTES: Final = 8 << 20
ASKED_AGAIN: Final = 3
SETTLING: Final = "jackfield_settling"
NO_COLUMNS: Final = "no_columns"  # stands in for the columns of a table that has none, which DuckDB refuses

Rows = Mapping[str, "pa.Table"]
Key = tuple[tuple[str, Hashable], ...]
MOST_CHUNKS: Final = 64


@dataclass(eq=False, slots=True)
class Lent:
    """A cursor on which `rows` are registered. `reading`: a transaction that only reads is open on it."""

    cursor: duckdb.DuckDBPyConnection
    root: duckdb.DuckDBPyConnection
    key: Key
    rows: Rows  # keeps alive the memory whose addresses are in the key
    size: int
    reading: bool = False
    uses: int = 1
    shape: Shape | None = None  # of the slots, if its rows came in such
    slots: dict[str, Slot] = field(default_factory=dict)
    small: set[str] = field(default_factory=set)  # texts whose results were small when they ran here last

    def refill(self, key: Key, rows: Rows, size: int) -> None:
        """Exchange the rows for others of the same shape."""
        for name, slot in self.slots.items():
            slot.rows = rows[name]
        self.key, self.rows, self.size = key, rows, size

    def begin(self, *, now: bool) -> None:
        """Begin to read. A transaction may go on over queries, but for one that asks `now` what time it is."""
        if self.reading and now:
            self.cursor.execute("ROLLBACK")
            self.reading = False
        if not self.reading:
            self.cursor.execute("BEGIN TRANSACTION READ ONLY")
            self.reading = True

    def settle(self) -> None:
        """Copy the rows into TEMP tables, where each fits in one unchanged."""
        if self.reading:
            self.cursor.execute("ROLLBACK")
            self.reading = False
        for name, table in self.rows.items():
            if _settles(table):
                quoted = '"' + name.replace('"', '""') + '"'
                self.cursor.unregister(name)
                self.cursor.register(SETTLING, table)
                self.cursor.execute(f"CREATE TEMP TABLE {quoted} AS FROM {SETTLING}")
                self.cursor.unregister(SETTLING)


class Cursors:
    """Opened at the first cursor; all methods but `close` are called in query threads."""

    def __init__(self, config: Mapping[str, str | bool | int | float | list[str]]) -> None:
        self._config = config
        self._root: duckdb.DuckDBPyConnection | None = None
        self._spills: list[tempfile.TemporaryDirectory[str]] = []
        self._kept: OrderedDict[Lent, None] = OrderedDict()
        self._by_key: dict[Key, list[Lent]] = {}  # several queries may read the same rows at once
        self._size = 0
        self._lock = threading.Lock()

    def lend(self, rows: Rows) -> Lent:
        """A cursor that nobody else uses, on which `rows` are registered and no other tables are."""
        columns = {name: rows[name].schema.serialize().to_pybytes() for name in sorted(rows)}
        key = tuple([(name, _identity(rows[name], schema)) for name, schema in columns.items()])
        size = sum([_size(table) for table in rows.values()])
        shape = shape_of(rows, columns) if size <= SLOT_BYTES else None
        with self._lock:
            same = self._by_key.get(key)
            kept = same[-1] if same else self._slotted(shape)
            if kept is not None:
                self._let_go(kept)
            root = self._root = self._root or self._open()
        if kept is not None and kept.key != key:
            kept.refill(key, rows, size)
            return kept
        if kept is not None:
            kept.uses += 1
            if kept.uses == ASKED_AGAIN and kept.size <= SETTLED_BYTES:
                kept.settle()
            return kept
        cursor = root.cursor()
        slots = {name: Slot(table) for name, table in rows.items()} if shape is not None else {}
        for name, table in rows.items():
            cursor.register(name, slots.get(name) or _with_columns(table))
        return Lent(cursor, root, key, rows, size, shape=shape, slots=slots)

    def _slotted(self, shape: Shape | None) -> Lent | None:
        """A kept cursor with slots of this shape whose rows nobody has asked for again."""
        if shape is None:
            return None
        return next((kept for kept in self._kept if kept.shape == shape and kept.uses == 1), None)

    def _let_go(self, kept: Lent) -> None:
        del self._kept[kept]
        same = self._by_key[kept.key]
        same.remove(kept)
        if not same:
            del self._by_key[kept.key]
        self._size -= kept.size

    def take_back(self, lent: Lent) -> None:
        """Keep a cursor whose query went well for the next query over its rows; or close it."""
        over = [lent]
        with self._lock:
            if self._root is lent.root and lent.size <= KEPT_BYTES:
                over.clear()
                self._kept[lent] = None
                self._by_key.setdefault(lent.key, []).append(lent)
                self._size += lent.size
                while len(self._kept) > KEPT or self._size > KEPT_BYTES:
                    oldest = next(iter(self._kept))
                    self._let_go(oldest)
                    over.append(oldest)
        for each in over:
            each.cursor.close()

    def give_up(self, lent: Lent) -> None:
        """Leave a database in which DuckDB lost its own way: it refuses every query after. The next opens another.

        Queries that still run in it fail by themselves, and it goes with the last of them.
        """
        with self._lock:
            if self._root is not lent.root:
                return
            kept = self._drop()
        for each in kept:
            each.close()

    def close(self) -> None:
        with self._lock:
            kept = self._drop()
            spills, self._spills = self._spills, []
        for each in kept:
            each.close()
        for spill in spills:
            spill.cleanup()

    def _drop(self) -> list[duckdb.DuckDBPyConnection]:
        """The connections of the database that now is nobody's."""
        dropped = [each.cursor for each in self._kept]
        if self._root is not None:
            dropped.append(self._root)
        self._root = None
        self._kept.clear()
        self._by_key.clear()
        self._size = 0
        return dropped

    def _open(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        spill = tempfile.TemporaryDirectory(prefix="jackfield-", ignore_cleanup_errors=True)
        self._spills.append(spill)
        root = duckdb.connect(":memory:", config={**self._config, "temp_directory": spill.name})
        for statement in (*bounded.MACROS, *LOCKS):
            root.execute(statement)
        return root


def _size(table: pa.Table) -> int:
    """Its bytes; those of its whole buffers, which are added up in no time, where that is little enough anyway."""
    held = table.get_total_buffer_size()
    return held if held <= SLOT_BYTES else table.nbytes


def _identity(table: pa.Table, schema: bytes) -> Hashable:
    """The same for tables over the same memory, as a source gives them that selects columns of rows it has kept."""
    import pyarrow as pa

    nested = any(pa.types.is_nested(kind) or pa.types.is_dictionary(kind) for kind in table.schema.types)
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    if nested or len(chunks) > MOST_CHUNKS:  # whose memory the buffers of a chunk do not tell in full, or not fast
        return id(table)
    places = tuple(
        (len(chunk), chunk.offset, *(0 if buffer is None else buffer.address for buffer in chunk.buffers()))
        for chunk in chunks
    )
    return (schema, places)


def _settles(rows: pa.Table) -> bool:
    """Whether a TEMP table would hold the rows as they are: DuckDB makes integers of untyped nulls, for one."""
    import pyarrow as pa

    names = {name.lower() for name in rows.column_names}
    changed = any(pa.types.is_null(kind) or pa.types.is_nested(kind) for kind in rows.schema.types)
    return 0 < rows.num_columns == len(names) and not changed


def _with_columns(rows: pa.Table) -> pa.Table:
    """DuckDB refuses a table without columns, which an empty source whose schema nobody declared may give."""
    import pyarrow as pa

    return rows if rows.num_columns else pa.table({NO_COLUMNS: pa.nulls(rows.num_rows)})
