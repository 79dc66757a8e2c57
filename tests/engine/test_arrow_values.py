"""Values read out of Arrow buffers are those that pyarrow gives, whatever the layout."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jackfield.engine.arrow_values import values_of

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int8": (pa.int8(), st.integers(-128, 127)),
    "uint16": (pa.uint16(), st.integers(0, 2**16 - 1)),
    "int32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float32": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "float64": (pa.float64(), st.floats(allow_nan=False)),
    "bool": (pa.bool_(), st.booleans()),
    "string": (pa.string(), st.text(st.characters(exclude_categories=["Cs"]))),
    "large_string": (pa.large_string(), st.text(st.characters(exclude_categories=["Cs"]))),
    "binary": (pa.binary(), st.binary()),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 9))),
}


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_values_are_those_that_pyarrow_gives(name: str, data: st.DataObject) -> None:
    kind, values = KINDS[name]
    column = data.draw(st.lists(st.none() | values, max_size=40))
    whole = pa.array(column, kind)
    start = data.draw(st.integers(0, len(column)))
    part = whole.slice(start, data.draw(st.integers(0, len(column))))
    arrow: Any = pa
    chunks = arrow.chunked_array([whole, part, whole.slice(len(column))], kind)
    arrays: tuple[Any, ...] = (whole, part, chunks)
    for each in arrays:
        assert values_of(each) == each.to_pylist()


def test_a_column_without_chunks_has_no_values() -> None:
    assert values_of(pa.chunked_array([], pa.string())) == []


def test_long_columns_with_few_nulls_keep_their_places() -> None:
    column = [None if random.Random(n).random() < 0.01 else n for n in range(10_000)]
    assert values_of(pa.array(column)) == column
