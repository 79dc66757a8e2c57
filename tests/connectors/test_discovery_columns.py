"""Columns out of rows and out of what a database says: types, keys, few values, and never a value that looks secret."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from jackfield.connectors.discovery.columns import columns_of
from jackfield.connectors.discovery.databases import tables_of
from jackfield.connectors.discovery.found import Column


def by_name(rows: list[dict[str, Any]], name: str = "orders") -> dict[str, Column]:
    return {column.name: column for column in columns_of(pa.Table.from_pylist(rows), name)}


def test_types_are_the_words_of_a_schema() -> None:
    moment = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    row = {
        "a": 1,
        "b": 1.5,
        "c": "x",
        "d": True,
        "e": dt.date(2026, 3, 1),
        "f": moment,
        "g": moment.replace(tzinfo=None),
        "h": Decimal("1.50"),
        "i": ["x"],
        "j": [{"k": 1}],
        "k": b"\0",
        "l": None,
    }
    found = by_name([row])
    assert [column.type for column in found.values()] == [
        *("int", "float", "string", "bool", "date", "datetime", "timestamp"),
        *("decimal(3,2)", "string[]", "json", "binary", "string"),
    ]
    assert found["l"].nullable
    assert not found["a"].nullable


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        (("name", "id"), "id"),
        (("customer_id", "order_id"), "order_id"),
        (("region", "uuid"), "uuid"),
        (("country", "region"), "country"),
    ],
)
def test_the_key_is_a_column_without_repeats_that_is_called_like_one(columns: tuple[str, str], key: str) -> None:
    rows = [{columns[0]: f"a{n}", columns[1]: f"b{n}"} for n in range(5)]
    assert [name for name, column in by_name(rows).items() if column.is_key] == [key]


def test_a_column_that_repeats_or_is_null_is_no_key() -> None:
    assert not any(column.is_key for column in by_name([{"id": 1}, {"id": 1}]).values())
    assert not any(column.is_key for column in by_name([{"id": 1}, {"id": None}]).values())


def test_values_are_told_where_they_are_few_for_so_many_rows() -> None:
    rows = [{"id": n, "state": ["open", "shut"][n % 2], "name": f"n{n}"} for n in range(10)]
    found = by_name(rows)
    assert found["state"].few == ("open", "shut")
    assert found["name"].few == ()
    assert found["id"].few == ()


@pytest.mark.parametrize(
    "name", ["password", "api_key", "apiKey", "access_token", "pin", "client_secret", "ssn", "pwd"]
)
def test_a_column_with_the_name_of_a_secret_shows_no_value(name: str) -> None:
    found = by_name([{"id": n, name: f"hunter{n % 2}"} for n in range(8)])[name]
    assert found.is_secret
    assert (found.examples, found.few) == ((), ())
    assert "hunter" not in str(found.as_json())


def test_a_column_whose_values_are_secrets_shows_none_whatever_its_name() -> None:
    found = by_name([{"id": 1, "note": "ghp_" + "a1B2" * 8}])["note"]
    assert found.is_secret
    assert found.examples == ()


@pytest.mark.parametrize("name", ["next_page_token", "max_tokens", "shipping", "spin", "opinion"])
def test_names_that_only_look_so_are_no_secrets(name: str) -> None:
    assert not by_name([{"id": 1, name: "x"}])[name].is_secret


POSTGRES: dict[str, list[dict[str, Any]]] = {
    "tables": [
        {"place": "public", "name": "orders", "kind": "r", "estimate": -1.0},
        {"place": "public", "name": "open_orders", "kind": "v", "estimate": 0.0},
    ],
    "columns": [
        {"place": "public", "name": "orders", "column_name": "id", "required": True, "type": "int4"},
        {"place": "public", "name": "orders", "column_name": "shop_id", "required": False, "type": "int4"},
        {"place": "public", "name": "orders", "column_name": "mood", "required": True, "type": "mood"},
    ],
    "keys": [
        {"place": "public", "name": "orders", "column_name": "id", "kind": "p", "other": None, "other_column": None},
        {"place": "public", "name": "orders", "column_name": "shop_id", "kind": "f", "other": "shops",
         "other_column": "id"},
    ],
    "enums": [{"type": "mood", "label": "sad"}, {"type": "mood", "label": "ok"}],
}  # fmt: skip


def test_postgres_says_keys_enums_views_and_what_may_be_null() -> None:
    orders, view = tables_of("postgres", POSTGRES)
    assert (orders.estimate, orders.is_view, view.is_view) == (None, False, True)
    assert orders.columns["id"].is_key
    assert orders.columns["shop_id"].refers == ("shops", "id")
    assert orders.columns["shop_id"].nullable
    assert orders.columns["mood"].values == ("sad", "ok")
    assert not orders.columns["mood"].nullable


def test_mysql_says_the_same_in_its_own_way_and_a_key_of_two_columns_is_none() -> None:
    column = {"place": "shop", "name": "orders"}
    answers: dict[str, list[dict[str, Any]]] = {
        "tables": [{**column, "kind": "BASE TABLE", "estimate": 12}],
        "columns": [
            {**column, "column_name": "a", "nullable": "NO", "type": "int(11)"},
            {**column, "column_name": "b", "nullable": "YES", "type": "enum('it''s','ok')"},
        ],
        "keys": [
            {**column, "column_name": "a", "constraint_name": "PRIMARY", "other": None, "other_column": None},
            {**column, "column_name": "b", "constraint_name": "PRIMARY", "other": None, "other_column": None},
        ],
    }
    (orders,) = tables_of("mysql", answers)
    assert orders.estimate == 12
    assert orders.columns["b"].values == ("it's", "ok")
    assert not orders.columns["a"].is_key
