"""`jackfield.open` and `jackfield.run`: the engine for Python without async, over one event loop in a thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from ..connectors.model import Connector
from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Graph
from ..nodes.table import Table
from . import builder
from .answers import CallResult, result_of
from .app import App
from .attributes import ByName
from .builder import GraphBuilder
from .faults import not_found
from .outcome import Result
from .saving import file_target, save_rows

R = TypeVar("R")
OPTIONS: Final = ("timeout_s", "fresh", "idempotency_key")


def wait(portal: BlockingPortal, call: Callable[..., Awaitable[R]], *arguments: Any) -> R:
    """Run `call` on the portal's loop. Ctrl-C here cancels it there."""
    future = portal.start_task_soon(call, *arguments)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


class Session:
    """An App on its own event loop, as long as the block that opened it."""

    def __init__(self, app: App, portal: BlockingPortal) -> None:
        self.app = app
        self.portal = portal

    def call(self, connector: str, tool: str, arguments: Mapping[str, Any], options: Mapping[str, Any]) -> Result:
        async def ask() -> CallResult:
            return await self.app.call(connector, tool, arguments, **options)

        return Result(wait(self.portal, ask), self.save)

    def save(self, table: Table, path: str | Path, *, mode: str, key: tuple[str, ...]) -> dict[str, Any]:
        return wait(self.portal, save_rows, self.app, table, file_target(path, mode, key))


class Tool:
    """A tool of an open connector: call it with its arguments by name; within `jf.graph` that adds it as a node.

    `timeout_s`, `fresh` and `idempotency_key` of a call are given by `tool.using(...)`.
    """

    def __init__(self, session: Session, connector: Connector, name: str, options: Mapping[str, Any]) -> None:
        self._session = session
        self._connector = connector
        self._name = name
        self._options = options
        found = connector.tools.get(name) or connector.skills[name]
        self.description = found.description
        self.input_schema = found.input_schema
        self._found = found
        self.__doc__ = (
            f"{found.description}\n\nArguments: {', '.join(found.input_schema.get('properties', {})) or 'none'}"
        )

    @property
    def graph(self) -> Graph:
        """What a call runs."""
        return self._found.graph

    def __call__(self, **arguments: Any) -> Any:
        """A Result; within a graph being built, a Handle on what the call will give."""
        if builder.current() is not None:
            return builder.tool_call(self._connector, self._name, arguments, self._session.app.variables)
        return self._session.call(self._connector.slug, self._name, arguments, self._options)

    def map(self, rows: builder.Handle, *, concurrency: int = 8, on_error: str = "fail", **arguments: Any) -> Any:
        """Within a graph: call this tool for each row or item of `rows`, at most `concurrency` at once."""
        return builder.tool_map(
            self._connector, self._name, rows, concurrency, on_error, arguments, self._session.app.variables
        )

    def using(self, **options: Any) -> Tool:
        """This tool with `timeout_s`, `fresh` or `idempotency_key` set for its calls.

        Raises VALIDATION_INVALID_PARAMS for any other option.
        """
        for name in options:
            if name not in OPTIONS:
                near = get_close_matches(name, OPTIONS, 1)
                raise JackfieldError(
                    Code.VALIDATION_INVALID_PARAMS,
                    f"A call has no option '{name}'.",
                    f"Did you mean '{near[0]}'?" if near else f"Options: {', '.join(OPTIONS)}.",
                    {"available": list(OPTIONS)},
                )
        return Tool(self._session, self._connector, self._name, {**self._options, **options})

    def __repr__(self) -> str:
        return f"Tool({self._connector.slug}/{self._name})"


class OpenConnector(ByName[Tool]):
    """An open connector. Its tools and skills are attributes, and items where a name is no identifier."""

    def __init__(self, session: Session, connector: Connector) -> None:
        self._session = session
        self._connector = connector

    def _names(self) -> list[str]:
        return [*self._connector.tools, *self._connector.skills]

    def __getitem__(self, name: str) -> Tool:
        require_tool(self._connector, name)
        return Tool(self._session, self._connector, name, {})

    def __repr__(self) -> str:
        return f"OpenConnector({self._connector.slug}: {', '.join(self._connector.tools)})"


class OpenWorkspace(ByName[OpenConnector]):
    """Several open connectors, each an attribute by its slug (with `_` for `-`)."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._connectors = session.app.catalog.connectors

    def _names(self) -> list[str]:
        return [slug.replace("-", "_") for slug in self._connectors]

    def __getitem__(self, slug: str) -> OpenConnector:
        for name, connector in self._connectors.items():
            if slug in (name, name.replace("-", "_")):
                return OpenConnector(self._session, connector)
        raise not_found("connector", slug, list(self._connectors))


def require_tool(connector: Connector, name: str) -> None:
    """Raises TOOL_NOT_FOUND, with the near name, unless the connector has this tool or skill."""
    names = [*connector.tools, *connector.skills]
    if name not in names:
        raise not_found("tool", name, names, f" in connector '{connector.slug}'")


@contextmanager
def open(  # noqa: A001
    *paths: str | Path, variables: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """Open connector files, folders or globs: an OpenConnector for one, an OpenWorkspace for several.

    `variables` stands for the process environment, where secrets come from. Raises CONFIG_INVALID.
    """
    with start_blocking_portal("asyncio") as portal:
        app = App(paths, variables=variables)
        app.require_connectors()
        with portal.wrap_async_context_manager(app):
            session = Session(app, portal)
            connectors = list(app.catalog.connectors.values())
            yield OpenConnector(session, connectors[0]) if len(connectors) == 1 else OpenWorkspace(session)


def run(
    graph: Graph | GraphBuilder | str | Path,
    *,
    timeout_s: float | None = None,
    variables: Mapping[str, str] | None = None,
    **inputs: Any,
) -> Result:
    """Run a graph, one that was built, or one in a BGL file, with `inputs`; gives what it put out first."""
    model, app, folder = prepared(graph, variables)

    async def start() -> CallResult:
        async with app:
            run = await app.run(model, inputs, folder=folder, timeout_s=timeout_s)
            return result_of(model.title or "graph", "RUN", run)

    with start_blocking_portal("asyncio") as portal:
        return Result(wait(portal, start), save_alone)


def prepared(
    graph: Graph | GraphBuilder | str | Path, variables: Mapping[str, str] | None
) -> tuple[Graph, App, Path | None]:
    """The graph, an app that knows the connectors and kinds it uses, and its folder. Raises CONFIG_INVALID."""
    if isinstance(graph, GraphBuilder):
        known = {**graph.variables, **(variables or {})} or None
        return graph.graph, App(variables=known, connectors=graph.connectors.values(), kinds=graph.kinds.values()), None
    if isinstance(graph, Graph):
        return graph, App(variables=variables), None
    path = Path(graph)
    app = App([path], variables=variables)
    app.require_connectors()
    tools = list(app.catalog.tools)
    if len(tools) != 1:
        raise JackfieldError(
            Code.CONFIG_INVALID, f"'{path}' holds {len(tools)} tools, not one graph.", "Open it with `jackfield.open`."
        )
    return tools[0].graph, app, path.resolve().parent


def save_alone(table: Table, path: str | Path, *, mode: str, key: tuple[str, ...]) -> dict[str, Any]:
    """Save rows whose app has ended."""

    async def write() -> dict[str, Any]:
        async with App() as app:
            return await save_rows(app, table, file_target(path, mode, key))

    with start_blocking_portal("asyncio") as portal:
        return wait(portal, write)
