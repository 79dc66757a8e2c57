"""Declared schemas: every type word, exact conversions, and the four contracts."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.records import read_records
from jackfield.nodes.schema import arrow_type, is_type_word, obey
from jackfield.nodes.source import Contract

NOON = dt.datetime(2025, 3, 1, 12)  # noqa: DTZ001 (a timestamp without zone)

FITTING: list[tuple[str, list[Any], list[Any]]] = [
    ("int", [1, 2.0, "3", None], [1, 2, 3, None]),
    ("integer", [2**63 - 1], [2**63 - 1]),
    ("bigint", ["-5"], [-5]),
    ("float", [1, 2.5, "1e3"], [1.0, 2.5, 1000.0]),
    ("decimal(10,2)", [1, 2.5, "0.10", 1e2], [Decimal("1.00"), Decimal("2.50"), Decimal("0.10"), Decimal("100.00")]),
    (
        "decimal(38, 4)",
        ["1234567890123456789012345678901234.5678"],
        [Decimal("1234567890123456789012345678901234.5678")],
    ),
    ("string", ["a", 1, True, 1.50], ["a", "1", "true", "1.5"]),
    ("bool", [True, "false", 1, "0"], [True, False, True, False]),
    ("date", ["2025-03-01", "2025-03-01T00:00:00Z"], [dt.date(2025, 3, 1)] * 2),
    (
        "datetime",
        ["2025-03-01T12:00:00Z", "2025-03-01 14:00:00+02:00", "2025-03-01T12:00"],
        [NOON.replace(tzinfo=dt.UTC)] * 3,
    ),
    ("timestamp", ["2025-03-01T12:00:00", "2025-03-01T14:00:00+02:00"], [NOON, NOON]),
    ("timestamp(tz)", ["2025-03-01T12:00:00"], [NOON.replace(tzinfo=dt.UTC)]),
    ("time", ["12:30", "12:30:05.5"], [dt.time(12, 30), dt.time(12, 30, 5, 500000)]),
    ("uuid", ["0e37df36-f698-11e6-8dd4-cb9ced3df976"], ["0e37df36-f698-11e6-8dd4-cb9ced3df976"]),
    ("json", [{"a": [1]}, [1, 2], "x"], ['{"a":[1]}', "[1,2]", "x"]),
    ("int[]", [[1, 2], [], None], [[1, 2], [], None]),
    ("string[]", [["a", 1]], [["a", "1"]]),
]


def read(values: list[Any], word: str, contract: Contract = "evolve") -> pa.Table:
    part = json.dumps([{"a": value} for value in values]).encode()
    return read_records([part], source="orders", declared={"a": word}, contract=contract)["rows"]


@pytest.mark.parametrize(("word", "values", "expected"), FITTING, ids=[word for word, _, _ in FITTING])
def test_values_that_fit_are_converted_exactly(word: str, values: list[Any], expected: list[Any]) -> None:
    table = read(values, word)
    assert table["a"].to_pylist() == expected
    assert table.schema.field("a").type == arrow_type(word)


@pytest.mark.parametrize(
    ("word", "value", "found"),
    [
        ("int", 1.5, "a number with a fraction"),
        ("int", "1.5", "text"),
        ("int", "", "empty text"),
        ("int", True, "true or false"),
        ("int", 2**63, "a number"),
        ("float", "nan", "text"),
        ("float", "a", "text"),
        ("decimal(10,2)", 1.005, "a number with a fraction"),
        ("decimal(4,2)", 123.4, "a number with a fraction"),
        ("bool", 2, "an integer"),
        ("bool", "yes", "text"),
        ("date", "2025-03-01T12:00:00Z", "text"),
        ("date", "01/03/2025", "text"),
        ("datetime", 1740830400, "an integer"),
        ("time", "noon", "text"),
        ("int[]", [1, "x"], "a list"),
        ("int[]", 5, "an integer"),
    ],
)
def test_a_value_that_does_not_fit_is_a_type_mismatch_with_row_and_column(word: str, value: Any, found: str) -> None:
    with pytest.raises(JackfieldError) as caught:
        read([None, value], word)
    error = caught.value
    assert error.code is Code.TYPE_MISMATCH
    assert error.message.startswith("Source 'orders', row 2, column 'a': found ")
    assert error.details["expected"] == word
    assert found.removeprefix("a number").split(" with")[0] in error.details["found"]


def test_the_mismatch_does_not_show_the_value() -> None:
    with pytest.raises(JackfieldError) as caught:
        read(["hunter2hunter2"], "int")
    assert "hunter2" not in repr(caught.value)


def test_evolve_keeps_new_columns_after_the_declared_ones() -> None:
    table = pa.table({"new": ["x"], "id": [1]})
    assert obey(table, {"id": "int", "gone": "date"}, "evolve", "s").to_pylist() == [
        {"id": 1, "gone": None, "new": "x"}
    ]


def test_freeze_names_what_came_and_what_went() -> None:
    with pytest.raises(JackfieldError) as caught:
        obey(pa.table({"new": ["x"], "id": [1]}), {"id": "int", "gone": "date"}, "freeze", "orders")
    assert caught.value.code is Code.SCHEMA_CHANGED
    assert caught.value.message == (
        "Source 'orders' has new columns 'new' and lacks the columns 'gone', and its schema is frozen."
    )
    assert caught.value.details == {"source": "orders", "added": ["new"], "missing": ["gone"]}


def test_freeze_is_content_with_no_rows() -> None:
    assert obey(pa.table({}), {"id": "int"}, "freeze", "s").column_names == ["id"]


def test_discard_row_drops_rows_with_new_columns_or_values_that_do_not_fit() -> None:
    table = pa.table({"id": ["1", "x", "3", "4"], "new": [None, None, "n", None]})
    assert obey(table, {"id": "int"}, "discard_row", "s").to_pylist() == [{"id": 1}, {"id": 4}]


def test_discard_value_drops_new_columns_and_nulls_what_does_not_fit() -> None:
    table = pa.table({"id": ["1", "x"], "new": ["a", "b"]})
    assert obey(table, {"id": "int"}, "discard_value", "s").to_pylist() == [{"id": 1}, {"id": None}]


def test_words_that_are_no_types_are_refused_with_the_near_ones() -> None:
    assert is_type_word("decimal(10,2)")
    assert is_type_word("Int")
    assert not is_type_word("decimal(40,2)")
    assert not is_type_word("decimal(2,4)")
    with pytest.raises(JackfieldError) as caught:
        arrow_type("intger")
    assert caught.value.code is Code.CONFIG_INVALID
    assert "integer" in caught.value.hint
