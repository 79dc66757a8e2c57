"""JSON records to Arrow tables: the rows, and the child tables that a graph reads beside them.

The fast way hands slices of the reply to Arrow's JSON reader with a schema learned from a sample of the records; what
it can not take exactly (a type that changes, a too large number, an irregular object) goes the careful way of `unify`.
Both give the same tables. Text of dates and times (`2025-03-01`, `2025-03-01T12:00:00Z`) becomes date and timestamp
when every value of an undeclared column is such text, so that SQL can compare them; else it stays text as it came.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import msgspec

from ..graphs.errors import Code, JackfieldError
from .conversions import Column, converted, misfits
from .datapath import check_text, described, not_json, record_slices
from .flatten import INDEX, PARENT, ROW, Flat, check_size, flatten
from .jsonreader import NeedsCareError, read_fast
from .schema import TEXT_WORDS, arrow_schema, obey
from .source import Contract
from .unify import column_of

if TYPE_CHECKING:
    import pyarrow as pa

_DATE: Final = r"^\d{4}-\d\d-\d\d$"
_MOMENT: Final = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?"
_ZONE: Final = r"(Z|[+-]\d\d:\d\d)$"
_WITHOUT_LOSS: Final = msgspec.json.Decoder(float_hook=Decimal)


def read_records(
    parts: Sequence[bytes],
    *,
    data_path: str = "",
    declared: Mapping[str, str] | None = None,
    contract: Contract = "evolve",
    source: str,
    children: Sequence[str] = (),
    columns: Sequence[str] | None = None,
) -> dict[str, pa.Table]:
    """`rows` and each of `children` from JSON documents that hold lists of objects at `data_path`.

    `columns` keeps just those of `rows` (by name, in any case). No records at all: the declared columns, else `columns`
    typed null. Raises SOURCE_BAD_REPLY, and what `obey` raises.
    """
    slices = [record for part in parts for record in record_slices(_without_mark(part), data_path, source)]
    return tables_of(slices, declared, contract, source, children, columns)


def read_lines(
    parts: Sequence[bytes],
    *,
    declared: Mapping[str, str] | None = None,
    contract: Contract = "evolve",
    source: str,
    children: Sequence[str] = (),
    columns: Sequence[str] | None = None,
) -> dict[str, pa.Table]:
    """As `read_records`, from documents of one JSON object a line; empty lines are skipped."""
    lines = [line for part in parts for line in line_slices(part, source)]
    return tables_of(lines, declared, contract, source, children, columns)


def line_slices(part: bytes, source: str) -> list[bytes]:
    """The lines of `part` that are not empty."""
    check_text(part, source)
    return [line for line in _without_mark(part).split(b"\n") if line and not line.isspace()]


def finished(
    flat: Flat,
    *,
    declared: Mapping[str, str] | None,
    contract: Contract,
    source: str,
    children: Sequence[str] = (),
    columns: Sequence[str] | None = None,
) -> dict[str, pa.Table]:
    """What every reader of nested rows ends with: the declared schema, dates, requested children and columns."""
    import pyarrow as pa

    rows = flat.tables["rows"]
    if declared is not None and (rows.num_rows or rows.num_columns):
        rows = obey(rows, declared, contract, source)
    elif declared is not None:
        rows = arrow_schema(declared).empty_table()
    result = {"rows": _with_dates(rows, declared or ())}
    for child in children:
        found = flat.tables.get(child)
        if found is None:
            found = pa.table({PARENT: pa.array([], pa.int64()), INDEX: pa.array([], pa.int64())})
        result[child] = _with_dates(found, (PARENT,))
    for child in children:
        parent = result.get(flat.parents.get(child, "rows"))
        if parent is not None:
            result[child] = _joinable(result[child], parent)
    if columns is not None:
        result["rows"] = selected(result["rows"], columns)
    return result


def selected(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Those of `columns`, by name in any case. Of no rows, nothing is known: then each is there, typed null.

    All columns where one of `columns` is not there: whoever names it is then told what there is.
    """
    import pyarrow as pa

    found = {name.lower(): name for name in rows.column_names}
    if rows.num_rows:
        wanted = {name.lower() for name in columns}
        if not wanted <= found.keys():
            return rows
        return rows.select([name for name in rows.column_names if name.lower() in wanted])
    for name in columns:
        if name.lower() not in found:
            rows = rows.append_column(name, pa.nulls(0))
    return rows


