"""Egress: the one way out for HTTP. No redirects, no cookies, no proxy or certificates from the environment.

Every limit is here: connect and read timeouts, one total deadline, connections a host, headers, the decoded body.
`details.sent` of its errors says whether the request may have reached the server, for those who must not repeat it.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import anyio
import httpcore2
import httpx2

from ..graphs.errors import Code, JackfieldError
from ..nodes.base import Request, Response
from .decoding import ACCEPTED, EncodingError, Inflater
from .dialer import Dialer, DialPolicy, Resolver, system_resolver

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_BAD_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BAD_URL: Final = re.compile(r"[\x00-\x20\x7f\\]")
_OURS: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"})


@dataclass(frozen=True, slots=True)
class EgressSettings:
    """`max_body_bytes` counts decoded bytes and holds for every response, whatever a request asks."""

    connect_timeout_s: float = 5.0
    max_connections: int = 1_000
    max_connections_per_host: int = 16
    keepalive_s: float = 15.0
    max_body_bytes: int = 256 << 20
    max_headers: int = 200
    max_header_bytes: int = 64 << 10
    http2: bool = False
    ca_file: str | None = None
    user_agent: str = "jackfield"


class Egress:
    """Sends requests over one pool. Close it with `aclose`, or use it as an async context."""

    def __init__(
        self,
        settings: EgressSettings | None = None,
        dial_policy: DialPolicy | None = None,
        resolver: Resolver = system_resolver,
    ) -> None:
        self.settings = settings or EgressSettings()
        self._dialer = Dialer(dial_policy, resolver)
        self._pools: dict[str, httpcore2.AsyncConnectionPool] = {}  # by scheme
        self._hosts: dict[str, _Turn] = {}

    async def send(self, request: Request) -> Response:
        """Send, and read the whole body. Any status is an answer.

        Raises SOURCE_UNREACHABLE, SOURCE_BLOCKED, SOURCE_TIMEOUT, SOURCE_BAD_REPLY, BUDGET_EXCEEDED, and CONFIG_INVALID
        for a URL or a header that may not be sent.
        """
        url = checked_url(request.url)
        cap = min(request.max_bytes or self.settings.max_body_bytes, self.settings.max_body_bytes)
        origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
        state = _State(origin)
        core = self._core_request(request, url, state)
        try:
            with anyio.fail_after(request.timeout_s):
                async with self._turn(origin):
                    return await self._exchange(core, request, cap, state)
        except TimeoutError:
            raise _timeout(state, f"within {request.timeout_s:g} s") from None
        except httpcore2.ConnectTimeout:
            raise _timeout(state, f"to a connection within {self.settings.connect_timeout_s:g} s", sent=False) from None
        except (httpcore2.ConnectError, httpcore2.UnsupportedProtocol):
            raise JackfieldError(
                Code.SOURCE_UNREACHABLE,
                f"No connection to {origin}.",
                "Check the host name and port in the URL, and that the service is up and reachable from here.",
                {"origin": origin, "sent": False},
                transient=True,
            ) from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise _broken(state, error) from None
        except EncodingError as error:
            raise JackfieldError(
                Code.SOURCE_BAD_REPLY,
                f"The reply of {origin} can not be decoded: {error}.",
                f"Expected no encoding, or one of: {ACCEPTED}.",
                {"origin": origin, "sent": True},
                transient=True,
            ) from None

    async def _exchange(self, core: httpcore2.Request, request: Request, cap: int, state: _State) -> Response:
        reply = await self._pool(core.url.scheme.decode()).handle_async_request(core)
        try:
            headers = self._checked_reply_headers(reply.headers, state.origin)
            body = await _body(reply, headers, cap, state.origin)
        finally:
            await reply.aclose()
        return Response(reply.status, headers, body, request.url)

    def _pool(self, scheme: str) -> httpcore2.AsyncConnectionPool:
        if scheme not in self._pools:
            settings = self.settings
            self._pools[scheme] = httpcore2.AsyncConnectionPool(
                ssl_context=self._tls_context() if scheme == "https" else None,
                max_connections=settings.max_connections,
                keepalive_expiry=settings.keepalive_s,
                http2=settings.http2,
                network_backend=self._dialer,
            )
        return self._pools[scheme]

    def _tls_context(self) -> ssl.SSLContext:
        """Takes some 20 ms, so it is made when first needed."""
        context = httpx2.create_ssl_context(trust_env=False)
        if self.settings.ca_file:
            context.load_verify_locations(self.settings.ca_file)
        return context

    def _core_request(self, request: Request, url: httpx2.URL, state: _State) -> httpcore2.Request:
        target = url.raw_path
        if request.query:
            joined = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in request.query)
            target += (b"&" if b"?" in target else b"?") + joined.encode("ascii")
        headers = {"host": url.netloc, "accept": b"*/*", "accept-encoding": ACCEPTED.encode()}
        headers["user-agent"] = self.settings.user_agent.encode()
        for name, value in request.headers:
            checked_header(name, value)
            headers[name.lower()] = value.encode()
        if request.body is not None or request.method in ("POST", "PUT", "PATCH"):
            headers["content-length"] = str(len(request.body or b"")).encode()
        timeouts = {"connect": self.settings.connect_timeout_s}  # reading and writing end at the total deadline
        return httpcore2.Request(
            request.method,
            httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=target),
            headers=[(name.encode(), value) for name, value in headers.items()],
            content=request.body or b"",
            extensions={"timeout": timeouts, "trace": state.trace},
        )

    def _checked_reply_headers(self, pairs: list[tuple[bytes, bytes]], origin: str) -> dict[str, str]:
        size = sum(len(name) + len(value) for name, value in pairs)
        if len(pairs) > self.settings.max_headers or size > self.settings.max_header_bytes:
            raise JackfieldError(
                Code.SOURCE_BAD_REPLY,
                f"The reply of {origin} has {len(pairs)} headers of {size:,} bytes.",
                f"At most {self.settings.max_headers} headers of {self.settings.max_header_bytes:,} bytes are read.",
                {"origin": origin, "sent": True},
            )
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in pairs}

    @asynccontextmanager
    async def _turn(self, origin: str) -> AsyncIterator[None]:
        """Wait for one of the origin's places, so that one slow host can not take every connection."""
        turn = self._hosts.setdefault(origin, _Turn(self.settings.max_connections_per_host))
        turn.users += 1
        try:
            async with turn.places:
                yield
        finally:
            turn.users -= 1
            if not turn.users:
                del self._hosts[origin]

    async def aclose(self) -> None:
        while self._pools:
            await self._pools.popitem()[1].aclose()

    async def __aenter__(self) -> Egress:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Turn:
    def __init__(self, places: int) -> None:
        self.places = anyio.Semaphore(places)
        self.users = 0


