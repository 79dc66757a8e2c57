"""Names out of addresses, columns and tables: identifiers, one and many, variables."""

from __future__ import annotations

import pytest

from jackfield.connectors.discovery.naming import identifier, name_of_address, plural, singular, slug, title, variable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("petId", "pet_id"),
        ("petIDs", "pet_ids"),
        ("Order Date", "order_date"),
        ("HTTPServer2", "http_server2"),
        ("2026 sales", "rows_2026_sales"),
        ("Größe", "grosse"),
        ("日本", "rows"),
        ("filter[status]", "filter_status"),
        ("x" * 100, "x" * 48),
    ],
)
def test_an_identifier_is_snake_case_of_plain_letters(text: str, expected: str) -> None:
    assert identifier(text) == expected


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("orders", "order"),
        ("pet_categories", "pet_category"),
        ("boxes", "box"),
        ("addresses", "address"),
        ("houses", "house"),
        ("people", "person"),
        ("statuses", "status"),
        ("movies", "movie"),
        ("series", "series"),
        ("buses", "bus"),
    ],
)
def test_one_of_many_and_many_of_one(many: str, one: str) -> None:
    assert singular(many) == one
    assert plural(one) == many
    assert singular(one) == one
    assert plural(many) == many


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.example.com/v1/customers", "customers"),
        ("https://api.example.com/v1/shops/7/orders.json?page=2", "orders"),
        ("https://api.example.com/api/v2/", "example"),
        ("http://127.0.0.1:8080/", "rows"),
        ("https://example.com/data%20sets/", "data_sets"),
    ],
)
def test_records_are_called_after_the_last_part_of_their_address_that_says_anything(url: str, expected: str) -> None:
    assert name_of_address(url) == expected


def test_slugs_titles_and_variables_are_made_of_any_name() -> None:
    assert slug("My Pet Shop!") == "my-pet-shop"
    assert title("pet_orders") == "Pet orders"
    assert variable("pet-shop", "token") == "PET_SHOP_TOKEN"
