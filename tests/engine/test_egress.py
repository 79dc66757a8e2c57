"""Egress against real sockets: what it sends, what it refuses, and that every wait ends."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Sequence

import anyio
import pytest
from servers.http import Hang, HttpServer, Reply, Seen
from servers.raw import RawServer, Script, read_request, reset

from jackfield.engine.dialer import Address, interleaved
from jackfield.engine.egress import Egress, EgressSettings
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.base import Request

pytestmark = pytest.mark.anyio


async def refusal(request: Request, egress: Egress) -> JackfieldError:
    with pytest.raises(JackfieldError) as caught:
        await egress.send(request)
    return caught.value


async def test_a_request_goes_out_as_it_was_given() -> None:
    with HttpServer({"POST /v1/{name:path}": lambda seen: {"got": seen.body.decode()}}) as server:
        async with Egress() as egress:
            request = Request(
                "POST",
                f"{server.url}/v1/a%2Fb?fixed=1",
                headers=(("X-Key", "k"),),
                query=(("q", "a&b=c"), ("q", "ü")),
                body=b"text",
            )
            response = await egress.send(request)
        assert (response.status, response.body) == (200, b'{"got": "text"}')
        seen = server.last
        assert seen.raw_path == "/v1/a%2Fb"
        assert seen.pairs == (("fixed", "1"), ("q", "a&b=c"), ("q", "ü"))
        assert seen.headers["x-key"] == "k"
        assert "cookie" not in seen.headers


async def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """SSRF-20"""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    with HttpServer({"/": {}}) as server:
        async with Egress() as egress:
            assert (await egress.send(Request("GET", server.url))).status == 200


async def test_cookies_are_not_kept_and_redirects_not_followed() -> None:
    """RED-01"""
    moved = Reply(b"", 302, {"location": "/there", "set-cookie": "a=b"})
    with HttpServer({"/": moved, "/there": {}}) as server:
        async with Egress() as egress:
            assert (await egress.send(Request("GET", server.url))).status == 302
            await egress.send(Request("GET", f"{server.url}/there"))
        assert [seen.path for seen in server.requests] == ["/", "/there"]
        assert "cookie" not in server.last.headers


@pytest.mark.parametrize(
    "url",
    [
        "unix:///var/run/docker.sock",
        "http+unix://%2Fvar/x",
        "file:///etc/passwd",
        "ftp://host/",
        "gopher://host/",
        "data:,x",
        "https://good.test@169.254.169.254/",
        "https://good.test\\@evil.test/",
        "http://",
        "http:///path",
        "//host/path",
        "http://host/a b",
        "http://host/\r\nx: y",
        "http://host:port/",
    ],
)
async def test_a_url_that_is_not_plain_http_is_refused(url: str) -> None:
    """SSRF-21, SSRF-22"""
    async with Egress() as egress:
        assert (await refusal(Request("GET", url), egress)).code is Code.CONFIG_INVALID


@pytest.mark.parametrize("value", ["key7\n", "key7\r\nX: y", "key7\0", " key7", "key7 "])
async def test_a_header_that_would_break_the_request_is_refused_without_showing_it(value: str) -> None:
    """AUTH-12"""
    async with Egress() as egress:
        error = await refusal(Request("GET", "http://127.0.0.1:1/", headers=(("X-Key", value),)), egress)
    assert error.code is Code.CONFIG_INVALID
    assert "X-Key" in error.message
    assert "key7" not in repr(error)


@pytest.mark.parametrize("name", ["Host", "Content-Length", "transfer-encoding", "a b", ""])
async def test_headers_that_frame_the_request_are_ours(name: str) -> None:
    async with Egress() as egress:
        error = await refusal(Request("GET", "http://127.0.0.1:1/", headers=((name, "x"),)), egress)
    assert error.code is Code.CONFIG_INVALID


async def test_a_dead_host_is_unreachable_and_was_sent_nothing() -> None:
    async with Egress() as egress:
        error = await refusal(Request("GET", "http://127.0.0.1:1/path?key=secret"), egress)
    assert (error.code, error.transient, error.details["sent"]) == (Code.SOURCE_UNREACHABLE, True, False)
    assert "secret" not in repr(error)


async def test_a_name_that_does_not_resolve_is_unreachable() -> None:
    async def nothing(host: str, port: int) -> Sequence[str]:
        raise OSError("no such name")

    async with Egress(resolver=nothing) as egress:
        assert (await refusal(Request("GET", "http://nowhere.test/"), egress)).code is Code.SOURCE_UNREACHABLE


async def test_a_slow_resolver_ends_with_the_connect_timeout() -> None:
    async def slow(host: str, port: int) -> Sequence[str]:
        await anyio.sleep_forever()
        raise AssertionError

    async with Egress(EgressSettings(connect_timeout_s=0.1), resolver=slow) as egress:
        error = await refusal(Request("GET", "http://nowhere.test/"), egress)
    assert (error.code, error.details["sent"]) == (Code.SOURCE_TIMEOUT, False)


async def test_no_answer_ends_at_the_deadline_and_closes_the_connection() -> None:
    hang = Hang()
    with HttpServer({"/": hang}) as server:
        async with Egress() as egress:
            error = await refusal(Request("GET", server.url, timeout_s=0.2), egress)
            assert (error.code, error.details["sent"]) == (Code.SOURCE_TIMEOUT, True)
            assert await anyio.to_thread.run_sync(hang.closed.wait, 1)


async def test_cancelling_closes_the_connection_within_a_second() -> None:
    hang = Hang()
    with HttpServer({"/": hang}) as server:
        async with Egress() as egress, anyio.create_task_group() as group:
            group.start_soon(egress.send, Request("GET", server.url))
            assert await anyio.to_thread.run_sync(hang.arrived.wait, 5)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(hang.closed.wait, 1)


def dripping(head: bytes, drop: bytes) -> Script:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(head)
        while True:
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.05)

    return drip


@pytest.mark.parametrize(
    "script",
    [
        dripping(b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n"),
        dripping(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", b"x"),
        dripping(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    ],
    ids=["headers", "body", "chunks"],
)
async def test_a_reply_that_drips_ends_at_the_deadline(script: Script) -> None:
    """LIM-06"""
    with RawServer(script) as server:
        async with Egress() as egress:
            with anyio.fail_after(3):
                error = await refusal(Request("GET", server.url, timeout_s=0.4), egress)
    assert error.code is Code.SOURCE_TIMEOUT


async def _reset_mid_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf")
    await writer.drain()
    reset(writer)


async def _reset_before_reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await read_request(reader)
    reset(writer)


BROKEN = {
    "reset mid-body": _reset_mid_body,
    "reset before the reply": _reset_before_reply,
    "short body": b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
    "chunks without an end": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    "two content lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 4\r\n\r\nhalf",
    "not HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "nothing": b"",
    "gzip that ends early": b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n" + gzip.compress(b"x" * 999)[:-9],
    "gzip that is none": b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nhalf",
    "an encoding not asked for": b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 4\r\n\r\nhalf",
}


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN.keys())
async def test_half_a_reply_is_never_an_answer(script: Script | bytes) -> None:
    with RawServer(script) as server:
        async with Egress() as egress:
            error = await refusal(Request("GET", server.url, timeout_s=5), egress)
    assert error.code in (Code.SOURCE_BAD_REPLY, Code.SOURCE_UNREACHABLE)
    assert error.transient
    assert error.details["sent"]


@pytest.mark.parametrize("size", [999, 1000])
@pytest.mark.parametrize("encode", [bytes, gzip.compress, zlib.compress, lambda body: zlib.compress(body, wbits=-15)])
async def test_a_body_up_to_the_cap_comes_whole(size: int, encode: object) -> None:
    """LIM-02"""
    assert callable(encode)
    body = encode(b"x" * size)
    headers = {} if encode is bytes else {"content-encoding": "gzip" if body[:2] == b"\x1f\x8b" else "deflate"}
    with HttpServer({"/": Reply(body, headers=headers)}) as server:
        async with Egress() as egress:
            assert (await egress.send(Request("GET", server.url, max_bytes=1000))).body == b"x" * size


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_beyond_the_cap_is_refused(chunked: bool) -> None:
    """LIM-02"""
    framing = b"transfer-encoding: chunked\r\n\r\n3e9\r\n" if chunked else b"content-length: 1001\r\n\r\n"
    reply = b"HTTP/1.1 200 OK\r\n" + framing + b"x" * 1001 + (b"\r\n0\r\n\r\n" if chunked else b"")
    with RawServer(reply) as server:
        async with Egress() as egress:
            error = await refusal(Request("GET", server.url, max_bytes=1000), egress)
    assert (error.code, error.details["limit_bytes"]) == (Code.BUDGET_EXCEEDED, 1000)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_the_cap_counts_decoded_bytes(encoding: str) -> None:
    """LIM-03"""
    bomb = (gzip.compress if encoding == "gzip" else zlib.compress)(bytes(64 << 20))
    assert len(bomb) < 100_000
    with HttpServer({"/": Reply(bomb, headers={"content-encoding": encoding})}) as server:
        async with Egress(EgressSettings(max_body_bytes=1 << 20)) as egress:
            assert (await refusal(Request("GET", server.url), egress)).code is Code.BUDGET_EXCEEDED


async def test_gzip_of_several_members_is_read_to_its_end() -> None:
    body = gzip.compress(b"one ") + gzip.compress(b"two")
    with HttpServer({"/": Reply(body, headers={"content-encoding": "gzip"})}) as server:
        async with Egress() as egress:
            assert (await egress.send(Request("GET", server.url))).body == b"one two"


@pytest.mark.parametrize("headers", [b"x: y\r\n" * 5000, b"x: " + b"y" * 2_000_000 + b"\r\n"], ids=["many", "long"])
async def test_too_many_or_too_long_headers_are_refused(headers: bytes) -> None:
    """LIM-10"""
    with RawServer(b"HTTP/1.1 200 OK\r\n" + headers + b"content-length: 0\r\n\r\n") as server:
        async with Egress() as egress:
            assert (await refusal(Request("GET", server.url), egress)).code is Code.SOURCE_BAD_REPLY


async def test_connections_are_reused() -> None:
    ports: set[object] = set()

    def answer(seen: Seen) -> dict[str, str]:
        ports.add(seen.request.client)
        return {}

    with HttpServer({"/": answer}) as server:
        async with Egress() as egress:
            for _ in range(5):
                await egress.send(Request("GET", server.url))
    assert len(ports) == 1


async def test_no_more_than_its_places_are_under_way_at_one_host() -> None:
    """LIM-13: one slow host does not take every connection."""
    under_way = most = 0
    gate = asyncio.Event()

    async def answer(seen: Seen) -> dict[str, str]:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if under_way == 2:
            gate.set()
        await gate.wait()
        under_way -= 1
        return {}

    with HttpServer({"/": answer}) as server:
        async with Egress(EgressSettings(max_connections_per_host=2)) as egress, anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(egress.send, Request("GET", server.url))
    assert most == 2


async def test_the_policy_sees_every_address_before_one_is_dialled() -> None:
    asked: list[tuple[str, int, list[str]]] = []

    def refuse(host: str, port: int, addresses: Sequence[Address]) -> None:
        asked.append((host, port, [str(address) for address in addresses]))
        raise JackfieldError(Code.SOURCE_BLOCKED, "That address is not allowed.")

    async def resolver(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1", "::1"]

    with RawServer(b"") as server:
        async with Egress(dial_policy=refuse, resolver=resolver) as egress:
            error = await refusal(Request("GET", f"http://inside.test:{server.port}/"), egress)
        assert (error.code, server.connections) == (Code.SOURCE_BLOCKED, 0)
    assert asked == [("inside.test", server.port, ["::1", "127.0.0.1"])]


async def test_what_was_vetted_is_what_is_dialled_and_the_host_header_stays() -> None:
    """A second answer of the resolver, after the policy looked, changes nothing: it is never asked for."""
    answers = iter([["127.0.0.1"], ["192.0.2.1"]])

    async def resolver(host: str, port: int) -> Sequence[str]:
        return next(answers)

    with HttpServer({"/": {}}) as server:
        async with Egress(dial_policy=lambda host, port, addresses: None, resolver=resolver) as egress:
            assert (await egress.send(Request("GET", f"http://api.test:{server.port}/"))).status == 200
        assert server.last.headers["host"] == f"api.test:{server.port}"


async def test_a_second_address_is_tried_when_the_first_is_dead() -> None:
    async def resolver(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.2", "127.0.0.1"]

    with HttpServer({"/": {}}) as server:
        async with Egress(resolver=resolver) as egress:
            assert (await egress.send(Request("GET", f"http://api.test:{server.port}/"))).status == 200


def test_address_families_take_turns() -> None:
    import ipaddress

    addresses = [ipaddress.ip_address(text) for text in ("192.0.2.1", "192.0.2.2", "2001:db8::1")]
    assert [str(address) for address in interleaved(addresses)] == ["2001:db8::1", "192.0.2.1", "192.0.2.2"]
