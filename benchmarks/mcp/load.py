"""One client for every server: a closed loop of `tools/call` over plain HTTP/1.1 connections that are kept.

    python load.py URL ERA TOOL CONCURRENCY SECONDS PID '{"id": [1, 100000]}'

ERA is `stateless` (2026-07-28) or `handshake` (2025-06-18). An argument that is a pair of numbers is drawn anew for
each call. Prints one JSON object: calls a second, p50 and p99 in milliseconds, bytes of an answer, and the processor
time that the server process PID (with its children) took for a call, in microseconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

HANDSHAKE, STATELESS = "2025-06-18", "2026-07-28"
CLIENT = {"name": "load", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": CLIENT,
}
WARM_S = 1.5


@dataclass
class Connection:
    """A connection and, in the handshake era, its session."""

    url: str
    stateless: bool
    session: str = ""
    number: int = 0
    reader: Any = field(init=False)
    writer: Any = field(init=False)

    async def open(self) -> None:
        parts = urlsplit(self.url)
        self.reader, self.writer = await asyncio.open_connection(parts.hostname, parts.port, limit=1 << 26)
        if not self.stateless:
            started = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": CLIENT}
            await self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": started})
            await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def call(self, tool: str, arguments: dict[str, Any]) -> bytes:
        self.number += 1
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        headers: tuple[str, ...] = ()
        if self.stateless:
            params["_meta"] = META
            headers = ("Mcp-Method: tools/call", f"Mcp-Name: {tool}")
        request = {"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params}
        status, body = await self.post(request, headers)
        if status != 200 or b'"isError":true' in body.replace(b" ", b"") or b'"error":{' in body.replace(b" ", b""):
            raise SystemExit(f"{self.url}: {status} {body[:600]!r}")
        return body

    async def post(self, message: dict[str, Any], more: tuple[str, ...] = ()) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        body = json.dumps(message).encode()
        version = STATELESS if self.stateless else HANDSHAKE
        head = [
            f"POST {parts.path} HTTP/1.1",
            f"Host: {parts.netloc}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            f"MCP-Protocol-Version: {version}",
            f"Content-Length: {len(body)}",
            *more,
            *((f"Mcp-Session-Id: {self.session}",) if self.session else ()),
        ]
        self.writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        return await self.answer()

    async def answer(self) -> tuple[int, bytes]:
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.session = headers.get("mcp-session-id", self.session)
        if "content-length" in headers:
            body = await self.reader.readexactly(int(headers["content-length"]))
        elif headers.get("transfer-encoding") == "chunked":
            body = b"".join([chunk async for chunk in self.chunks()])
        else:
            body = b""
        if headers.get("content-type", "").startswith("text/event-stream"):
            events = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
            body = next((event for event in reversed(events) if event), b"")
        return int(lines[0].split()[1]), body

    async def chunks(self) -> Any:
        while size := int((await self.reader.readline()).split(b";")[0], 16):
            yield (await self.reader.readexactly(size + 2))[:-2]
        await self.reader.readline()


def processor_seconds(pid: int) -> float:
    """User and system time of a process and all below it."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            ticks[int(entry.name)] = int(fields[11]) + int(fields[12])
    waiting, total = [pid], 0
    while waiting:
        one = waiting.pop()
        total += ticks.get(one, 0)
        waiting += children.get(one, [])
    return total / os.sysconf("SC_CLK_TCK")


async def main(url: str, era: str, tool: str, concurrency: int, seconds: float, pid: int, ranges: Any) -> None:
    connections = [Connection(url, era == "stateless") for _ in range(concurrency)]
    for connection in connections:
        await connection.open()

    def arguments() -> dict[str, Any]:
        return {name: random.randint(*value) if isinstance(value, list) else value for name, value in ranges.items()}

    size = len(await connections[0].call(tool, arguments()))
    took: list[float] = []
    ends = time.perf_counter() + WARM_S

    async def work(connection: Connection, keep: bool) -> None:
        while (began := time.perf_counter()) < ends:
            await connection.call(tool, arguments())
            if keep:
                took.append(time.perf_counter() - began)

    await asyncio.gather(*(work(connection, False) for connection in connections))
    before, began = processor_seconds(pid), time.perf_counter()
    ends = began + seconds
    await asyncio.gather(*(work(connection, True) for connection in connections))
    lasted = time.perf_counter() - began
    spent = processor_seconds(pid) - before
    took.sort()
    measured = {
        "rps": len(took) / lasted,
        "p50_ms": took[len(took) // 2] * 1e3,
        "p99_ms": took[int(len(took) * 0.99)] * 1e3,
        "bytes": size,
        "cpu_us": spent / len(took) * 1e6,
    }
    print(json.dumps(measured))


if __name__ == "__main__":
    url, era, tool, concurrency, seconds, pid, ranges = sys.argv[1:]
    asyncio.run(main(url, era, tool, int(concurrency), float(seconds), int(pid), json.loads(ranges)))
