"""Where the server listens: loopback sockets, bound before anything else is made, and TLS."""

from __future__ import annotations

import os
import socket
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Final

from ...graphs.errors import Code, JackfieldError
from .principals import is_loopback

try:
    import resource
except ImportError:  # a system without such limits
    resource = None  # type: ignore[assignment]

BACKLOG: Final = 1024


def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets bound to `host` (a loopback address, or localhost) and `port`; 0: a free one, the same on each.

    Raises CONFIG_INVALID for another host, and for a port that cannot be had.
    """
    addresses = _addresses(host)
    sockets: list[socket.socket] = []
    try:
        for address in addresses:
            chosen = sockets[0].getsockname()[1] if sockets else port
            try:
                sockets.append(_bound(address, chosen))
            except OSError as error:
                if sockets:
                    continue  # localhost is one address on a machine without the other
                raise _not_had(address, port, error) from None
    except BaseException:
        for made in sockets:
            made.close()
        raise
    return sockets


def raise_file_limit() -> None:
    """Each connection is a file: take as many as the system gives without asking."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with suppress(OSError, ValueError):  # some systems name a limit that they do not grant
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def files_for_connections() -> int:
    """How many connections there may be files for: the rest are for databases, sources and our own."""
    if resource is None:
        return 2**31
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 if soft == resource.RLIM_INFINITY else max(soft // 4 * 3, 16)


def url_of(sock: socket.socket, secure: bool) -> str:
    address, port = sock.getsockname()[:2]
    return f"{'https' if secure else 'http'}://{f'[{address}]' if ':' in address else address}:{port}"


def _addresses(host: str) -> list[str]:
    if host == "localhost":
        return ["127.0.0.1", "::1"] if socket.has_ipv6 else ["127.0.0.1"]
    bare = host.strip("[]")
    if is_loopback(bare):
        return [bare]
    raise JackfieldError(
        Code.CONFIG_INVALID,
        f"'{host}' is not a loopback address. Whoever could reach it could call every tool: callers cannot be"
        " authenticated yet.",
        "Listen on 127.0.0.1 or ::1, and let a proxy on this machine that authenticates its callers stand before it.",
        {"host": host},
    )


def _bound(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address, port))
        sock.listen(BACKLOG)  # now, so that a port that is taken is told now
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def _not_had(address: str, port: int, error: OSError) -> JackfieldError:
    reason = error.strerror or str(error)
    return JackfieldError(
        Code.CONFIG_INVALID,
        f"Port {port} of {address} cannot be listened on: {reason}.",
        "Another program has it, perhaps another `jackfield serve`. End that, or choose another with --port; 0 takes"
        " any that is free.",
        {"host": address, "port": port},
    )


def tls(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.2 and newer, with PEM files of a certificate chain and its key. Raises CONFIG_INVALID, naming the file."""
    for path, what in ((certificate, "certificate"), (key, "key")):
        try:
            path.read_bytes()
        except OSError as error:
            raise JackfieldError(
                Code.CONFIG_INVALID,
                f"The TLS {what} '{path}' cannot be read: {error.strerror}.",
                f"Give the path of a PEM file with --tls-{'cert' if what == 'certificate' else 'key'}.",
                {"path": str(path)},
            ) from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError, OSError) as error:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"'{certificate}' and '{key}' are no PEM certificate and its key: {_tls_reason(error)}.",
            "Both are PEM files, the key without a passphrase, and the certificate is of this key.",
            {"certificate": str(certificate), "key": str(key)},
        ) from None
    return context


def _tls_reason(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return str(reason).replace("_", " ").lower() if reason else "they cannot be read"
