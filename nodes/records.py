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
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from ..graphs.errors import Code, JackfieldError
from .conversions import Column, converted, misfits
from .datapath import check_text, described, not_json, record_slices
from .flatten import INDEX, MAX_DEPTH, PARENT, ROW, flatten
from .schema import arrow_schema, arrow_type, obey
from .source import Contract
from .unify import column_of, is_irregular

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE: Final = 200  # records that the first schema is learned from
_MIN_BLOCK: Final = 1 << 20
_EXACT_IN_DOUBLE: Final = 2.0**53
_DATE: Final = r"^\d{4}-\d\d-\d\d$"
_MOMENT: Final = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?"
_ZONE: Final = r"(Z|[+-]\d\d:\d\d)$"
_WITHOUT_LOSS: Final = msgspec.json.Decoder(float_hook=Decimal)


class _NeedsCareError(Exception):
    """The fast way would lose or change something."""


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
    tables: dict[str, pa.Table],
    *,
    declared: Mapping[str, str] | None,
    contract: Contract,
    source: str,
    children: Sequence[str] = (),
    columns: Sequence[str] | None = None,
) -> dict[str, pa.Table]:
    """What every reader of nested rows ends with: the declared schema, dates, requested children and columns."""
    import pyarrow as pa

    rows = tables["rows"]
    if declared is not None and (rows.num_rows or rows.num_columns):
        rows = obey(rows, declared, contract, source)
    elif declared is not None:
        rows = arrow_schema(declared).empty_table()
    result = {"rows": _with_dates(rows, declared or ())}
    for child in children:
        found = tables.get(child)
        if found is None:
            found = pa.table({PARENT: pa.array([], pa.int64()), INDEX: pa.array([], pa.int64())})
        result[child] = _joinable(_with_dates(found, (PARENT,)), rows)
    if columns is not None:
        result["rows"] = selected(result["rows"], columns)
    return result


