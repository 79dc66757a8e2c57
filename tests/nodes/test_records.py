"""JSON to Arrow: every kind of drift has one defined outcome, and the fast way gives what the careful way gives."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes import records as records_module
from jackfield.nodes.jsonreader import NeedsCareError
from jackfield.nodes.records import read_lines, read_records

UTC = dt.UTC


def rows(records: Sequence[Any], **options: Any) -> pa.Table:
    return read_records([json.dumps(list(records)).encode()], source="s", **options)["rows"]


def column(records: Sequence[Any], **options: Any) -> tuple[str, list[Any]]:
    table = rows(records, **options)
    return str(table.schema.field("a").type), table["a"].to_pylist()


DRIFT: dict[str, tuple[list[Any], str, list[Any]]] = {
    "int to float": ([1, 1.5], "double", [1.0, 1.5]),
    "int to text": ([1, "x"], "string", ["1", "x"]),
    "null to int": ([None, 1], "int64", [None, 1]),
    "only null": ([None, None], "null", [None, None]),
    "bool to int": ([True, 3], "string", ["true", "3"]),
    "object to text": ([{"x": 1}, "s"], "string", ['{"x":1}', "s"]),
    "list to scalar": ([[1], 1], "string", ["[1]", "1"]),
    "mixed list": ([[1, "a"], ["b"]], "list<item: string>", [["1", "a"], ["b"]]),
    "list of lists": ([[[1]], [[2, 3]]], "list<item: list<item: int64>>", [[[1]], [[2, 3]]]),
    "objects in lists in lists": ([[[{"x": 1}]]], "string", ['[[{"x":1}]]']),
    "empty object": ([{}, {}], "string", ["{}", "{}"]),
    "empty list": ([[], [1]], "list<item: int64>", [[], [1]]),
    "null list": ([None, [1]], "list<item: int64>", [None, [1]]),
    "largest int": ([2**63 - 1, -(2**63) + 1], "int64", [2**63 - 1, -(2**63) + 1]),
    "larger than int": ([2**63 + 1, 1], "decimal128(38, 0)", [Decimal(2**63 + 1), Decimal(1)]),
    "larger than decimal": ([10**40, 1], "string", [str(10**40), "1"]),
    "float and an int that is not exact in it": ([0.5, 2**53 + 1], "string", ["0.5", str(2**53 + 1)]),
    "float and a large int that is": ([0.5, 2**60], "double", [0.5, float(2**60)]),
    "text of numbers": (["01", "2"], "string", ["01", "2"]),
    "days": (["2025-03-01", None], "date32[day]", [dt.date(2025, 3, 1), None]),
    "no such day": (["2025-03-01", "2025-02-30"], "string", ["2025-03-01", "2025-02-30"]),
    "days and other text": (["2025-03-01", "soon"], "string", ["2025-03-01", "soon"]),
    "days and moments": (
        ["2025-03-01", "2025-03-01T00:00:00Z"],
        "string",
        ["2025-03-01", "2025-03-01T00:00:00Z"],
    ),
    "moments with zones": (
        ["2025-03-01T12:00:00Z", "2025-03-01T12:00:00.5+02:00"],
        "timestamp[us, tz=UTC]",
        [dt.datetime(2025, 3, 1, 12, tzinfo=UTC), dt.datetime(2025, 3, 1, 10, 0, 0, 500000, tzinfo=UTC)],
    ),
    "moments without": (["2025-03-01T12:00:00"], "timestamp[us]", [dt.datetime(2025, 3, 1, 12)]),  # noqa: DTZ001
    "nanoseconds stay text": (["2025-03-01T12:00:00.123456789Z"], "string", ["2025-03-01T12:00:00.123456789Z"]),
}


@pytest.mark.parametrize(("values", "kind", "expected"), DRIFT.values(), ids=DRIFT.keys())
def test_drift_has_one_outcome_wherever_it_begins(values: list[Any], kind: str, expected: list[Any]) -> None:
    assert column([{"a": value} for value in values]) == (kind, expected)
    assert column([{"a": value} for value in reversed(values)]) == (kind, expected[::-1])


@pytest.mark.parametrize(("values", "kind", "expected"), DRIFT.values(), ids=DRIFT.keys())
def test_drift_after_the_sample_is_not_lost(values: list[Any], kind: str, expected: list[Any]) -> None:
    """Only some of many records are looked at first."""
    many = [{"a": values[0]}] * 1501 + [{"a": value} for value in values]
    found, content = column(many)
    assert (found, content[-len(values) :]) == (kind, expected)


def test_late_keys_are_columns() -> None:
    assert rows([{"a": 1}, {"b": {"c": "2025-03-01T12:00:00+02:00"}}]).to_pylist() == [
        {"a": 1, "b_c": None},
        {"a": None, "b_c": dt.datetime(2025, 3, 1, 10, tzinfo=UTC)},
    ]


def test_a_key_that_comes_after_the_sample_keeps_its_text() -> None:
    many: list[dict[str, Any]] = [{"a": 1}] * 1001
    many += [{"b": "2025-03-01T12:00:00+02:00", "c": {"d": ["2025-03-01T12:00:00+02:00"]}}]
    last = rows(many).slice(1001).to_pylist()
    assert last == [
        {"a": None, "b": dt.datetime(2025, 3, 1, 10, tzinfo=UTC), "c_d": ["2025-03-01T12:00:00+02:00"]},
    ]


def test_declared_decimals_are_exact() -> None:
    part = b'[{"a": 12345678901234567.89}, {"a": "0.10"}, {"a": 3}]'
    found = read_records([part], source="s", declared={"a": "decimal(38,2)"})["rows"]
    assert found["a"].to_pylist() == [Decimal("12345678901234567.89"), Decimal("0.10"), Decimal("3.00")]


def test_declared_text_is_the_text_that_came() -> None:
    found = read_records([b'[{"a": 1.50}, {"a": "x"}, {"a": {"k": [1.0]}}]'], source="s", declared={"a": "string"})
    assert found["rows"]["a"].to_pylist() == ["1.50", "x", '{"k":[1.0]}']


def test_an_object_that_is_declared_json_stays_whole() -> None:
    found = rows([{"a": {"x": 1}}, {"a": {"y": [2]}}], declared={"a": "json"})
    assert found.to_pylist() == [{"a": '{"x":1}'}, {"a": '{"y":[2]}'}]


def test_records_spread_over_pages_are_one_table() -> None:
    pages = [b'{"d": {"items": [{"a": 1}]}}', b' {"d": {"items": []}}', b'\xef\xbb\xbf{"d": {"items": [{"a": 2.5}]}}']
    assert read_records(pages, data_path="d.items", source="s")["rows"]["a"].to_pylist() == [1.0, 2.5]


def test_pretty_printed_records_are_read() -> None:
    text = json.dumps([{"a": {"b": [1, 2]}, "c": "x\ny"}], indent=2).replace("\n", "\r\n").encode()
    assert read_records([text], source="s")["rows"].to_pylist() == [{"a_b": [1, 2], "c": "x\ny"}]


def test_lines_are_records() -> None:
    assert read_lines([b'{"a": 1}\r\n\n{"a": 2}'], source="s")["rows"]["a"].to_pylist() == [1, 2]


def test_no_records_still_give_the_declared_columns() -> None:
    found = rows([], declared={"id": "int", "day": "date"})
    assert [(field.name, str(field.type)) for field in found.schema] == [("id", "int64"), ("day", "date32[day]")]


def test_no_records_and_no_schema_give_the_columns_that_were_asked_for() -> None:
    found = rows([], columns=("id", "day"))
    assert [(field.name, str(field.type)) for field in found.schema] == [("id", "null"), ("day", "null")]


def test_only_the_columns_asked_for_are_given_in_any_case() -> None:
    assert rows([{"Id": 1, "x": {"y": 2}, "z": 3}], columns=("id", "X_Y")).column_names == ["Id", "x_y"]


BAD_REPLIES: Mapping[str, tuple[bytes, str, str]] = {
    "an object": (b'{"items": [], "total": 0}', "", "found an object with the keys items, total at the top"),
    "a scalar": (b'{"data": 5}', "data", "found a number at 'data'"),
    "null": (b'{"data": null}', "data", "found null at 'data'"),
    "a missing key": (b'{"datum": []}', "data", "found null at 'data'"),
    "a key below text": (b'{"data": "x"}', "data.items", "found null at 'data.items'"),
    "scalars": (b"[1, 2]", "", "record 1 is a number, expected an object"),
    "a null among objects": (b'[{"a": 1}, null]', "", "record 2 is null, expected an object"),
    "a mixed list": (b'[{"a": 1}, [2]]', "", "record 2 is a list, expected an object"),
    "a projection to text": (b'{"a": {"b": "c"}}', "a.b || 'd'", "found text at"),
    "no JSON": (b"hello", "", "is not JSON"),
    "half of it": (b'[{"a": 1}, {"a"', "", "is not JSON"),
    "two documents": (b"[] []", "", "is not JSON"),
    "latin-1": (b'[{"a": "\xe9"}]', "", "is not UTF-8"),
    "a lone surrogate": (b'[{"a": "\\ud800"}]', "", "is not JSON"),
    "NaN": (b'[{"a": NaN}]', "", "is not JSON"),
    "too deep": (b"[" * 200_000, "", "is not JSON: it nests too deep"),
    "a too deep record": (b'[{"a":' + b"[" * 5000 + b"]" * 5000 + b"}]", "", "is not JSON: it nests too deep"),
}


@pytest.mark.parametrize(("part", "path", "message"), BAD_REPLIES.values(), ids=BAD_REPLIES.keys())
def test_what_is_no_list_of_objects_is_a_bad_reply(part: bytes, path: str, message: str) -> None:
    """TPL-10"""
    with pytest.raises(JackfieldError) as caught:
        read_records([part], data_path=path, source="s")
    assert caught.value.code is Code.SOURCE_BAD_REPLY
    assert message in caught.value.message


def test_a_wrong_path_says_what_is_near() -> None:
    with pytest.raises(JackfieldError) as caught:
        read_records([b'{"data": {"itms": []}}'], data_path="data.items", source="s")
    assert "Keys that are there: itms" in caught.value.hint


def test_one_object_can_be_said_to_be_the_record() -> None:
    assert read_records([b'{"a": 1}'], data_path="[@]", source="s")["rows"].to_pylist() == [{"a": 1}]


@pytest.mark.parametrize("path", ["[" * 3000, "[" * 1900, "a||" * 20_000, "a" * 1_000_000, "a b", "a[?"])
def test_an_unusable_path_is_a_configuration_error(path: str) -> None:
    """TPL-08"""
    with pytest.raises(JackfieldError) as caught:
        read_records([b"{}"], data_path=path, source="s")
    assert caught.value.code is Code.CONFIG_INVALID
    assert len(caught.value.message) < 500


def test_numbers_of_any_length_are_text() -> None:
    """LIM-12"""
    digits = "9" * 4000
    assert read_records([f'[{{"a": {digits}}}]'.encode()], source="s")["rows"]["a"].to_pylist() == [digits]
    assert read_records([b'[{"a": 1e400}]'], source="s")["rows"]["a"].to_pylist() == ["1E+400"]


leaves = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text("abc2025-:TZ", max_size=12) | st.sampled_from(["2025-03-01", "2025-03-01T12:00:00Z"])
values = st.recursive(
    leaves | texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner)
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abcd"), values), min_size=1, max_size=8))
def test_the_fast_way_gives_what_the_careful_way_gives(content: list[dict[str, Any]]) -> None:
    def not_so_fast(*_: object) -> pa.Table:
        raise NeedsCareError

    part = [json.dumps(content).encode()]
    fast = read_records(part, source="s", children=["a", "b"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records_module, "read_fast", not_so_fast)
        careful = read_records(part, source="s", children=["a", "b"])
    for name in careful:
        order = careful[name].column_names
        assert set(fast[name].column_names) == set(order)
        assert fast[name].select(order).cast(careful[name].schema).equals(careful[name])
        assert fast[name].select(order).schema.types == careful[name].schema.types


SPARSE = {
    "a key in each record": [{f"c{n}": 1} for n in range(8_000)],
    "many keys in one": [{f"c{n}": 1 for n in range(8_000)}],
    "late keys": [*({"a": 1} for _ in range(2_000)), *({f"c{n}": 1} for n in range(7_999))],
    "in objects within": [{f"a{n}": {f"b{m}": 1 for m in range(1_000)} for n in range(8)}],
}


@pytest.mark.parametrize("records", SPARSE.values(), ids=SPARSE)
def test_records_of_too_many_keys_are_refused_with_their_number(records: list[Any]) -> None:
    with pytest.raises(JackfieldError) as caught:
        rows(records)
    assert caught.value.code is Code.BUDGET_EXCEEDED
    assert re.search(r"[48],00[01] columns", caught.value.message)


def test_records_that_would_fill_memory_with_nulls_are_refused() -> None:
    with pytest.raises(JackfieldError, match=r"15,000 of 3,000 different keys") as caught:
        rows([{f"c{n % 3_000}": 1} for n in range(15_000)])
    assert caught.value.code is Code.BUDGET_EXCEEDED


def test_an_object_whose_keys_are_values_is_a_map_however_many_there_are() -> None:
    """In a time that grows with the reply: of 20,000 keys, the square would take minutes."""
    found, values = column([{"a": {f"user-{n}": n}} for n in range(20_000)])
    assert (found, values[7]) == ("string", '{"user-7":7}')
    found, values = column([{"a": {f"user-{n}": n for n in range(20_000)}}])
    assert found == "string"


def test_names_that_differ_in_case_only_are_told_apart_in_linear_time() -> None:
    names = ["".join(letters) for letters in itertools.product(*(f"{c}{c.upper()}" for c in "abcdefghijk"))]
    found = rows([dict.fromkeys(names, 1)]).column_names
    assert len({name.lower() for name in found}) == len(names) == 2048


def test_keys_that_come_late_or_hold_nothing_at_first_are_read_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(records_module, "_read_careful")
    records = [{"a": 1, "b": None}] * 1_001 + [{"a": 2, "b": "x", "c": {"d": 1.5}}]
    table = rows(records)
    assert table.num_rows == 1_002
    assert table.slice(1_001).to_pylist() == [{"a": 2, "b": "x", "c_d": 1.5}]


def test_a_number_beyond_every_float_is_text() -> None:
    found = read_records([b'[{"a":1e999999999},{"a":-1e999999999},{"a":1}]'], source="s")["rows"]
    assert found["a"].to_pylist() == ["1E+999999999", "-1E+999999999", "1"]


@pytest.mark.parametrize("number", ["1e-999999999", "1e-999", "1e-77"])
def test_a_number_of_more_digits_than_a_declared_decimal_is_no_zero(number: str) -> None:
    """Arrow's own reader gives 0.00 for some of these, and crashes for others."""
    with pytest.raises(JackfieldError) as caught:
        read_records([f'[{{"a":{number}}}]'.encode()], source="s", declared={"a": "decimal(10,2)"})
    assert caught.value.code is Code.TYPE_MISMATCH
