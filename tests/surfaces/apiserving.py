"""A workspace served as `jackfield serve` serves it, on a free port, and a client of its API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2

from jackfield.surfaces.app import App
from jackfield.surfaces.auditing import AuditJournal, audit_log
from jackfield.surfaces.http.listening import bind, url_of
from jackfield.surfaces.http.principals import Authenticate, local_only
from jackfield.surfaces.http.serving import serving
from jackfield.surfaces.observing import Observing, observed
from jackfield.surfaces.service import Service
from jackfield.surfaces.settings import load


@dataclass
class Api:
    url: str
    service: Service
    observing: Observing
    client: httpx2.AsyncClient

    async def get(self, path: str, **options: Any) -> httpx2.Response:
        return await self.client.get(f"/api{path}", **options)

    async def post(self, path: str, body: Any = None, **options: Any) -> httpx2.Response:
        return await self.client.post(f"/api{path}", json={} if body is None else body, **options)

    async def run(self, tool: str, **arguments: Any) -> httpx2.Response:
        return await self.post(f"/tools/{tool}/run", {"arguments": arguments})


@asynccontextmanager
async def api(
    folder: Path,
    *,
    environment: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    authenticate: Authenticate = local_only,
) -> AsyncIterator[Api]:
    """The workspace `folder`. `environment` holds settings, `variables` what connectors may name."""
    app = App(settings=load(folder, environment or {}), variables=variables or {})
    sockets = bind("127.0.0.1", 0)
    url = url_of(sockets[0], False)
    with audit_log(app.settings, app.secrets.redact) as log:
        async with (
            Service(app, AuditJournal(log)) as service,
            observed(service) as observing,
            serving(service, sockets, routes=observing.routes(), authenticate=authenticate),
            httpx2.AsyncClient(base_url=url, timeout=20, trust_env=False) as client,
        ):
            yield Api(url, service, observing, client)


class Stream:
    """Server-sent events as they come: `await stream.next("call_ended")`."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.aiter_lines()

    async def next(self, *kinds: str) -> tuple[str, str, Any]:
        """(id, kind, data) of the next event, of one of these kinds if any are named."""
        fields: dict[str, str] = {}
        with anyio.fail_after(10):
            async for line in self._lines:
                name, colon, value = line.partition(": ")
                if colon and name:
                    fields[name] = value
                elif not line and "event" in fields:
                    if not kinds or fields["event"] in kinds:
                        return fields["id"], fields["event"], json.loads(fields["data"])
                    fields = {}
        raise AssertionError("the stream ended")


@asynccontextmanager
async def following(served: Api, path: str = "/events", **headers: str) -> AsyncIterator[Stream]:
    sent = {"accept": "text/event-stream", **{name.replace("_", "-"): value for name, value in headers.items()}}
    async with served.client.stream("GET", f"/api{path}", headers=sent) as response:
        assert response.status_code == 200, await response.aread()
        yield Stream(response)
