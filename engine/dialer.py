"""The dialer: resolve once, ask the policy, connect to an address that it saw, and to no other.

The origin stays the host name, so the Host header, SNI, the certificate's name check and the pool's key do not change.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import anyio
import httpcore2

from ..nodes.blocking import in_thread

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
DialPolicy = Callable[[str, int, Sequence[Address]], None]  # raises JackfieldError SOURCE_BLOCKED to refuse
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

STAGGER_S = 0.25  # RFC 8305: the next address is tried beside one that has not answered for so long


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """The addresses, by the system, which may take long to find that there are none: the few threads that event loops
    keep for this are shared by all hosts, so it is asked in a thread of the caller's crowd."""
    with suppress(ValueError):
        return [str(ipaddress.ip_address(host))]
    found = await in_thread(
        lambda: socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP),
        abandon=True,
    )
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Dialer(httpcore2.AsyncNetworkBackend):
    """A network backend of httpcore2. Without a policy every address may be dialled."""

    def __init__(self, policy: DialPolicy | None = None, resolver: Resolver = system_resolver) -> None:
        self._policy = policy
        self._resolver = resolver
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 (the backend's signature)
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            with anyio.fail_after(timeout):
                addresses = interleaved(await self._resolve(host, port))
                if self._policy is not None:
                    self._policy(host, port, addresses)
                return await self._connect(addresses, port, socket_options)
        except TimeoutError:
            raise httpcore2.ConnectTimeout("no connection in time") from None

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.ConnectError("Unix sockets are not dialled")

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    async def _resolve(self, host: str, port: int) -> list[Address]:
        try:
            return [ipaddress.ip_address(host)]
        except ValueError:
            pass
        try:
            found = await self._resolver(host, port)
        except (OSError, UnicodeError):
            raise httpcore2.ConnectError("the name does not resolve") from None
        if not found:
            raise httpcore2.ConnectError("the name has no address")
        return [ipaddress.ip_address(address) for address in found]

    async def _connect(
        self, addresses: Sequence[Address], port: int, socket_options: Iterable[Any] | None
    ) -> httpcore2.AsyncNetworkStream:
        if len(addresses) == 1:
            return await self._inner.connect_tcp(str(addresses[0]), port, socket_options=socket_options)
        winner: httpcore2.AsyncNetworkStream | None = None
        failures: list[Exception] = []

        async def attempt(address: Address, done: anyio.Event) -> None:
            nonlocal winner
            try:
                stream = await self._inner.connect_tcp(str(address), port, socket_options=socket_options)
            except httpcore2.NetworkError as error:
                failures.append(error)
            else:
                if winner is None:
                    winner = stream
                    group.cancel_scope.cancel()
                else:
                    await stream.aclose()
            finally:
                done.set()

        async with anyio.create_task_group() as group:
            for address in addresses:
                done = anyio.Event()
                group.start_soon(attempt, address, done)
                with anyio.move_on_after(STAGGER_S):
                    await done.wait()
        if winner is None:
            raise httpcore2.ConnectError("no address answered") from failures[-1]
        return winner


def interleaved(addresses: Sequence[Address]) -> list[Address]:
    """IPv6 and IPv4 in turn, each family in the resolver's order, so that a dead family costs one stagger."""
    six: list[Address] = [address for address in addresses if address.version == 6]
    four: list[Address] = [address for address in addresses if address.version == 4]
    families = (six, four)
    longest = max(len(family) for family in families)
    return [family[place] for place in range(longest) for family in families if place < len(family)]
