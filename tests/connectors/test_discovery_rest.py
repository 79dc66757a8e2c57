"""What one reply of an API shows: where its records are, how pages go on, which credentials it asks for."""

from __future__ import annotations

from typing import Any

import pytest

from jackfield.connectors.discovery.authentication import need_of
from jackfield.connectors.discovery.envelope import envelope_of
from jackfield.connectors.discovery.pages import guesses, may_be_cut, total_of

ROWS = [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (ROWS, ""),
        ({"data": {"items": ROWS}, "meta": {"total": 2}}, "data.items"),
        ({"errors": [{"code": 1}], "pets": ROWS}, "pets"),
        ({"errors": [], "results": []}, "results"),
        ({"links": [{"rel": "self"}], "value": ROWS}, "value"),
        ({"_embedded": {"shops": ROWS}, "_links": {"self": {"href": "/"}}}, "_embedded.shops"),
        ({"hits": {"total": 2, "hits": ROWS}}, "hits.hits"),
        ({"odd-key": ROWS}, '"odd-key"'),
        ({"id": 7, "name": "Rex"}, "[@]"),
        ({"cat": {"id": 1, "legs": 4}, "bird": {"id": 2, "legs": 2}}, "values(@)"),
        ({"items": ["a", "b"]}, "[@]"),
        (["a", "b"], "[].{value: @}"),
        ({"columns": ["id", "name"], "rows": [[1, "a"], [2, "b"]]}, 'rows[*].{"id": [0], "name": [1]}'),
        ({"fields": [{"name": "id"}], "values": [[1]]}, 'values[*].{"id": [0]}'),
    ],
)
def test_the_records_are_found_in_the_envelope(document: Any, path: str) -> None:
    found = envelope_of(document, "pets")
    assert found is not None
    assert found.path == path


@pytest.mark.parametrize("document", [[1, {"id": 2}], [[1], [2]], "text", 7, None, {}])
def test_what_holds_no_records_is_none(document: Any) -> None:
    assert envelope_of(document) is None


def test_further_lists_are_told_and_those_called_like_the_source_win() -> None:
    found = envelope_of({"owners": [{"id": 1}, {"id": 2}, {"id": 3}], "pets": ROWS}, "pets")
    assert found is not None
    assert (found.path, found.others) == ("pets", ("owners",))


URL = "https://api.example.com/pets"


def first(document: Any, headers: dict[str, str] | None = None, url: str = URL, count: int = 2) -> dict[str, Any]:
    found = guesses(url, headers or {}, document, count)
    return dict(found[0]) if found else {}


def test_a_link_header_leads_on() -> None:
    assert first(ROWS, {"link": f'<{URL}?page=2>; rel="next"'})["strategy"] == "link_header"


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"next": "https://api.example.com/pets?page=2", "results": ROWS}, "next"),
        ({"count": 9, "next": None, "previous": None, "results": ROWS}, "next"),
        ({"paging": {"next": "/pets?after=x"}, "data": ROWS}, "paging.next"),
        ({"_links": {"next": {"href": "/pets?page=2"}}, "data": ROWS}, "_links.next.href"),
        ({"meta": {"next_page_url": "?page=2"}, "data": ROWS}, "meta.next_page_url"),
    ],
)
def test_the_address_of_the_next_page_is_found_in_the_reply(document: Any, field: str) -> None:
    found = first(document)
    assert (found["strategy"], found["next_url_field"]) == ("next_url", field)


def test_odata_is_known_by_its_own_field() -> None:
    assert first({"@odata.nextLink": "https://x/y", "value": ROWS})["strategy"] == "odata"


@pytest.mark.parametrize(
    ("document", "url", "field", "param"),
    [
        ({"next_cursor": "abc", "items": ROWS}, URL, "next_cursor", "cursor"),
        ({"next_cursor": None, "items": ROWS}, URL, "next_cursor", "cursor"),
        ({"nextPageToken": "abc", "items": ROWS}, URL, "nextPageToken", "pageToken"),
        ({"next_page_token": "abc", "items": ROWS}, URL, "next_page_token", "page_token"),
        ({"meta": {"cursor": "abc"}, "items": ROWS}, URL, "meta.cursor", "cursor"),
        ({"next": "9,1", "rows": ROWS}, f"{URL}?_next=1", "next", "_next"),
        ({"next_page": 2, "items": ROWS}, URL, "next_page", "page"),
    ],
)
def test_a_cursor_is_found_with_the_parameter_that_carries_it(document: Any, url: str, field: str, param: str) -> None:
    found = first(document, url=url)
    assert (found["strategy"], found["cursor_field"], found["cursor_param"]) == ("cursor", field, param)


def test_pages_by_number_take_their_size_and_total_from_the_reply() -> None:
    found = first({"page": 0, "per_page": 2, "total": 35, "items": ROWS})
    assert found == {
        "strategy": "page",
        "page_param": "page",
        "size_param": "per_page",
        "total_field": "total",
        "page_size": 2,
        "max_pages": 100,
        "start": 0,
    }


def test_offsets_take_the_names_of_the_reply_and_of_the_address() -> None:
    found = first({"skip": 0, "limit": 2, "total": 35, "items": ROWS}, url=f"{URL}?skip=0&limit=2")
    assert found["strategy"] == "offset"
    assert (found["offset_param"], found["limit_param"], found["total_field"]) == ("skip", "limit", "total")


def test_nothing_is_guessed_of_a_reply_that_says_nothing() -> None:
    assert guesses(URL, {}, ROWS, 2) == ()
    assert guesses(URL, {}, {"items": ROWS, "count": 2}, 2) == ()


def test_totals_are_read_from_headers_and_from_fields() -> None:
    assert total_of({"x-total-count": "35"}, ROWS) == 35
    assert total_of({}, {"meta": {"total": 12}, "items": ROWS}) == 12
    assert total_of({}, {"total": True, "items": ROWS}) is None


def test_a_round_number_of_records_may_be_a_first_page() -> None:
    assert may_be_cut(100, guessed=False)
    assert not may_be_cut(100, guessed=True)
    assert not may_be_cut(37, guessed=False)


@pytest.mark.parametrize(
    ("challenge", "body", "expected"),
    [
        ('Bearer realm="api"', "", {"type": "bearer", "secret_key": "PETS_TOKEN"}),
        (
            'Basic realm="x"',
            "",
            {"type": "basic", "user_secret_key": "PETS_USER", "pass_secret_key": "PETS_PASSWORD"},
        ),
        (
            'Token realm="x"',
            "",
            {"type": "api_key", "secret_key": "PETS_TOKEN", "header_name": "Authorization", "prefix": "Token "},
        ),
        (
            "",
            '{"error": "Missing header X-Shop-Key"}',
            {"type": "api_key", "secret_key": "PETS_API_KEY", "header_name": "X-Shop-Key"},
        ),
    ],
)
def test_what_a_refusal_asks_for_becomes_an_auth_that_names_variables(
    challenge: str, body: str, expected: dict[str, Any]
) -> None:
    need = need_of(401, {"www-authenticate": challenge} if challenge else {}, body, "pets")
    assert need is not None
    assert need.add == expected
    assert need.is_sure
    assert need.as_json()["required"] is True


def test_without_a_word_of_the_service_bearer_is_a_guess_that_is_told_as_one() -> None:
    need = need_of(403, {}, "Forbidden", "pets")
    assert need is not None
    assert not need.is_sure
    assert need.add["type"] == "bearer"
    assert need_of(404, {}, "", "pets") is None
