"""Agents as they are on the wire: one kept connection each, in either era, in as few bytes as the protocol takes."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from typing import Any, Final, Self

from servers.listening import VERSION, Reply, call, read_reply

HANDSHAKE: Final = "2025-11-25"
NUMBERS: Final = itertools.count(1)  # of messages: within a session no two may have the same


class Agent:
    """Stateless, or of a `session` by the id that a handshake gave: several agents may share one."""

    def __init__(self, port: int, session: str | None = None) -> None:
        self._port = port
        self.session = session

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *failure: Any) -> None:
        self._writer.close()

    async def shake(self) -> str:
        """Begin a session and answer its id."""
        begun = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
        reply = await self._post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begun}, {})
        self.session = reply.headers["mcp-session-id"]
        told = await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, {})
        assert told.status == 202, told
        return self.session

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The result of one `tools/call`. Raises OSError or EOFError when the server goes away."""
        number = next(NUMBERS)
        if self.session is None:
            message = call(name, arguments, number)
            headers = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": name}
        else:
            params = {"name": name, "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            headers = {}
        reply = await self._post(message, headers)
        answered = _message(reply)
        assert (reply.status, answered["id"]) == (200, number), reply
        return answered["result"]

    async def _post(self, message: Mapping[str, Any], headers: Mapping[str, str]) -> Reply:
        body = json.dumps(message).encode()
        sent = {
            "host": f"127.0.0.1:{self._port}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "content-length": str(len(body)),
            **headers,
        }
        if self.session is not None:
            sent |= {"mcp-session-id": self.session, "mcp-protocol-version": HANDSHAKE}
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        self._writer.write(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        return await read_reply(self._reader)


def _message(reply: Reply) -> Any:
    """The response, whether it came as JSON or as the last event of a stream."""
    if not reply.headers.get("content-type", "").startswith("text/event-stream"):
        return reply.json
    data = [line.removeprefix(b"data: ") for line in reply.body.splitlines() if line.startswith(b"data: {")]
    return json.loads(data[-1])