def tables_of(
    records: Sequence[msgspec.Raw | bytes],
    declared: Mapping[str, str] | None,
    contract: Contract,
    source: str,
    children: Sequence[str] = (),
    columns: Sequence[str] | None = None,
) -> dict[str, pa.Table]:
    """What `read_records` gives, of the JSON of each record."""
    import pyarrow as pa

    try:
        if not records:
            nested = pa.table({})
        else:
            try:
                nested = read_fast(records, declared or {})
            except (NeedsCareError, pa.ArrowInvalid):
                nested = _read_careful(records, declared or {}, source)
        flat = flatten(nested, children)
    except RecursionError as error:
        raise not_json(error, source) from None
    return finished(flat, declared=declared, contract=contract, source=source, children=children, columns=columns)


def _read_careful(records: Sequence[msgspec.Raw | bytes], declared: Mapping[str, str], source: str) -> pa.Table:
    import pyarrow as pa

    try:
        values = [_WITHOUT_LOSS.decode(record) for record in records]
    except (msgspec.DecodeError, RecursionError) as error:
        raise not_json(error, source) from None
    for place, value in enumerate(values):
        if not isinstance(value, dict):
            raise JackfieldError(
                Code.SOURCE_BAD_REPLY,
                f"Source '{source}': record {place + 1} is {described(value)}, expected an object.",
                "data_path must lead to a list of objects; JMESPath can make them: 'items[].{value: @}'.",
                {"source": source, "row": place + 1, "found": described(value)},
            )
    exact = {name for name, word in declared.items() if word.lower() in TEXT_WORDS or word.lower().startswith("dec")}
    exact -= {name for name, word in declared.items() if word.endswith("[]")}
    keys = list(dict.fromkeys(key for value in values for key in value))
    if not keys:
        return pa.table({ROW: range(len(values))})
    check_size(len(keys), len(values), sum(len(memoryview(record)) for record in records))
    return pa.table({key: column_of([value.get(key) for value in values], frozenset(exact), key, 1) for key in keys})


def _with_dates(table: pa.Table, but: Sequence[str] | Mapping[str, str]) -> pa.Table:
    from pyarrow import types

    for place, name in enumerate(table.column_names):
        if name not in but and types.is_string(table.schema.field(place).type):
            moments = _dated(table[name])
            if moments is not None:
                table = table.set_column(place, name, moments)
    return table


def _dated(column: Column) -> Column | None:
    """The column as dates or timestamps if each value is one in ISO form; None if it is not so."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count == len(column):
        return None
    first = column[pc.index(column.is_valid(), True).as_py()].as_py()
    forms = (
        (_DATE, pa.date32()),
        (_MOMENT + _ZONE, pa.timestamp("us", tz="UTC")),
        (_MOMENT + "$", pa.timestamp("us")),
    )
    for form, target in forms:
        if re.match(form, first):
            if not pc.all(pc.match_substring_regex(column, form)).as_py():
                return None
            try:
                return column.cast(target)
            except pa.ArrowInvalid:  # such as month 13
                return None
    return None


def _joinable(child: pa.Table, parent: pa.Table) -> pa.Table:
    """`child` with its `_parent_id` in the type that `id` of its parent ended with."""
    from pyarrow import types

    if "id" not in parent.column_names or types.is_nested(parent.schema.field("id").type):
        return child
    target = parent.schema.field("id").type
    column = child[PARENT]
    fitted = converted(column, target)
    if fitted is None:
        return child.set_column(0, PARENT, misfits(column, target)[0])
    return child.set_column(0, PARENT, fitted)


def _without_mark(part: bytes) -> bytes:
    return part.removeprefix(b"\xef\xbb\xbf")  # a byte order mark, which JSON may not have and some servers send
