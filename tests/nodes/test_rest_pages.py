"""Pages of a REST source: every strategy, in order, whole, bounded, and never in circles."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from servers import rest
from servers.http import HttpServer, Reply, Seen

from jackfield.engine.engine import Engine
from jackfield.engine.runs import Run
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.http.pagination import IN_FLIGHT, next_link
from jackfield.nodes.scan import Scan

pytestmark = pytest.mark.anyio

RECORDS = [{"id": number} for number in range(950)]


async def pull(url: str, pagination: Mapping[str, Any], scan: Scan | None = None, **source: Any) -> Run:
    return await rest.pull({"url": url, "data_path": "items", "pagination": pagination, **source}, scan=scan)


def ids(run: Run) -> list[int]:
    return [row["id"] for row in run.values["rows"].to_pylist()]


async def failure(url: str, pagination: Mapping[str, Any], **source: Any) -> JackfieldError:
    return await rest.failure({"url": url, "data_path": "items", "pagination": pagination, **source})


def by_number(
    size: int = 100, records: list[dict[str, int]] = RECORDS, **more: Any
) -> Callable[[Seen], dict[str, Any]]:
    def answer(seen: Seen) -> dict[str, Any]:
        asked = int(seen.query.get("per_page", size))
        start = (int(seen.query["page"]) - 1) * asked
        return {"items": records[start : start + asked], **more}

    return answer


def by_offset(cap: int = 10_000, **more: Any) -> Callable[[Seen], dict[str, Any]]:
    def answer(seen: Seen) -> dict[str, Any]:
        start, count = int(seen.query["offset"]), min(cap, int(seen.query.get("limit", 100)))
        return {"items": RECORDS[start : start + count], **more}

    return answer


PAGE = {"strategy": "page", "size_param": "per_page"}
OFFSET = {"strategy": "offset", "limit_param": "limit"}


@pytest.mark.parametrize(
    ("answer", "pagination", "requests"),
    [
        (by_number(), PAGE, None),
        (by_number(), {"strategy": "page"}, None),
        (by_number(size=30), {"strategy": "page"}, None),
        (by_number(total=950), {**PAGE, "total_field": "total"}, 10),
        (by_number(total="950"), {**PAGE, "page_size": 475, "total_field": "total"}, 2),
        (by_offset(), OFFSET, None),
        (by_offset(), {"strategy": "offset"}, None),
        (by_offset(cap=30), {"strategy": "offset"}, None),
        (by_offset(meta={"n": 950}), {**OFFSET, "total_field": "meta.n"}, 10),
    ],
)
async def test_pages_that_can_be_computed_come_whole_and_in_order(
    answer: Callable[[Seen], Any], pagination: dict[str, Any], requests: int | None
) -> None:
    with HttpServer({"/items": answer}) as server:
        run = await pull(f"{server.url}/items", pagination)
        assert ids(run) == list(range(950))
        assert requests is None or len(server.requests) == requests


async def test_the_total_may_be_in_a_header() -> None:
    def answer(seen: Seen) -> Reply:
        return Reply(by_number()(seen), headers={"X-Total-Count": "950"})

    with HttpServer({"/items": answer}) as server:
        assert ids(await pull(f"{server.url}/items", {**PAGE, "total_header": "X-Total-Count"})) == list(range(950))
        assert len(server.requests) == 10


async def test_about_eight_pages_are_under_way_at_once_and_order_stays() -> None:
    under_way = most = 0
    full = asyncio.Event()

    async def answer(seen: Seen) -> dict[str, Any]:
        nonlocal under_way, most
        page = int(seen.query["page"])
        if page > 1:
            under_way += 1
            most = max(most, under_way)
            if under_way == IN_FLIGHT:
                full.set()
            await full.wait()
            under_way -= 1
        return {"items": RECORDS[(page - 1) * 50 : page * 50], "total": 450}

    with HttpServer({"/items": answer}) as server:
        pagination = {**PAGE, "page_size": 50, "total_field": "total"}
        assert ids(await pull(f"{server.url}/items", pagination)) == list(range(450))
    assert most == IN_FLIGHT == 8


async def test_one_short_page_is_one_request() -> None:
    with HttpServer({"/items": by_number(records=RECORDS[:5])}) as server:
        assert ids(await pull(f"{server.url}/items", PAGE)) == [0, 1, 2, 3, 4]
        assert len(server.requests) == 1


async def test_first_page_and_parameter_names_are_the_apis() -> None:
    def answer(seen: Seen) -> dict[str, Any]:
        start = int(seen.query["p"]) * int(seen.query["n"])
        return {"items": RECORDS[start : start + int(seen.query["n"])]}

    with HttpServer({"/items": answer}) as server:
        pagination = {"strategy": "page", "page_param": "p", "size_param": "n", "start": 0, "page_size": 200}
        assert ids(await pull(f"{server.url}/items", pagination)) == list(range(950))


async def test_a_limit_stops_the_pages_and_makes_them_smaller() -> None:
    with HttpServer({"/items": by_number()}) as server:
        assert ids(await pull(f"{server.url}/items", PAGE, Scan(limit=250)))[:250] == list(range(250))
        assert len(server.requests) == 3
        assert ids(await pull(f"{server.url}/items", PAGE, Scan(limit=7))) == list(range(7))
        assert server.last.query["per_page"] == "7"


@pytest.mark.parametrize("pagination", [PAGE, {**PAGE, "total_field": "total"}])
async def test_the_page_cap_says_that_there_was_more(pagination: dict[str, Any]) -> None:
    with HttpServer({"/items": by_number(total=950)}) as server:
        run = await pull(f"{server.url}/items", {**pagination, "max_pages": 3})
        assert ids(run) == list(range(300))
        assert [event.facts for event in run.events if event.kind == "capped"] == [{"rows": 300, "max_pages": 3}]


async def test_rows_from_the_cache_still_say_that_there_was_more() -> None:
    with HttpServer({"/items": by_number()}) as server:
        config = {"url": f"{server.url}/items", "data_path": "items", "pagination": {**PAGE, "max_pages": 2}}
        graph = Graph(
            (Node("items", "rest", config), Node("output", "output")), (Edge("items", "output", "rows", "rows"),)
        )
        async with Engine(NODE_TYPES) as engine:
            runs = [await engine.run(graph, {}) for _ in range(2)]
        assert len(server.requests) == 2
        assert [event.facts["rows"] for run in runs for event in run.events if event.kind == "capped"] == [200, 200]


async def test_a_cap_that_is_just_enough_is_no_cap() -> None:
    with HttpServer({"/items": by_number()}) as server:
        run = await pull(f"{server.url}/items", {**PAGE, "max_pages": 10})
        assert len(ids(run)) == 950
        assert "capped" not in {event.kind for event in run.events}


async def test_an_api_that_ignores_the_page_is_found_out() -> None:
    with HttpServer({"/items": {"items": RECORDS[:100]}}) as server:
        error = await failure(f"{server.url}/items", PAGE)
        assert error.code is Code.SOURCE_BAD_REPLY
        assert "page 2 holds the very records of page 1" in error.message
        assert "page_param" in error.hint


async def test_a_page_that_fails_fails_the_pull_even_among_others() -> None:
    def answer(seen: Seen) -> Any:
        return Reply("no", 400) if seen.query["page"] == "5" else by_number()(seen)

    with HttpServer({"/items": answer}) as server:
        error = await failure(f"{server.url}/items", PAGE)
        assert (error.code, error.details["status"]) == (Code.SOURCE_ERROR, 400)


async def test_a_failing_page_beyond_the_last_is_no_failure() -> None:
    """Pages are asked for ahead; what is past the end was never needed."""

    def answer(seen: Seen) -> Any:
        return Reply("no such page", 404) if int(seen.query["page"]) > 10 else by_number()(seen)

    with HttpServer({"/items": answer}) as server:
        assert len(ids(await pull(f"{server.url}/items", PAGE))) == 950


def cursors(seen: Seen) -> dict[str, Any]:
    start = int(seen.query.get("cursor", "0"))
    after = start + 100
    return {"items": RECORDS[start:after], "meta": {"next": str(after) if after < 950 else None}}


@pytest.mark.parametrize("name", ["cursor_field", "cursor_path"])
async def test_a_cursor_is_followed_until_there_is_none(name: str) -> None:
    with HttpServer({"/items": cursors}) as server:
        run = await pull(f"{server.url}/items?fixed=1", {"strategy": "cursor", name: "meta.next"}, params={"q": "x"})
        assert ids(run) == list(range(950))
        assert {seen.query["q"] + seen.query["fixed"] for seen in server.requests} == {"x1"}


async def test_a_cursor_may_travel_in_the_body() -> None:
    def answer(seen: Seen) -> dict[str, Any]:
        start = seen.json().get("after", 0)
        return {"items": RECORDS[start : start + 400], "next": start + 400 if start + 400 < 950 else ""}

    pagination = {"strategy": "cursor", "cursor_field": "next", "cursor_param": "after", "in": "body"}
    with HttpServer({"POST /items": answer}) as server:
        run = await pull(f"{server.url}/items", pagination, method="POST", body={"q": 1})
        assert ids(run) == list(range(950))
        assert [seen.json() for seen in server.requests] == [{"q": 1}, {"q": 1, "after": 400}, {"q": 1, "after": 800}]


async def test_a_repeated_cursor_is_an_error() -> None:
    answers = iter(range(100))

    def answer(seen: Seen) -> dict[str, Any]:
        return {"items": [{"id": next(answers)}], "next_cursor": "abc" if len(server.requests) % 2 else "def"}

    with HttpServer({"/items": answer}) as server:
        error = await failure(f"{server.url}/items", {"strategy": "cursor"})
        assert error.code is Code.SOURCE_BAD_REPLY
        assert "go in circles" in error.message
        assert len(server.requests) == 3


LINKS: dict[str, Callable[[str, str], dict[str, str]]] = {
    "absolute": lambda base, rest: {"next": base + rest},
    "relative to the host": lambda base, rest: {"next": rest},
    "relative to the page": lambda base, rest: {"next": rest.rpartition("/")[2]},
}


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS.keys())
async def test_a_next_address_is_followed_with_the_credentials(link: Callable[[str, str], dict[str, str]]) -> None:
    def answer(seen: Seen) -> dict[str, Any]:
        start = int(seen.query.get("from", "0"))
        found = link(server.url, f"/v1/items?from={start + 500}") if start < 500 else {"next": None}
        return {"items": RECORDS[start : start + 500], **found}

    with HttpServer({"/v1/items": answer}) as server:
        auth = {"type": "api_key", "secret_key": "TOKEN", "query_param": "key"}
        run = await pull(f"{server.url}/v1/items", {"strategy": "next_url", "next_url_field": "next"}, auth=auth)
        assert ids(run) == list(range(950))
        assert [seen.query["key"] for seen in server.requests] == ["tok-123456", "tok-123456"]


@pytest.mark.parametrize(
    "link", ["http://evil.test/v1", "//evil.test/v1", "https://127.0.0.1/v1", "http://u:p@{host}/v1"]
)
async def test_a_next_address_at_another_origin_gets_no_credentials(link: str) -> None:
    def answer(seen: Seen) -> dict[str, Any]:
        return {"items": [{"id": 1}], "next": link.replace("{host}", seen.headers["host"])}

    with HttpServer({"/items": answer}) as server:
        error = await failure(f"{server.url}/items", {"strategy": "next_url"})
        assert (error.code, len(server.requests)) == (Code.SOURCE_BAD_REPLY, 1)
        assert "another origin" in error.message


async def test_next_addresses_in_a_circle_are_an_error() -> None:
    with HttpServer({"/items": {"items": [{"id": 1}], "next": "/items?page=2"}}) as server:
        assert "go in circles" in (await failure(f"{server.url}/items", {"strategy": "next_url"})).message


async def test_a_link_header_is_followed() -> None:
    def answer(seen: Seen) -> Reply:
        start = int(seen.query.get("from", "0"))
        link = f'</items?from=0>; rel="first", </items?from={start + 500}>; title="a, b"; rel="last next"'
        return Reply({"items": RECORDS[start : start + 500]}, headers={"Link": link} if start < 500 else {})

    with HttpServer({"/items": answer}) as server:
        assert ids(await pull(f"{server.url}/items", {"strategy": "link_header"})) == list(range(950))


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('<http://h/2>; rel="next"', "http://h/2"),
        ("<2>;rel=next", "2"),
        ('<1>; rel="prev", <3>; rel="next"; title="x"', "3"),
        ('<1>; rel="nextish"', None),
        ('<1>; title="rel=next"', None),
        ("", None),
    ],
)
def test_link_headers_are_read_as_written(header: str, expected: str | None) -> None:
    assert next_link(header) == expected


async def test_odata_is_followed_by_its_own_names() -> None:
    def answer(seen: Seen) -> dict[str, Any]:
        start = int(seen.query.get("$skip", "0"))
        more = {"@odata.nextLink": f"{server.url}/items?$skip={start + 500}"} if start < 500 else {}
        return {"value": RECORDS[start : start + 500], **more}

    with HttpServer({"/items": answer}) as server:
        assert ids(await pull(f"{server.url}/items", {"strategy": "odata"}, data_path="")) == list(range(950))


async def test_no_pagination_is_one_request() -> None:
    with HttpServer({"/items": {"items": RECORDS[:3]}}) as server:
        assert ids(await pull(f"{server.url}/items", {"strategy": "none"})) == [0, 1, 2]
        assert len(server.requests) == 1


async def test_cancelling_ends_every_page_under_way() -> None:
    closed = 0
    all_closed = threading.Event()
    full = asyncio.Event()

    async def answer(seen: Seen) -> Any:
        nonlocal closed
        if seen.query["page"] == "1":
            return by_number(total=950)(seen)
        if len(server.requests) == 1 + IN_FLIGHT:
            full.set()
        await full.wait()
        if seen.query["page"] == "2":
            return Reply("stop", 400)
        await seen.disconnected()
        closed += 1
        if closed == IN_FLIGHT - 1:
            all_closed.set()
        return None

    with HttpServer({"/items": answer}) as server:
        await failure(f"{server.url}/items", {**PAGE, "total_field": "total"})
        assert all_closed.wait(1)


@pytest.mark.parametrize(
    ("fields", "likely"),
    [
        ({"page_param": "page", "page_size": 50}, "page"),
        ({"offset_param": "skip", "page_size": 50}, "offset"),
        ({"cursor_path": "next"}, "cursor"),
    ],
)
async def test_fields_of_pages_without_a_strategy_are_refused_before_a_part_is_read(
    fields: dict[str, Any], likely: str
) -> None:
    with HttpServer({"/items": by_number(50)}) as server:
        error = await failure(f"{server.url}/items", fields)
        assert not server.requests
    assert error.code is Code.CONFIG_INVALID
    assert "only one page would be read" in error.message
    assert f'"strategy": "{likely}"' in error.message


async def test_a_page_size_beside_the_strategy_none_is_one_page() -> None:
    with HttpServer({"/items": {"items": RECORDS[:50]}}) as server:
        run = await pull(f"{server.url}/items", {"strategy": "none", "page_size": 50})
        assert len(server.requests) == 1
    assert len(ids(run)) == 50
