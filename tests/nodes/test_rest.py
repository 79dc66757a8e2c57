"""What a `rest` source sends: its arguments, its credentials, and no more than those."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from servers.http import HttpServer, Reply
from servers.rest import failure, pull, rows

from jackfield.graphs.errors import Code
from jackfield.nodes.rest import RestConfiguration, arguments_of

pytestmark = pytest.mark.anyio


async def test_params_bind_arguments_and_leave_out_what_is_absent() -> None:
    params = {
        "q": ":text",
        "since": ":since",
        "tag": ":tags",
        "gone": ":gone",
        "fixed": 5,
        "on": True,
        "key": "{{ env:TOKEN }}",
    }
    with HttpServer({"/items": []}) as server:
        arguments = {"text": "{{ env:PASS }} & :x", "since": dt.date(2025, 3, 1), "tags": ["a", "b"], "gone": None}
        await pull({"url": f"{server.url}/items", "params": params}, arguments)
        assert server.last.pairs == (
            ("q", "{{ env:PASS }} & :x"),
            ("since", "2025-03-01"),
            ("tag", "a"),
            ("tag", "b"),
            ("fixed", "5"),
            ("on", "true"),
            ("key", "tok-123456"),
        )


@pytest.mark.parametrize("value", ["a/b", "../keys", "1?admin=1", "1#x", "%2e%2e", "ü ;,", "{{ env:TOKEN }}", 7])
async def test_a_path_argument_is_one_segment_whatever_it_holds(value: object) -> None:
    """PATH-15, TPL-04"""
    with HttpServer({"/v1/users/{rest:path}": [{"id": 1}]}) as server:
        await pull({"url": server.url + "/{{ env:HOST_PATH }}/users/{id}/posts"}, {"id": value})
        assert server.last.raw_path.count("/") == 4
        assert server.last.params["rest"] == f"{value}/posts"
        assert server.last.pairs == ()


@pytest.mark.parametrize("value", ["", ".", ".."])
async def test_a_path_argument_that_would_climb_is_refused(value: str) -> None:
    """PATH-15"""
    error = await failure({"url": "http://127.0.0.1:1/users/{id}"}, {"id": value})
    assert (error.code, error.details["parameter"]) == (Code.VALIDATION_INVALID_PARAMS, "id")


async def test_two_path_arguments_can_not_climb_together() -> None:
    error = await failure({"url": "http://127.0.0.1:1/users/{a}{b}/x"}, {"a": ".", "b": "."})
    assert error.code is Code.VALIDATION_INVALID_PARAMS


async def test_a_missing_path_argument_is_named() -> None:
    error = await failure({"url": "http://127.0.0.1:1/users/{id}"}, {"id": None})
    assert (error.code, error.details["parameter"]) == (Code.VALIDATION_MISSING_FIELD, "id")


async def test_no_argument_may_choose_the_host() -> None:
    error = await failure({"url": "http://{host}/users"}, {"host": "evil.test"})
    assert error.code is Code.CONFIG_INVALID


def test_the_arguments_that_a_source_names_are_known() -> None:
    config = RestConfiguration(url="http://x/{id}", params={"q": ":text"}, body={"a": [":deep"]}, headers={"x": ":h"})
    assert arguments_of(config) == {"id", "text", "deep", "h"}


AUTHS: list[tuple[dict[str, Any], str, str]] = [
    ({"type": "bearer", "secret_key": "TOKEN"}, "authorization", "Bearer tok-123456"),
    ({"type": "api_key", "secret_key": "TOKEN", "header_name": "X-Api-Key"}, "x-api-key", "tok-123456"),
    (
        {"type": "api_key", "secret_key": "TOKEN", "header_name": "Authorization", "prefix": "Token "},
        "authorization",
        "Token tok-123456",
    ),
    (
        {"type": "basic", "user_secret_key": "USER", "pass_secret_key": "PASS"},
        "authorization",
        "Basic YWRhOnA6w6Qgc3Mtd29yZA==",
    ),
    ({"type": "basic", "secret_key": "PAIR"}, "authorization", "Basic YWRhOnA6dw=="),
]


@pytest.mark.parametrize(("auth", "name", "value"), AUTHS)
async def test_credentials_go_into_their_header(auth: dict[str, Any], name: str, value: str) -> None:
    """AUTH-13"""
    with HttpServer({"/items": []}) as server:
        await pull({"url": f"{server.url}/items", "auth": auth})
        assert server.last.headers[name] == value


@pytest.mark.parametrize("auth", [None, {"type": "none"}])
async def test_no_credentials_are_sent_without_auth(auth: object) -> None:
    with HttpServer({"/items": []}) as server:
        await pull({"url": f"{server.url}/items", "auth": auth})
        assert "authorization" not in server.last.headers


@pytest.mark.parametrize("place", [{"query_param": "key"}, {"header_name": "key", "in": "query"}])
async def test_an_api_key_may_go_into_the_query_and_into_no_message(place: dict[str, str]) -> None:
    auth = {"type": "api_key", "secret_key": "TOKEN", **place}
    with HttpServer({"/items": lambda seen: Reply(f"bad key {seen.query['key']}", 400)}) as server:
        error = await failure({"url": f"{server.url}/items", "auth": auth})
        assert server.last.query["key"] == "tok-123456"
        assert error.message == "Source 'items' answered 400 Bad Request: bad key ***."
        assert "tok-123456" not in repr(error)


@pytest.mark.parametrize(
    ("auth", "code"),
    [
        ({"type": "basic", "user_secret_key": "COLON", "pass_secret_key": "PASS"}, Code.CONFIG_INVALID),
        ({"type": "basic", "secret_key": "TOKEN"}, Code.CONFIG_INVALID),
        ({"type": "bearer", "secret_key": "UNSET"}, Code.SECRET_MISSING),
        ({"type": "basic", "user_secret_key": "USER"}, Code.CONFIG_INVALID),
        ({"type": "api_key", "secret_key": "TOKEN"}, Code.CONFIG_INVALID),
        ({"type": "bearer"}, Code.CONFIG_INVALID),
    ],
)
async def test_credentials_that_can_not_be_made_are_an_error_before_anything_is_sent(
    auth: dict[str, Any], code: Code
) -> None:
    """AUTH-13, TPL-02"""
    with HttpServer({"/items": []}) as server:
        error = await failure({"url": f"{server.url}/items", "auth": auth})
        assert (error.code, server.requests) == (code, [])


async def test_a_post_searches_by_its_body() -> None:
    body = {"filter": {"q": ":text", "none": ":gone", "n": ":n"}, "key": "{{ env:HOST_PATH }}"}
    with HttpServer({"POST /search": lambda seen: {"hits": [seen.json()["filter"]]}}) as server:
        source = {"url": f"{server.url}/search", "method": "POST", "body": body, "data_path": "hits"}
        run = await pull(source, {"text": "{{ env:TOKEN }}", "gone": None, "n": 3})
        assert rows(run) == [{"q": "{{ env:TOKEN }}", "n": 3}]
        assert server.last.json()["key"] == "v1"
        assert server.last.headers["content-type"] == "application/json"
