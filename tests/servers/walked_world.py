"""What the walk of an agent is served: the demo, and a connector with enough of everything, over an upstream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers.http import HttpServer, Seen

from jackfield.surfaces.demo_world import TOKEN, lay_workspace, live_api


@dataclass(frozen=True)
class World:
    """What is served: the demo's connector and the walk's own, which is edited; and what they need."""

    paths: tuple[Path, ...]
    edited: Path
    upstream: str
    variables: Mapping[str, str]


@contextmanager
def world(folder: Path) -> Iterator[World]:
    edited = folder / "numbers.connector.json"
    edited.write_text(json.dumps(numbers_connector(), indent=1), "utf-8")
    demo = folder / "demo"
    lay_workspace(demo)
    with Upstream().server as server, live_api() as shop:
        variables = {"WALK_UPSTREAM": server.url, "SHOP_API": shop, "SHOP_TOKEN": TOKEN}
        yield World((edited, demo), edited, server.url, variables)


class Upstream:
    """Counts the calls that hang, and those that were let go again."""

    def __init__(self) -> None:
        self.hung = 0
        self.released = 0
        routes = {"/never": self._never, "/paged": self._paged, "/counted": self._counted}
        self.server = HttpServer(routes)

    async def _never(self, seen: Seen) -> Any:
        self.hung += 1
        await seen.disconnected()
        self.released += 1
        return {}

    def _paged(self, seen: Seen) -> Any:
        page = int(seen.query.get("page", "1"))
        return {"items": [{"n": page * 10 + n} for n in range(10 if page < 6 else 0)]}

    def _counted(self, seen: Seen) -> Any:
        return {"hung": self.hung, "released": self.released}


def numbers_connector() -> dict[str, Any]:
    """Tools enough for two pages of a list, rows enough for two of an answer, and an upstream that never answers."""
    parity = {
        "name": "parity",
        "type": "string",
        "description": "Which numbers to return, exactly",
        "enum": ["even", "odd"],
        "required": False,
    }
    rows = [{"n": n, "parity": "odd" if n % 2 else "even"} for n in range(120)]
    base = {"category": "READ", "parameters": []}
    few = [
        {
            **base,
            "id": f"number_tool_{n}",
            "name": f"Number {n}",
            "description": f"Return a number, which is {n}.",
            "sql": f"SELECT n FROM numbers WHERE n = {n}",
        }
        for n in range(120)
    ]
    return {
        "name": "Numbers",
        "slug": "numbers",
        "version": "1.0.0",
        "sources": [
            {"id": "numbers", "type": "rows", "rows": rows},
            {"id": "never", "type": "rest", "url": "{{ env:WALK_UPSTREAM }}/never", "schema": {"n": "int"}},
            {
                "id": "paged",
                "type": "rest",
                "url": "{{ env:WALK_UPSTREAM }}/paged",
                "data_path": "items",
                "pagination": {"strategy": "page", "page_param": "page", "size_param": "size", "page_size": 10},
                "cache_ttl_s": 0,
            },
        ],
        "tools": [
            {
                **base,
                "id": "list_numbers",
                "name": "List numbers",
                "description": "Return the numbers, all or those of one parity, in order.",
                "sql": "SELECT n, parity FROM numbers WHERE :parity IS NULL OR parity = :parity ORDER BY n LIMIT 1000",
                "parameters": [parity],
            },
            {
                **base,
                "id": "number_pages",
                "name": "Number pages",
                "description": "Return numbers that come in pages from elsewhere.",
                "sql": "SELECT n FROM paged LIMIT 1000",
            },
            {
                **base,
                "id": "wait_for_upstream",
                "name": "Wait",
                "description": "Return numbers of an upstream that never answers.",
                "sql": "SELECT n FROM never LIMIT 10",
                "timeout_s": 120,
            },
            *few,
        ],
        "skills": [
            {
                "id": "explain_numbers",
                "name": "Explain numbers",
                "description": "Explain what the numbers of one parity have in common.",
                "tool_ids": ["list_numbers"],
                "prompt_template": "Call list_numbers for the {{skill.input.parity}} numbers and explain them.",
                "parameters": [{**parity, "required": True}],
            }
        ],
    }
