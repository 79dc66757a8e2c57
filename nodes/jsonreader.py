"""The fast way from JSON records to nested Arrow: Arrow's own reader, with a schema learned from a sample of them.

It raises NeedsCareError rather than lose or change anything, and its reader ArrowInvalid; `unify` is then the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import msgspec

from .conversions import Column
from .flatten import MAX_DEPTH, MAX_SPARSE, check_size
from .schema import TEXT_WORDS, arrow_type
from .unify import is_irregular

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE: Final = 200  # records that the first schema is learned from
MAX_INFERRED: Final = 2_000  # keys
_MIN_BLOCK: Final = 1 << 20
_EXACT_IN_DOUBLE: Final = 2.0**53

_SMALL_NUMBER: Final = re.compile(rb"\d[eE]-\d\d")


class NeedsCareError(Exception):
    """The fast way would lose or change something."""


def read_fast(records: Sequence[msgspec.Raw | bytes], declared: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.json as pj

    schema, width = _learned(records, declared)
    text = b"\n".join(records)
    check_size(width, len(records), len(text))
    if any(pa.types.is_decimal(field.type) for field in schema) and _SMALL_NUMBER.search(text):
        raise NeedsCareError  # Arrow's decimals lose such digits, or crash
    if b"\r" in text or text.count(b"\n") != len(records) - 1:
        text = b"\n".join(bytes(record).replace(b"\n", b" ").replace(b"\r", b" ") for record in records)
    options = pj.ReadOptions(block_size=max(_MIN_BLOCK, max(len(memoryview(record)) for record in records) + 1))
    table = None
    if len(schema) == width:
        with _unless_unexpected():
            table = _parsed(text, schema, options, "error")
    if table is None:
        _check_fields(records)  # Arrow infers keys in a time that grows with their square
        table = _parsed(text, schema, options)
    stamped = pa.schema([_as_text(field) for field in table.schema])
    if stamped != table.schema:  # a late key that holds dates: Arrow made it a timestamp without its zone
        table = _parsed(text, stamped, options)
    if table.num_rows != len(records):
        raise NeedsCareError
    for column in table.columns:
        _check(column, 0)
    return table


@contextmanager
def _unless_unexpected() -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except pa.ArrowInvalid as error:
        if "unexpected field" not in str(error):
            raise


def _check_fields(records: Sequence[msgspec.Raw | bytes]) -> None:
    """Raises NeedsCareError when the records have many different keys, at whatever depth."""
    fields: dict[tuple[int, str], int] = {}
    for record in records:
        left: list[tuple[int, Any]] = [(0, msgspec.json.decode(record))]
        while left:
            place, value = left.pop()
            if isinstance(value, list):
                left += [(place, item) for item in value if isinstance(item, dict | list)]
            elif isinstance(value, dict):
                for key, inner in value.items():
                    field = fields.setdefault((place, key), len(fields) + 1)
                    if isinstance(inner, dict | list):
                        left.append((field, inner))
        if len(fields) > MAX_INFERRED or len(fields) * len(records) > MAX_SPARSE:
            raise NeedsCareError


def _parsed(text: bytes, schema: pa.Schema, options: Any, unexpected: Literal["infer", "error"] = "infer") -> pa.Table:
    import pyarrow as pa
    import pyarrow.json as pj

    parse = pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected)
    return pj.read_json(cast(Any, pa.BufferReader(text)), read_options=options, parse_options=parse)


def _learned(records: Sequence[msgspec.Raw | bytes], declared: Mapping[str, str]) -> tuple[pa.Schema, int]:
    """The schema of a sample from the whole length of the records, and how many keys they have, those of null as well.

    Raises NeedsCareError when they are not alike.
    """
    import pyarrow as pa

    step = max(1, len(records) // SAMPLE)
    try:
        sample = [msgspec.json.decode(record) for record in records[::step]]
    except msgspec.DecodeError:
        raise NeedsCareError from None
    if not all(isinstance(record, dict) for record in sample):
        raise NeedsCareError
    width = len(dict.fromkeys(key for record in sample for key in record))
    if width > MAX_INFERRED:
        raise NeedsCareError
    shape = _shape(sample, declared, "")
    assert pa.types.is_struct(shape)
    return pa.schema(list(shape)), width


def _shape(values: Sequence[Any], declared: Mapping[str, str], name: str) -> pa.DataType:
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    word = declared.get(name, "").strip().lower()
    if kinds & {float, int} and word.startswith("decimal") and not word.endswith("[]"):
        wanted: Any = arrow_type(word)
        return pa.decimal128(38, wanted.scale)  # Arrow's reader does not look at the precision; its cast does
    if word in TEXT_WORDS and (float in kinds or dict in kinds or list in kinds):
        raise NeedsCareError
    if not kinds:
        return pa.null()
    if kinds == {dict}:
        place = f"{name}_" if name else ""
        objects = [value for value in values if value is not None]
        keys = dict.fromkeys(key for value in objects for key in value)
        if name and is_irregular(len(keys), sum(map(len, objects)), len(objects)):
            raise NeedsCareError
        fields = [(key, _shape([value.get(key) for value in objects], declared, place + key)) for key in keys]
        return pa.struct([field for field in fields if not pa.types.is_null(field[1])])
    if kinds == {list}:
        item = _shape([item for value in values if value is not None for item in value], {}, "")
        return item if pa.types.is_null(item) else pa.list_(item)
    if kinds == {int, float}:
        return pa.float64()
    if len(kinds) > 1:
        raise NeedsCareError
    by_kind: dict[type, pa.DataType] = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
    return by_kind[kinds.pop()]


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
    """Raises NeedsCareError where the careful way would make another column of this."""
    import pyarrow.compute as pc
    from pyarrow import types

    if types.is_floating(column.type):
        bounds = pc.min_max(column)
        low, high = bounds["min"].as_py(), bounds["max"].as_py()
        if low is not None and max(-low, high) >= _EXACT_IN_DOUBLE:
            raise NeedsCareError
    elif types.is_struct(column.type):
        fields = column.flatten()
        present = sum(len(each) - each.null_count for each in fields)
        if depth >= MAX_DEPTH or not fields or is_irregular(len(fields), present, len(column) - column.null_count):
            raise NeedsCareError
        for each in fields:
            _check(each, depth + 1)
    elif types.is_list(column.type):
        if types.is_list(column.type.value_type):
            raise NeedsCareError
        if types.is_null(column.type.value_type) and pc.max(pc.list_value_length(column)).as_py():
            raise NeedsCareError  # of lists of nothing but nulls the reader makes arrays that are not valid
        for chunk in getattr(column, "chunks", [column]):
            _check(chunk.flatten(), -1)
