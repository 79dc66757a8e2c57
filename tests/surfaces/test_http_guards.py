"""Guards: what the head of a request may not say, on any route. Each refusal is recorded; floods are counted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from servers.listening import Listening, listening

from jackfield.surfaces.http.refusals import MOST

from .serving import zoo

ROUTES = [("POST", "/mcp"), ("POST", "/v1/mcp"), ("GET", "/healthz"), ("GET", "/readyz"), ("GET", "/"),
          ("GET", "/api/connectors"), ("GET", "/v1/connectors"), ("GET", "/metrics")]  # fmt: skip


@pytest.fixture(scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Listening]:
    settings = {"SERVE_HOSTS": "tools.example.com", "SERVE_ORIGINS": "https://ui.test"}
    async with listening(zoo(tmp_path_factory.mktemp("zoo")), settings) as it:
        yield it


@pytest.mark.anyio
@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_mcp_02_another_host_name_is_421_on_every_route(here: Listening, method: str, path: str) -> None:
    for host in ("evil.test", f"evil.test:{here.port}", "127.0.0.1:1", f"127.0.0.1.evil.test:{here.port}", "localhost"):
        reply = await here.ask(method, path, host=host)
        assert reply.status == 421, host
        assert reply.error["details"] == {"reason": "foreign_host"}


@pytest.mark.anyio
@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_mcp_01_a_page_of_another_origin_is_403_on_every_route(here: Listening, method: str, path: str) -> None:
    for origin in ("https://evil.test", "null", "http://127.0.0.1:1", f"https://localhost.evil.test:{here.port}"):
        reply = await here.ask(method, path, origin=origin)
        assert reply.status == 403, origin
        assert reply.error["details"] == {"reason": "foreign_origin"}
        assert "access-control-allow-origin" not in reply.headers


@pytest.mark.anyio
async def test_mcp_01_no_tool_runs_for_a_foreign_page(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here:
        reply = await here.call("list_animals", {}, origin="https://evil.test")
        assert reply.status == 403
        assert reply.json["jsonrpc"] == "2.0"
        assert [(line["tool"], line["decision"]) for line in here.lines] == [("", "denied")]


@pytest.mark.anyio
async def test_own_names_and_origins_are_let_in(here: Listening) -> None:
    for host in (f"127.0.0.1:{here.port}", f"LOCALHOST:{here.port}", f"[::1]:{here.port}", "tools.example.com"):
        assert (await here.ask("GET", "/healthz", host=host)).status == 200, host
    for origin in (f"http://localhost:{here.port}", "https://ui.test", "https://tools.example.com"):
        assert (await here.ask("GET", "/healthz", origin=origin)).status == 200, origin


@pytest.mark.anyio
async def test_an_image_of_another_page_is_refused_and_a_link_to_us_is_not(here: Listening) -> None:
    image = await here.ask("GET", "/readyz", sec_fetch_site="cross-site", sec_fetch_mode="no-cors")
    assert (image.status, image.error["details"]) == (403, {"reason": "foreign_page"})
    link = await here.ask("GET", "/readyz", sec_fetch_site="cross-site", sec_fetch_mode="navigate")
    assert link.status == 200


@pytest.mark.anyio
@pytest.mark.parametrize("head", [
    b"Host: 127.0.0.1:%d\r\nHost: 127.0.0.1:%d\r\n", b"Host: 127.0.0.1:%d\r\nHost: evil.test\r\n", b"",
])  # fmt: skip
async def test_http_06_a_request_has_exactly_one_host(here: Listening, head: bytes) -> None:
    for version in (b"1.1", b"1.0"):
        hosts = head.replace(b"%d", b"%d" % here.port)
        reply = await here.say(b"GET /healthz HTTP/" + version + b"\r\n" + hosts + b"\r\n")
        assert reply.status == 400
        assert reply.headers["connection"] == "close"
        assert reply.error["details"]["reason"] in ("host_header", "not_http")


@pytest.mark.anyio
@pytest.mark.parametrize("framing", [
    "Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4",
    "Content-Length: 4\r\nContent-Length: 4", "Content-Length: 4\r\nContent-Length: 5", "Content-Length: +4",
    "Content-Length: 4, 4", "Content-Length: -1", "Content-Length: 0x4", "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding: identity", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: xchunked", "Transfer-Encoding : chunked", "Content-Length: 4\r\n Content-Length: 5",
])  # fmt: skip
async def test_http_05_ambiguous_framing_is_400_and_ends_the_connection(here: Listening, framing: str) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
    smuggled = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\n\r\n"
    reply = await here.say((head + "0\r\n\r\n" + smuggled).encode())
    assert reply.status == 400
    assert reply.headers["connection"] == "close"
    assert reply.error["details"]["reason"] in ("framing", "not_http")


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/mcp", "/v1/mcp", "/api/tools"])
async def test_http_15_an_encoded_body_is_415(here: Listening, path: str) -> None:
    for encoding in ("gzip", "deflate", "br", "zstd", "gzip, identity"):
        reply = await here.ask("POST", path, b"\x1f\x8b", content_type="application/json", content_encoding=encoding)
        assert (reply.status, reply.error["details"]["reason"]) == (415, "content_encoding")


@pytest.mark.anyio
async def test_methods_that_nobody_needs_are_405(here: Listening) -> None:
    for method in ("TRACE", "CONNECT", "PROPFIND", "PURGE"):
        reply = await here.ask(method, "/mcp")
        assert reply.status in (400, 405), method
    assert (await here.ask("OPTIONS", "/mcp")).status == 405
    assert "access-control-allow-methods" not in (await here.ask("OPTIONS", "/mcp")).headers


@pytest.mark.anyio
async def test_an_upgrade_is_not_made(here: Listening) -> None:
    reply = await here.ask("GET", "/healthz", connection="Upgrade", upgrade="websocket", sec_websocket_version="13",
                           sec_websocket_key="x3JJHMbDL1EzLkh9GBhXDw==")  # fmt: skip
    assert (reply.status, reply.json) == (200, {"status": "ok"})


@pytest.mark.anyio
async def test_a_target_that_is_no_path_is_400(here: Listening) -> None:
    reply = await here.ask("GET", "http://evil.test/healthz")
    assert (reply.status, reply.error["details"]["reason"]) == (400, "target")


@pytest.mark.anyio
async def test_headers_that_two_readers_could_read_in_two_ways_are_400(here: Listening) -> None:
    for name in ("Authorization: Bearer", "Mcp-Session-Id:", "Content-Type:", "Origin:"):
        head = f"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:{here.port}\r\n{name} a\r\n{name} b\r\n\r\n"
        reply = await here.say(head.encode())
        assert (reply.status, reply.error["details"]["reason"]) == (400, "repeated_header")


@pytest.mark.anyio
async def test_what_is_not_served_is_answered_in_the_one_shape(here: Listening) -> None:
    reply = await here.ask("GET", "/nothing")
    assert reply.status == 404
    assert reply.error.keys() == {"code", "message", "hint", "details"}
    assert (await here.ask("DELETE", "/healthz")).status == 405


@pytest.mark.anyio
async def test_every_answer_tells_a_browser_to_keep_out(here: Listening) -> None:
    for reply in (await here.ask("GET", "/healthz"), await here.ask("GET", "/healthz", host="evil.test")):
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in reply.headers


@pytest.mark.anyio
async def test_aud_04_a_refusal_is_one_line_with_its_reason_and_a_flood_of_them_is_counted(tmp_path: Path) -> None:
    async with listening(zoo(tmp_path)) as here:
        for _ in range(MOST + 30):
            await here.ask("GET", "/healthz", host="evil.test\u00ff")
        await here.ask("GET", "/nothing")
        await here.call("no_such_tool", {})
        lines = here.lines
    reasons = [(line["decision"], line["error"], line["message"].partition(":")[0]) for line in lines]
    assert reasons == [("denied", "ACCESS_DENIED", "foreign_host")] * MOST + [
        ("denied", "VALIDATION_INVALID_PARAMS", "route"),
        ("denied", "TOOL_NOT_FOUND", lines[-1]["message"].partition(":")[0]),
    ]
    assert here.lines[-1]["message"].startswith("30 more within")
    assert len(here.lines) == len(lines) + 1


@pytest.mark.anyio
async def test_a_sound_request_is_served_beside_all_that(here: Listening) -> None:
    reply = await here.call("list_animals", {"species": "dog"})
    assert reply.status == 200
    assert reply.json["result"]["structuredContent"]["rows"] == [{"id": 2, "name": "Rex", "species": "dog"}]
