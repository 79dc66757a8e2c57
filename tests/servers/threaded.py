"""What the servers for HTTP share: a port of their own, and an event loop in a thread while the block lasts."""

from __future__ import annotations

import asyncio
import socket
import threading
from abc import ABC, abstractmethod
from typing import Self


def listener() -> socket.socket:
    """A listening socket on a free loopback port.

    asyncio sets TCP_NODELAY only where the protocol is named; without it each reply waits 40 ms for an acknowledgement.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    return sock


class ThreadedServer(ABC):
    def __init__(self) -> None:
        self.socket = listener()
        self.port: int = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    @abstractmethod
    async def begin(self) -> None:
        """Serve on `socket` from now on."""

    @abstractmethod
    async def end(self) -> None:
        """Stop serving, and wait for nobody."""

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        await self.begin()
        self._ready.set()
        await self._stop.wait()
        await self.end()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(10), "the test server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive(), "the test server did not stop"
