"""What is refused by the head of a request alone, whichever route it is for: GUARDS, in order.

A page in a browser can reach a server on loopback: by its name (Host, when DNS is made to point here) or by its
address (Origin says whose page it is). Framing that two readers could read in two ways is how requests are smuggled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from starlette.types import Scope

from ...graphs.errors import Code
from .refusal import CLOSE, Refusal, refusal

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
ONCE: Final = (b"content-type", b"content-encoding", b"authorization", b"origin", b"mcp-session-id")
LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
DEFAULT_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Names:
    """The names this server goes by, beside those of loopback, and origins that may ask beside its own."""

    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()

    def know(self, host: str, scheme: str, scope: Scope) -> bool:
        """Whether `host`, with or without a port, is this server when it is asked by `scheme`."""
        address, own_port = scope.get("server") or ("", None)
        if host in self.hosts:
            return True
        name, port = _split(host, DEFAULT_PORTS.get(scheme))
        if own_port is not None and port != own_port:
            return False
        return name in LOOPBACK_NAMES or name in self.hosts or name in (address, f"[{address}]")


@dataclass(frozen=True, slots=True)
class Head:
    scope: Scope
    method: str
    headers: Mapping[bytes, tuple[bytes, ...]]  # by name, every value

    def get(self, name: bytes) -> str | None:
        values = self.headers.get(name)
        return None if values is None else values[0].decode("latin-1").strip()


Guard = Callable[[Head, Names], Refusal | None]


def head_of(scope: Scope) -> Head:
    headers: dict[bytes, tuple[bytes, ...]] = {}
    for name, value in scope["headers"]:
        headers[name] = (*headers[name], value) if name in headers else (value,)
    return Head(scope, scope["method"], headers)


def one_host(head: Head, names: Names) -> Refusal | None:
    count = len(head.headers.get(b"host", ()))
    if count == 1:
        return None
    found = f"This request has {count} Host headers." if count else "This request has no Host header."
    return refusal(400, "host_header", found, "Send exactly one, which names this server.", headers=(CLOSE,))


def known_method(head: Head, names: Names) -> Refusal | None:
    if head.method in METHODS:
        return None
    allowed = ", ".join(sorted(METHODS))
    return refusal(
        405, "method", f"The method {head.method[:20]} is not served.", f"Use {allowed}.",
        headers=((b"allow", allowed.encode()), CLOSE),
    )  # fmt: skip


def sound_framing(head: Head, names: Names) -> Refusal | None:
    """One Content-Length of digits, or one Transfer-Encoding that is `chunked`, or neither."""
    lengths = head.headers.get(b"content-length", ())
    encodings = head.headers.get(b"transfer-encoding", ())
    sound = len(lengths) + len(encodings) <= 1
    sound = sound and all(length.isdigit() for length in lengths)
    sound = sound and all(encoding.strip().lower() == b"chunked" for encoding in encodings)
    if sound:
        return None
    return refusal(
        400, "framing", "Where the body of this request ends is ambiguous.",
        "Send one Content-Length in digits, or `Transfer-Encoding: chunked`, and never both.", headers=(CLOSE,),
    )  # fmt: skip


def single_headers(head: Head, names: Names) -> Refusal | None:
    for name in ONCE:
        if len(head.headers.get(name, ())) > 1:
            shown = name.decode()
            return refusal(400, "repeated_header", f"The header {shown} is there more than once.", "Send it once.")
    return None


def known_host(head: Head, names: Names) -> Refusal | None:
    host = (head.get(b"host") or "").lower()
    if names.know(host, head.scope["scheme"], head.scope):
        return None
    return refusal(
        421, "foreign_host", f"This server does not go by the name '{host[:200]}'.",
        "Use its loopback address, or add the name to the setting `serve.hosts`.", Code.ACCESS_DENIED,
    )  # fmt: skip


def known_origin(head: Head, names: Names) -> Refusal | None:
    origin = head.get(b"origin")
    if origin is None:
        return None
    scheme, _, host = origin.lower().partition("://")
    if origin in names.origins or (scheme in DEFAULT_PORTS and names.know(host, scheme, head.scope)):
        return None
    return refusal(
        403, "foreign_origin", f"Pages of '{origin[:200]}' may not ask this server.",
        "Add the origin to the setting `serve.origins` if they are yours.", Code.ACCESS_DENIED,
    )  # fmt: skip


def own_page(head: Head, names: Names) -> Refusal | None:
    """A browser sends no Origin with an image or a script of another page, but says that it is of another."""
    site = head.get(b"sec-fetch-site")
    if site not in ("cross-site", "same-site") or head.get(b"origin") is not None:
        return None
    if head.get(b"sec-fetch-mode") == "navigate" and head.method == "GET":
        return None
    return refusal(
        403, "foreign_page", "A page of another site may not load this.", "Open it on its own.", Code.ACCESS_DENIED
    )


def plain_encoding(head: Head, names: Names) -> Refusal | None:
    encoding = head.get(b"content-encoding")
    if encoding is None or encoding.lower() == "identity":
        return None
    return refusal(
        415, "content_encoding", f"A request body in '{encoding[:40]}' is not unpacked.", "Send it as it is.",
        headers=((b"accept-encoding", b"identity"), CLOSE),
    )  # fmt: skip


GUARDS: Final[tuple[Guard, ...]] = (
    one_host, known_method, sound_framing, single_headers, known_host, known_origin, own_page, plain_encoding,
)  # fmt: skip


def refused(scope: Scope, names: Names) -> Refusal | None:
    """What the first guard that refuses this request says."""
    head = head_of(scope)
    for guard in GUARDS:
        found = guard(head, names)
        if found is not None:
            return found
    return None


def _split(host: str, default: int | None) -> tuple[str, int | None]:
    name, colon, port = host.rpartition(":")
    if not colon or port.endswith("]"):
        return host, default
    return name, int(port) if port.isascii() and port.isdecimal() and len(port) <= 5 else -1
