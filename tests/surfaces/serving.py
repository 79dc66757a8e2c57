"""A served workspace as its clients see it: over HTTP on a free port, and the official client in both eras."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.client import Client

from jackfield.surfaces.app import App
from jackfield.surfaces.http.application import application
from jackfield.surfaces.served import ServedCall
from jackfield.surfaces.service import Service
from jackfield.surfaces.settings import load

ERAS = ("legacy", "auto")  # the handshake, and what the client finds out: 2026-07-28


@dataclass
class Kept:
    """A journal that keeps its calls for the test to read."""

    calls: list[ServedCall] = field(default_factory=list)

    def require(self) -> None: ...

    def record(self, call: ServedCall) -> None:
        self.calls.append(call)


@dataclass
class Served:
    service: Service
    url: str
    calls: list[ServedCall]

    def client(self, era: str, **options: Any) -> Client:
        return Client(self.url, mode=era, **options)


@asynccontextmanager
async def served(
    path: Path,
    *,
    environment: dict[str, str] | None = None,
    variables: dict[str, str] | None = None,
    bare: bool = False,
    **options: Any,
) -> AsyncIterator[Served]:
    """`path` served over HTTP, or as a workspace with whatever it comes to hold (`bare`).

    `environment` holds settings, `variables` what connectors may name; `options` go to the application.
    """
    journal = Kept()
    folder = path.parent if path.suffix else path
    app = App([] if bare else [path], settings=load(folder, environment or {}), variables=variables or {})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with Service(app, journal) as service, anyio.create_task_group() as tasks:
            config = uvicorn.Config(application(service, **options), log_level="error", timeout_graceful_shutdown=1)
            server = _Server(config)
            tasks.start_soon(server.serve, [listener])
            with anyio.fail_after(10):
                await server.up.wait()
            try:
                yield Served(service, f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", journal.calls)
            finally:
                server.should_exit = True


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = anyio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    def install_signal_handlers(self) -> None: ...


def connector(folder: Path, **parts: Any) -> Path:
    """A connector file of these parts, with a slug unless they give one."""
    document = {"name": "Zoo", "slug": "zoo", "version": "1.0.0", "sources": [], "tools": [], **parts}
    path = folder / f"{document['slug']}.connector.json"
    path.write_text(json.dumps(document))
    return path


ANIMALS = [
    {"id": 1, "name": "Tom", "species": "cat", "weight": 4.0},
    {"id": 2, "name": "Rex", "species": "dog", "weight": 30.5},
    {"id": 3, "name": "Ada", "species": "cat", "weight": 3.5},
]
SOURCE = {"id": "animals", "type": "rows", "rows": ANIMALS}
SPECIES = {"name": "species", "type": "string", "description": "Exact species of the animals", "required": False}
LIST_ANIMALS = {
    "id": "list_animals",
    "name": "List animals",
    "category": "READ",
    "description": "Return animals by their id, optionally of one species. Returns up to 100 rows.",
    "sql": "SELECT id, name, species FROM animals WHERE (:species IS NULL OR species = :species) ORDER BY id LIMIT 100",
    "parameters": [SPECIES],
}
REPORT = {
    "id": "animal_report",
    "name": "Animal report",
    "description": "Summarise the animals of one species.",
    "tool_ids": ["list_animals"],
    "prompt_template": "Count the {{species}} animals with list_animals.",
    "parameters": [
        {"name": "species", "type": "string", "description": "Exact species", "required": True},
        {
            "name": "detail",
            "type": "string",
            "enum": ["short", "long"],
            "description": "How much to say",
            "required": False,
        },
    ],
}


def zoo(folder: Path) -> Path:
    """A connector with a source, a tool and a skill."""
    return connector(folder, sources=[SOURCE], tools=[LIST_ANIMALS], skills=[REPORT])
