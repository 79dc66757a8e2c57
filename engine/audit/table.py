"""The audit as a table, for SQL over it: a column a key, `args` and `pushed` as JSON text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ...nodes.base import Value
from ...nodes.table import Table
from .line import KEYS
from .reading import decoded, raw_oldest_first

if TYPE_CHECKING:
    import pyarrow as pa

NAME: Final = "audit"
BATCH: Final = 20_000
NUMBERS: Final = ("rows", "bytes", "seq")
AS_JSON: Final = ("args", "pushed")


async def query(folders: Path | Sequence[Path], sql: str, parameters: Mapping[str, Value] | None = None) -> Table:
    """What one SELECT over the table `audit` gives, run in a locked database of its own.

    Raises QUERY_INVALID, SCHEMA_NOT_FOUND, and what else a tool's SQL raises.
    """
    from ..tables import Database

    with Database() as database:
        session = database.session()
        try:
            return await session.query(sql, parameters or {}, {NAME: audit_table(folders)})
        finally:
            session.close()


def audit_table(folders: Path | Sequence[Path]) -> Table:
    """Every line as a row, of several audits by time, read as it is asked for."""
    import pyarrow as pa

    columns = schema()
    return Table.stream(pa.RecordBatchReader.from_batches(columns, _batches(raw_oldest_first(folders), columns)))


def schema() -> pa.Schema:
    import pyarrow as pa

    kinds: dict[str, pa.DataType] = dict.fromkeys(KEYS, pa.string())
    kinds |= dict.fromkeys(NUMBERS, pa.int64())
    kinds |= {"ts": pa.timestamp("ms"), "duration_ms": pa.float64(), "truncated": pa.bool_()}
    return pa.schema(list(kinds.items()))


def _batches(lines: Iterable[bytes], columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    remaining = iter(lines)
    while texts := list(islice(remaining, BATCH)):
        try:
            rows = list(map(_row, texts))
            arrays = [_column([getattr(row, field.name) for row in rows], field.type) for field in columns]
        except (msgspec.DecodeError, UnicodeDecodeError, pa.ArrowInvalid):  # some line was changed by hand
            found = [row for row in map(decoded, texts) if row is not None]
            arrays = [
                pa.array([_value(field.name, row.get(field.name)) for row in found], field.type) for field in columns
            ]
        yield pa.RecordBatch.from_arrays(arrays, schema=columns)


def _column(values: list[Any], kind: pa.DataType) -> pa.Array[Any]:
    import pyarrow as pa

    if values and isinstance(values[0], msgspec.Raw):
        return pa.array([None if (text := bytes(value)) == b"null" else text for value in values], kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.string()).cast(pa.timestamp("ms", "UTC")).cast(kind)
    return pa.array(values, kind)


def _row_type() -> type[msgspec.Struct]:
    kinds: dict[str, Any] = dict.fromkeys(KEYS, str | None)
    kinds |= dict.fromkeys(NUMBERS, int | None)
    kinds |= dict.fromkeys(AS_JSON, msgspec.Raw)
    kinds |= {"ts": str, "duration_ms": float | None, "truncated": bool | None}
    return msgspec.defstruct("Row", list(kinds.items()))


_row: Final = msgspec.json.Decoder(_row_type()).decode


def _value(name: str, value: Any) -> Any:
    """A value of its column's kind, also where a line was changed by hand."""
    if value is None:
        return None
    if name in AS_JSON:
        return msgspec.json.encode(value).decode()
    if name == "ts":
        return _time(value)
    if name in NUMBERS:
        return value if type(value) is int and abs(value) < 2**63 else None
    if name == "duration_ms":
        return float(value) if isinstance(value, int | float) else None
    if name == "truncated":
        return value if isinstance(value, bool) else None
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value).replace(tzinfo=None)
    except (TypeError, ValueError):
        return None
