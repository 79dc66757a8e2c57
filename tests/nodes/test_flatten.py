"""Nested records as plain tables that SQL can join."""

from __future__ import annotations

import json
from typing import Any

import duckdb
import pyarrow as pa

from jackfield.nodes.flatten import MAX_NAME, column_name
from jackfield.nodes.records import read_records

ORDERS: list[dict[str, Any]] = [
    {"id": 7, "items": [{"sku": "a", "parts": [{"n": 1}, {"n": 2}]}, {"sku": "b", "parts": []}]},
    {"id": 8, "items": []},
    {"id": 9},
    {"id": 10, "items": None},
    {"id": 11, "items": [{"sku": "c", "parts": [{"n": 3}]}, None]},
]


def tables(records: list[dict[str, Any]], *children: str, **options: Any) -> dict[str, pa.Table]:
    return read_records([json.dumps(records).encode()], source="s", children=children, **options)


def test_objects_become_columns_and_camel_case_stays() -> None:
    rows = tables([{"shipTo": {"postCode": "0150", "geo": {"lat": 59.9}}, "n": 1}])["rows"]
    assert rows.to_pylist() == [{"shipTo_postCode": "0150", "shipTo_geo_lat": 59.9, "n": 1}]


def test_arrays_of_plain_values_are_lists_for_sql() -> None:
    rows = tables([{"id": 1, "tags": ["a", "b"]}, {"id": 2, "tags": []}, {"id": 3, "tags": None}])["rows"]
    assert rows["tags"].to_pylist() == [["a", "b"], [], None]
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        assert connection.sql("SELECT id FROM rows WHERE list_contains(tags, 'b')").fetchall() == [(1,)]


def test_child_rows_join_their_parents_by_parent_id() -> None:
    found = tables(ORDERS, "items")
    assert found["rows"].to_pylist() == [{"id": 7}, {"id": 8}, {"id": 9}, {"id": 10}, {"id": 11}]
    assert [(row["_parent_id"], row["_index"], row["sku"]) for row in found["items"].to_pylist()] == [
        (7, 0, "a"),
        (7, 1, "b"),
        (11, 0, "c"),
    ]
    with duckdb.connect() as connection:
        connection.register("orders", found["rows"])
        connection.register("orders_items", found["items"])
        joined = connection.sql(
            "SELECT o.id, count(i.sku) FROM orders o LEFT JOIN orders_items i ON i._parent_id = o.id "
            "GROUP BY 1 ORDER BY 1"
        )
        assert joined.fetchall() == [(7, 2), (8, 0), (9, 0), (10, 0), (11, 1)]


def test_children_of_children_join_through_a_row_number_where_there_is_no_id() -> None:
    found = tables(ORDERS, "items", "items_parts")
    skus = {row["_row"]: row["sku"] for row in found["items"].to_pylist()}
    parts = [(skus[row["_parent_id"]], row["_index"], row["n"]) for row in found["items_parts"].to_pylist()]
    assert parts == [("a", 0, 1), ("a", 1, 2), ("c", 0, 3)]


def test_a_parent_without_id_shows_its_row_number_only_when_a_child_needs_it() -> None:
    records = [{"name": "x", "kids": [{"k": 1}]}, {"name": "y", "kids": [{"k": 2}]}]
    assert tables(records)["rows"].column_names == ["name"]
    found = tables(records, "kids")
    assert found["rows"].to_pylist() == [{"name": "x", "_row": 0}, {"name": "y", "_row": 1}]
    assert [row["_parent_id"] for row in found["kids"].to_pylist()] == [0, 1]


def test_an_array_within_an_object_is_a_child_by_its_path() -> None:
    found = tables([{"id": "p", "detail": {"lines": [{"q": 2}]}}], "detail_lines")
    assert found["detail_lines"].to_pylist() == [{"_parent_id": "p", "_index": 0, "q": 2}]


def test_a_child_that_no_record_has_is_an_empty_table() -> None:
    child = tables([{"id": 1}], "items")["items"]
    assert (child.num_rows, child.column_names) == (0, ["_parent_id", "_index"])


def test_a_childs_parent_id_has_the_type_that_the_parents_id_is_declared_as() -> None:
    found = tables([{"id": 7, "items": [{"a": 1}]}], "items", declared={"id": "string"})
    assert found["rows"]["id"].to_pylist() == ["7"]
    assert found["items"]["_parent_id"].to_pylist() == ["7"]


def test_each_generation_joins_in_the_types_that_its_ids_ended_with() -> None:
    records = [{"id": 7, "items": [{"id": "2025-03-01", "parts": [{"n": 1}]}]}]
    found = tables(records, "items", "items_parts", declared={"id": "string"})
    assert found["items"].schema.field("_parent_id").type == found["rows"].schema.field("id").type
    assert found["items_parts"].schema.field("_parent_id").type == found["items"].schema.field("id").type
    assert found["items_parts"]["_parent_id"].to_pylist() == found["items"]["id"].to_pylist()


def test_a_grandchild_may_be_read_without_its_parent() -> None:
    found = tables(ORDERS, "items_parts", declared={"id": "string"})
    assert found["items_parts"]["_parent_id"].to_pylist() == [0, 0, 2]


def test_an_id_that_is_no_plain_value_joins_nothing() -> None:
    found = tables([{"id": [1, 2], "kids": [{"k": 1}]}], "kids")
    assert found["rows"].to_pylist() == [{"id": [1, 2], "_row": 0}]
    assert found["kids"]["_parent_id"].to_pylist() == [0]


def test_too_deep_objects_become_json_text() -> None:
    deep: dict[str, Any] = {"end": 1}
    for key in "fedcba":
        deep = {key: deep}
    assert tables([deep])["rows"].to_pylist() == [{"a_b_c_d_e_f": '{"end":1}'}]


def test_a_map_with_ever_other_keys_becomes_json_text_and_a_wide_object_does_not() -> None:
    maps = [{"by_day": {f"2025-01-{day:02}": day}} for day in range(1, 20)]
    assert tables(maps)["rows"]["by_day"].to_pylist()[:2] == ['{"2025-01-01":1}', '{"2025-01-02":2}']
    wide = [{"o": {f"k{number}": number for number in range(40)}}] * 3
    assert len(tables(wide)["rows"].column_names) == 40


def test_names_that_sql_can_not_tell_apart_are_numbered() -> None:
    rows = tables([{"id": 1, "ID": 2, "a_b": 3, "a": {"b": 4}, "": 5}])["rows"]
    assert rows.to_pylist() == [{"id": 1, "ID_2": 2, "a_b": 3, "a_b_2": 4, "_": 5}]


def test_long_names_are_cut_with_a_hash_and_stay_apart() -> None:
    one, other = column_name("x" * 70, "one"), column_name("x" * 70, "other")
    assert one != other
    assert {len(one), len(other)} == {MAX_NAME}
    assert len(column_name("ü" * 60).encode()) <= MAX_NAME
    assert tables([{"y" * 100: 1}])["rows"].column_names == [column_name("y" * 100)]


def test_records_of_nothing_but_arrays_still_count() -> None:
    assert tables([{"kids": [{"k": 1}]}, {"kids": []}])["rows"].num_rows == 2
