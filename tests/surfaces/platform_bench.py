"""A workspace of its own with the platform tools over it, as tests of them drive them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jackfield.graphs.errors import JackfieldError
from jackfield.surfaces.app import App
from jackfield.surfaces.platform import PLATFORM_TOOLS, Bench
from jackfield.surfaces.settings import load

TOOLS = {tool.name: tool for tool in PLATFORM_TOOLS}


@dataclass
class Workbench:
    """`await bench("build-connector", name=…)`: the answer as JSON. `failed` gives the error of a call that fails."""

    folder: Path
    app: App
    bench: Bench

    async def __call__(self, tool: str, /, principal: str = "local", **arguments: Any) -> dict[str, Any]:
        answer = await TOOLS[tool].call(self.bench, arguments, principal)
        assert json.loads(json.dumps(answer)) == answer
        for field in TOOLS[tool].output_schema["required"]:
            assert field in answer
        return answer

    async def failed(self, tool: str, /, principal: str = "local", **arguments: Any) -> JackfieldError:
        try:
            await TOOLS[tool].call(self.bench, arguments, principal)
        except JackfieldError as error:
            return error
        raise AssertionError(f"{tool} did not fail")

    async def rows(self, connector: str, tool: str, **arguments: Any) -> list[dict[str, Any]]:
        answer = await self.app.call(connector, tool, arguments)
        rows: list[dict[str, Any]] = answer.as_json()["rows"]
        return rows

    def files(self) -> list[str]:
        """Every file below the workspace but for state, sorted."""
        found = (path for path in self.folder.rglob("*") if path.is_file() or path.is_symlink())
        names = (path.relative_to(self.folder).as_posix() for path in found)
        return sorted(name for name in names if not name.startswith(".jackfield/"))


@asynccontextmanager
async def workbench(
    folder: Path,
    *,
    variables: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    paths: tuple[Path, ...] = (),
) -> AsyncIterator[Workbench]:
    async with App(paths, settings=load(folder, settings or {}), variables=variables or {}) as app:
        yield Workbench(folder, app, Bench(app))


def connector(slug: str = "zoo", **parts: Any) -> str:
    """The text of a connector with one source of rows and one tool, but for what `parts` say."""
    source = {"id": "animals", "type": "rows", "rows": [{"id": 1, "name": "Tom"}, {"id": 2, "name": "Rex"}]}
    tool = {
        "id": "list_animals",
        "name": "List animals",
        "category": "READ",
        "description": "Return the animals of the zoo by their id.",
        "sql": "SELECT id, name FROM animals ORDER BY id LIMIT 100",
        "parameters": [],
    }
    document = {"name": "Zoo", "slug": slug, "version": "1.0.0", "sources": [source], "tools": [tool], **parts}
    return json.dumps(document)
