"""A workspace served as `jackfield serve` serves it, on a free port and in this loop; and requests of exact bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp.client import Client
from servers import audit as audits

from jackfield.surfaces.app import App
from jackfield.surfaces.auditing import AuditJournal, audit_folder, audit_log
from jackfield.surfaces.http.listening import bind
from jackfield.surfaces.http.principals import local_only
from jackfield.surfaces.http.serving import Serving, serving
from jackfield.surfaces.observing import observed
from jackfield.surfaces.service import Service
from jackfield.surfaces.settings import load

VERSION = "2026-07-28"
MCP_HEADERS = {
    "content_type": "application/json",
    "accept": "application/json, text/event-stream",
}


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Any:
        """The error in our shape, wherever it stands."""
        found = self.json["error"]
        return found.get("data", {}).get("error", found)


@dataclass
class Listening:
    service: Service
    serving: Serving
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The audit so far."""
        return audits.read(audit_folder(self.service.app.settings))

    def client(self, era: str, **options: Any) -> Client:
        return Client(self.url, mode=era, **options)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def say(self, data: bytes) -> Reply:
        """The reply to these very bytes, on a connection of their own."""
        async with self.connected() as (reader, writer):
            writer.write(data)
            return await read_reply(reader)

    async def ask(self, method: str, path: str, body: bytes = b"", /, **headers: str) -> Reply:
        """The reply to a sound request with these headers, whose names are written with `_`. Empty: leave it out."""
        return await self.say(self.request(method, path, body, **headers))

    def request(self, method: str, path: str, body: bytes = b"", /, **headers: str) -> bytes:
        sent = {"host": f"127.0.0.1:{self.port}", **({"content-length": str(len(body))} if body else {})}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items() if value)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + body

    async def post(self, document: Any, path: str = "/mcp", /, **headers: str) -> Reply:
        """The reply to an MCP message; bytes are sent as they are."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        return await self.ask("POST", path, body, **{**MCP_HEADERS, **headers})

    async def call(self, name: str, arguments: Any, number: int = 1, /, **headers: str) -> Reply:
        """`tools/call` of the stateless era."""
        return await self.say(self.request_of(name, arguments, number, **headers))

    def request_of(self, name: str, arguments: Any, number: int = 1, /, **headers: str) -> bytes:
        """The bytes of such a call."""
        body = json.dumps(call(name, arguments, number)).encode()
        given = {"mcp_method": "tools/call", "mcp_name": name, "mcp_protocol_version": VERSION, **MCP_HEADERS}
        return self.request("POST", "/mcp", body, **{**given, **headers})


def call(name: str, arguments: Any, number: int = 1) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    }
    params = {"name": name, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


async def read_reply(reader: asyncio.StreamReader) -> Reply:
    """One reply, of a length that it says or else up to the end of the connection. Raises EOFError for half a one."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    if "content-length" in headers:
        body = await reader.readexactly(int(headers["content-length"]))
    elif headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    else:
        body = await reader.read()
    return Reply(int(head[0].split()[1]), headers, body)


@asynccontextmanager
async def listening(
    path: Path,
    settings: Mapping[str, str] | None = None,
    *,
    authenticate: Callable[[Any], str | None] = local_only,
    variables: Mapping[str, str] | None = None,
) -> AsyncIterator[Listening]:
    """`path` (a connector file or a folder of them) served; `settings` by their JACKFIELD_… names without that."""
    folder = path.parent if path.suffix else path
    environment = {f"JACKFIELD_{name}": value for name, value in (settings or {}).items()}
    app = App([path], settings=load(folder, environment), variables=variables or {})
    with audit_log(app.settings, app.secrets.redact) as log:
        async with Service(app, AuditJournal(log)) as service:
            sockets = bind("127.0.0.1", 0)
            async with (
                observed(service) as observing,
                serving(service, sockets, authenticate=authenticate, routes=observing.routes()) as under_way,
            ):
                with anyio.fail_after(60):
                    yield Listening(service, under_way, sockets[0].getsockname()[1])
