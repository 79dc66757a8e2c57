"""A TCP server that says what it is told to, byte for byte: for replies that no sound HTTP server would give."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable

from servers.threaded import ThreadedServer

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """The head of one request; its body, if any, is left unread."""
    return await reader.readuntil(b"\r\n\r\n")


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with RST instead of FIN."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()


class RawServer(ThreadedServer):
    """Runs `script` for each connection; `connections` counts them. With bytes, it reads a head, says them, closes."""

    def __init__(self, script: Script | bytes) -> None:
        self.connections = 0
        self._script = script if callable(script) else self._say(script)
        super().__init__()

    def _say(self, reply: bytes) -> Script:
        async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await read_request(reader)
            writer.write(reply)
            await writer.drain()

        return say

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._script(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client went away, which is its right
        finally:
            writer.close()

    async def begin(self) -> None:
        self._server = await asyncio.start_server(self._serve, sock=self.socket)

    async def end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # transports close in the turn after their tasks
