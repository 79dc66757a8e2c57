"""`jackfield.aopen`: the same as `jackfield.open` for async code, on the caller's own event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ..connectors.model import Connector
from ..nodes.blocking import in_thread
from ..nodes.table import Table
from .answers import in_parts
from .app import App
from .attributes import ByName
from .outcome import Result
from .python import require_tool, save_alone


class AsyncTool:
    """A tool of an open connector: `await tool(name=value)`, or `async for batch in tool.stream(…)`."""

    def __init__(self, app: App, connector: Connector, name: str) -> None:
        self._app = app
        self._connector = connector
        self._name = name

    async def __call__(self, **arguments: Any) -> Result:
        return Result(await self._app.call(self._connector.slug, self._name, arguments), save_alone)

    async def stream(self, *, batch_rows: int = 10_000, **arguments: Any) -> AsyncIterator[Table]:
        """The rows as Tables of `batch_rows` rows, read while the call goes on: its time limit covers the reading.

        A loop that is left early ends the call when this generator is closed (`contextlib.aclosing`), and at the latest
        with the block of `aopen`.
        """
        result = await self._app.call(self._connector.slug, self._name, arguments, stream=True)
        table = Result(result, save_alone).table
        parts = in_parts(table, batch_rows)
        try:
            while (part := await in_thread(lambda: next(parts, None), cancel=table.cancel)) is not None:
                yield part
        finally:
            table.close()


class AsyncConnector(ByName[AsyncTool]):
    """An open connector; its tools and skills are attributes."""

    def __init__(self, app: App, connector: Connector) -> None:
        self._app = app
        self._connector = connector

    def _names(self) -> list[str]:
        return [*self._connector.tools, *self._connector.skills]

    def __getitem__(self, name: str) -> AsyncTool:
        require_tool(self._connector, name)
        return AsyncTool(self._app, self._connector, name)


@asynccontextmanager
async def aopen(*paths: str | Path, variables: Mapping[str, str] | None = None) -> AsyncIterator[Any]:
    """Open connector files, folders or globs: an AsyncConnector for one, a mapping of them by slug for several.

    Raises CONFIG_INVALID.
    """
    async with App(paths, variables=variables) as app:
        app.require_connectors()
        connectors = {slug: AsyncConnector(app, held) for slug, held in app.catalog.connectors.items()}
        yield next(iter(connectors.values())) if len(connectors) == 1 else connectors
