"""Rows written as JSON text say what the same rows as JSON values say."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jackfield.engine.json_rows import json_rows
from jackfield.engine.json_text import column_texts, row_texts

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "int32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "float32": (pa.float32(), st.floats(width=32)),
    "float64": (pa.float64(), st.floats()),
    "bool": (pa.bool_(), st.booleans()),
    "text": (pa.string(), TEXT),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us"), st.datetimes()),
    "instant": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(dt.UTC))),
    "milliseconds": (pa.timestamp("ms"), st.datetimes().map(lambda at: at.replace(microsecond=0))),
    "time": (pa.time64("us"), st.times()),
    "decimal": (pa.decimal128(10, 2), st.integers(-(10**9), 10**9).map(lambda n: Decimal(n).scaleb(-2))),
    "bytes": (pa.binary(), st.binary()),
    "list": (pa.list_(pa.string()), st.lists(TEXT, max_size=3)),
    "struct": (pa.struct([("a", pa.int64())]), st.fixed_dictionaries({"a": st.integers(0, 9)})),
}


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_text_of_a_row_is_its_json(name: str, data: st.DataObject) -> None:
    kind, values = KINDS[name]
    column = data.draw(TEXT)
    rows = pa.table({column: pa.array(data.draw(st.lists(st.none() | values, max_size=8)), kind)})
    expected = json_rows(rows)
    found = [json.loads(text) for text in row_texts(rows)]
    assert str(found) == str(expected)  # as text, in which 1 and 1.0 are two


COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    name: KINDS[name] for name in ("int64", "float64", "bool", "text", "date", "timestamp", "instant", "decimal")
}


@pytest.mark.parametrize("name", COLUMNS)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_python_values_are_written_as_the_arrow_that_they_would_become(name: str, data: st.DataObject) -> None:
    kind, values = COLUMNS[name]
    column = data.draw(st.lists(values if data.draw(st.booleans()) else st.none() | values, max_size=20))
    expected = row_texts(pa.table({"a": pa.array(column, kind)}))
    found = column_texts(["a"], [column])
    assert [str(json.loads(text)) for text in found] == [str(json.loads(text)) for text in expected]


def test_rows_of_several_columns_keep_their_order() -> None:
    rows = pa.table({"b%s": [1, None], "a": ['say "no"', None], "c": [float("nan"), 2.0]})
    assert row_texts(rows) == ['{"b%s":1,"a":"say \\"no\\"","c":"NaN"}', '{"b%s":null,"a":null,"c":2.0}']


def test_a_table_without_columns_has_rows_too() -> None:
    assert row_texts(pa.table({"a": [1, 2]}).select([])) == ["{}", "{}"]