def selected(rows: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Those of `columns`, by name in any case. Of no rows, nothing is known: then each is there, typed null."""
    import pyarrow as pa

    found = {name.lower(): name for name in rows.column_names}
    if rows.num_rows:
        wanted = {name.lower() for name in columns}
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
                nested = _read_fast(records, declared or {})
            except (_NeedsCareError, pa.ArrowInvalid):
                nested = _read_careful(records, declared or {}, source)
        tables = flatten(nested, children)
    except RecursionError as error:
        raise not_json(error, source) from None
    return finished(tables, declared=declared, contract=contract, source=source, children=children, columns=columns)


def _read_fast(records: Sequence[msgspec.Raw | bytes], declared: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.json as pj

    schema = _learned(records, declared)
    text = b"\n".join(records)
    if b"\r" in text or text.count(b"\n") != len(records) - 1:
        text = b"\n".join(bytes(record).replace(b"\n", b" ").replace(b"\r", b" ") for record in records)
    options = pj.ReadOptions(block_size=max(_MIN_BLOCK, max(len(memoryview(record)) for record in records) + 1))
    table = _parsed(text, schema, options)
    stamped = pa.schema([_as_text(field) for field in table.schema])
    if stamped != table.schema:  # a late key that holds dates: Arrow made it a timestamp without its zone
        table = _parsed(text, stamped, options)
    if table.num_rows != len(records):
        raise _NeedsCareError
    for column in table.columns:
        _check(column, 0)
    return table


def _parsed(text: bytes, schema: pa.Schema, options: Any) -> pa.Table:
    import pyarrow as pa
    import pyarrow.json as pj

    parse = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer")
    return pj.read_json(cast(Any, pa.BufferReader(text)), read_options=options, parse_options=parse)


def _learned(records: Sequence[msgspec.Raw | bytes], declared: Mapping[str, str]) -> pa.Schema:
    """The schema of a sample from the whole length of the records. Raises _NeedsCareError when they are not alike."""
    import pyarrow as pa

    step = max(1, len(records) // SAMPLE)
    try:
        sample = [msgspec.json.decode(record) for record in records[::step]]
    except msgspec.DecodeError:
        raise _NeedsCareError from None
    if not all(isinstance(record, dict) for record in sample):
        raise _NeedsCareError
    shape = _shape(sample, declared, "")
    assert pa.types.is_struct(shape)
    return pa.schema(list(shape))


def _shape(values: Sequence[Any], declared: Mapping[str, str], name: str) -> pa.DataType:
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    word = declared.get(name, "").strip().lower()
    if kinds & {float, int} and word.startswith("decimal") and not word.endswith("[]"):
        wanted: Any = arrow_type(word)
        return pa.decimal128(38, wanted.scale)  # Arrow's reader does not look at the precision; its cast does
    if word in _TEXT_WORDS and (float in kinds or dict in kinds or list in kinds):
        raise _NeedsCareError
    if not kinds:
        return pa.null()
    if kinds == {dict}:
        place = f"{name}_" if name else ""
        keys = dict.fromkeys(key for value in values if value is not None for key in value)
        fields = [(key, _shape([(value or {}).get(key) for value in values], declared, place + key)) for key in keys]
        return pa.struct([field for field in fields if not pa.types.is_null(field[1])])
    if kinds == {list}:
        item = _shape([item for value in values if value is not None for item in value], {}, "")
        return item if pa.types.is_null(item) else pa.list_(item)
    if kinds == {int, float}:
        return pa.float64()
    if len(kinds) > 1:
        raise _NeedsCareError
    by_kind: dict[type, pa.DataType] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    return by_kind[kinds.pop()]


_TEXT_WORDS: Final = frozenset({"string", "text", "json", "uuid"})


def _as_text(field: Any) -> Any:
    import pyarrow as pa

    return pa.field(field.name, _text_type(field.type))


def _text_type(found: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_timestamp(found):
        return pa.string()
    if pa.types.is_list(found):
        return pa.list_(_text_type(found.value_type))
    if pa.types.is_struct(found):
        return pa.struct([_as_text(field) for field in found])
    return found


def _check(column: Column, depth: int) -> None:
    """Raises _NeedsCareError where the careful way would make another column of this."""
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_floating(column.type):
        bounds = pc.min_max(column)
        low, high = bounds["min"].as_py(), bounds["max"].as_py()
        if low is not None and max(-low, high) >= _EXACT_IN_DOUBLE:
            raise _NeedsCareError
    elif types.is_struct(column.type):
        fields = column.flatten()
        present = sum(len(each) - each.null_count for each in fields)
        if depth >= MAX_DEPTH or not fields or is_irregular(len(fields), present, len(column) - column.null_count):
            raise _NeedsCareError
        for each in fields:
            _check(each, depth + 1)
    elif types.is_list(column.type):
        if types.is_list(column.type.value_type):
            raise _NeedsCareError
        if types.is_null(column.type.value_type) and pc.max(pc.list_value_length(column)).as_py():
            raise _NeedsCareError  # of lists of nothing but nulls the reader makes arrays that are not valid
        for chunk in getattr(column, "chunks", [column]):
            _check(chunk.flatten(), -1)


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
    exact = {name for name, word in declared.items() if word.lower() in _TEXT_WORDS or word.lower().startswith("dec")}
    exact -= {name for name, word in declared.items() if word.endswith("[]")}
    keys = list(dict.fromkeys(key for value in values for key in value))
    if not keys:
        return pa.table({ROW: range(len(values))})
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

    first = next((value.as_py() for value in column if value.is_valid), None)
    if first is None:
        return None
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


def _joinable(child: pa.Table, rows: pa.Table) -> pa.Table:
    """A first child's `_parent_id` in the type that `id` of the rows ended with."""
    if "id" not in rows.column_names or child.column_names[:1] != [PARENT]:
        return child
    target = rows.schema.field("id").type
    column = child[PARENT]
    fitted = converted(column, target)
    if fitted is None:
        return child.set_column(0, PARENT, misfits(column, target)[0])
    return child.set_column(0, PARENT, fitted)


def _without_mark(part: bytes) -> bytes:
    return part.removeprefix(b"\xef\xbb\xbf")  # a byte order mark, which JSON may not have and some servers send