@dataclass(slots=True)
class _State:
    """How far one exchange came: `sent` once the request may have left."""

    origin: str
    sent: bool = False

    async def trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith("send_request_headers.started"):
            self.sent = True


def checked_url(text: str) -> httpx2.URL:
    """The URL by the one parser that also decides what is dialled. Raises CONFIG_INVALID."""
    try:
        url = httpx2.URL(text) if not _BAD_URL.search(text) else None
    except httpx2.InvalidURL:
        url = None
    if url is None or url.scheme not in ("http", "https") or not url.host or url.userinfo:
        found = "user information" if url is not None and url.userinfo else "something else"
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"A URL must be http:// or https:// and a host, without user, spaces or backslashes; found {found}.",
            "Put credentials into `auth`, and percent-encode what is not plain in a path.",
        )
    return url


def checked_header(name: str, value: str) -> None:
    """Raises CONFIG_INVALID naming the header, never its value, which may be a credential."""
    if not _TOKEN.match(name):
        fault = "has a name that is no HTTP token"
    elif name.lower() in _OURS:
        fault = "is set by Jackfield itself"
    elif _BAD_VALUE.search(value) or value != value.strip():
        fault = "has a line break, a control character, or a space at its end"
    else:
        return
    raise JackfieldError(
        Code.CONFIG_INVALID,
        f"Header {name[:60]!r} {fault}.",
        "If the value comes from the environment, look for a newline at its end.",
        {"header": name[:60]},
    )


async def _body(reply: httpcore2.Response, headers: dict[str, str], cap: int, origin: str) -> bytes:
    encoding = headers.get("content-encoding", "identity").strip().lower()
    length = headers.get("content-length", "")
    plain = encoding in ("identity", "")
    if plain and length.isdigit() and int(length) > cap:
        raise _too_large(origin, cap)
    inflater = None if plain else Inflater(encoding)
    parts: list[bytes] = []
    size = 0
    async for chunk in reply.aiter_stream():
        pieces: Iterable[bytes] = (chunk,) if inflater is None else inflater.feed(chunk)
        for piece in pieces:
            size += len(piece)
            if size > cap:
                raise _too_large(origin, cap)
            parts.append(piece)
    if inflater is not None:
        inflater.finish()
    return b"".join(parts)


def _too_large(origin: str, cap: int) -> JackfieldError:
    return JackfieldError(
        Code.BUDGET_EXCEEDED,
        f"A reply of {origin} is larger than {cap:,} bytes.",
        "Ask for fewer rows a page (`page_size`), or fewer fields.",
        {"origin": origin, "limit_bytes": cap, "sent": True},
    )


def _timeout(state: _State, how: str, sent: bool | None = None) -> JackfieldError:
    return JackfieldError(
        Code.SOURCE_TIMEOUT,
        f"No answer from {state.origin} {how}.",
        "Raise `timeout_s`, or ask for less.",
        {"origin": state.origin, "sent": state.sent if sent is None else sent},
        transient=True,
    )


def _broken(state: _State, error: Exception) -> JackfieldError:
    protocol = isinstance(error, httpcore2.ProtocolError)
    details: dict[str, Any] = {"origin": state.origin, "sent": state.sent}
    if protocol and not isinstance(error, httpcore2.LocalProtocolError):
        return JackfieldError(
            Code.SOURCE_BAD_REPLY,
            f"The reply of {state.origin} is cut short or is not HTTP.",
            "Nothing of it was used. Check that the URL is that of the API, and its port.",
            details,
            transient=True,
        )
    return JackfieldError(
        Code.SOURCE_UNREACHABLE, f"The connection to {state.origin} broke.", "", details, transient=True
    )
