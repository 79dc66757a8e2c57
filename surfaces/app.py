"""The one place that joins catalog, engine, stores and settings. A call is one function, free of transport.

The command line, the Python API and every server stand on `App.call`; nothing below knows which of them asked.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict, Unpack

from ..connectors.catalog import Catalog
from ..connectors.model import Connector, ResultShape, Runnable, Skill, Tool
from ..engine.environment import Environment
from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Severity
from ..graphs.model import Graph
from ..nodes.arguments import with_defaults
from ..nodes.base import Client, Effect, NodeType
from ..nodes.blocking import in_thread
from ..nodes.secrets import EnvironmentSecrets
from . import settings as settings_module
from .answers import CallResult, explained, read_whole, result_of, was_capped
from .engine_setup import engine_settings, model_kinds
from .faults import of_finding, redacted
from .lookup import Lookup, load_catalog
from .settings import Settings

if TYPE_CHECKING:
    from ..engine.engine import Engine
    from ..engine.events import Listener, Trail
    from ..engine.results import ResultStore
    from ..engine.runs import Run

LOCAL: Final = "local"
UPLOADS: Final = "uploads"  # of the workspace: files that agents uploaded, which its connectors may read
ASKING_S: Final = 600.0
UNBOUNDED: Final = ResultShape(max_rows=2**62, max_bytes=2**62)


class CallOptions(TypedDict, total=False):
    """How a call is made, where it is not the usual way."""

    principal: str
    page: int | None  # so many rows and a cursor to go on from; None: all rows
    cursor: str | None  # goes on in an earlier call's rows, without running anything
    bounded: bool  # pages are what the tool's `result` allows: so unless False
    stream: bool  # without a page the table may be a stream, read while the call goes on: whoever reads it closes it
    timeout_s: float | None
    fresh: bool  # no rows that were kept
    idempotency_key: str  # a write with it happens once for the same tool and arguments
    listener: Listener | None  # hears the events of the run
    client: Client | None  # is asked what the graph asks


class App:
    """Connectors, and what runs them, while the block lasts.

    `paths` are files, folders or globs; none means the workspace's own. `connectors` are served beside those, and
    `kinds` are further kinds of node. Looking at connectors needs no block: only running does.
    """

    def __init__(
        self,
        paths: Sequence[str | Path] = (),
        *,
        settings: Settings | None = None,
        variables: Mapping[str, str] | None = None,
        connectors: Iterable[Connector] = (),
        kinds: Iterable[NodeType[Any]] = (),
    ) -> None:
        self.settings = settings or settings_module.load()
        self.variables = variables
        self.secrets = EnvironmentSecrets(variables) if variables is not None else EnvironmentSecrets()
        self.paths = tuple(paths)
        given = {connector.slug: connector for connector in connectors}
        self.lookup = Lookup(load_catalog(self.paths, self.settings), self.settings, self.paths, given)
        self._kinds = tuple(kinds)
        self._roots = (self.settings.folder / UPLOADS, *self.settings.roots)
        self._sound: set[str] = set()
        self._engine: Engine | None = None
        self._results: ResultStore | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        from ..engine.engine import Engine
        from ..nodes import NODE_TYPES
        from .plans import explain_node
        from .probe import probe_node

        # The last of a name holds: a configured model replaces the skill kind that only renders.
        kinds = [*NODE_TYPES, explain_node, probe_node, *model_kinds(self.settings), *self._kinds]
        self._engine = await self._stack.enter_async_context(Engine(kinds, engine_settings(self.settings)))
        if any(connector.saves for connector in self.catalog.connectors.values()):
            await in_thread(self._clean_targets)
        return self

    def _clean_targets(self) -> None:
        """Remove what saves that were killed left where connectors save."""
        from ..nodes.saves.starting import clean_targets

        for connector in self.catalog.connectors.values():
            saves = []
            for save in connector.saves.values():
                with suppress(JackfieldError):  # a variable that is not set is said when the save is used
                    saves.append({"path": self.secrets.expand(str(save["path"]))} if "path" in save else save)
            clean_targets(connector.folder, saves)

    async def __aexit__(self, *failure: Any) -> None:
        self._engine = None
        await self._stack.aclose()

    @property
    def engine(self) -> Engine:
        """What runs graphs, while the block lasts."""
        assert self._engine is not None, "an App runs graphs inside `async with` only"
        return self._engine

    @property
    def catalog(self) -> Catalog:
        return self.lookup.catalog

    def adopt(self, catalog: Catalog) -> None:
        """Serve `catalog` from now on. Calls under way go on in the one that they began with."""
        self.lookup = replace(self.lookup, catalog=catalog)

    def rehearsing(self, connector: Connector) -> App:
        """This app with `connector` in the place of what is served under its slug; both run in the one engine."""
        other = copy.copy(self)
        other.lookup = replace(self.lookup, given={**self.lookup.given, connector.slug: connector})
        return other

    @property
    def results(self) -> ResultStore:
        if self._results is None:
            from ..engine.results import ResultStore

            self._results = ResultStore(self.settings.state / "results", ttl_s=self.settings["result.ttl_s"])
        return self._results

    def require_connectors(self) -> None:
        """Raises CONFIG_INVALID with the first thing that is wrong when no connector could be read."""
        if self.catalog.connectors:
            return
        wrong = [finding for finding in self.catalog.findings if finding.severity is Severity.ERROR]
        if wrong:
            raise of_finding(wrong[0])
        where = ", ".join(str(path) for path in self.paths) or str(self.settings.folder)
        raise JackfieldError(
            Code.CONFIG_INVALID, f"There is no connector in {where}.", "`jackfield new NAME` writes one to start from."
        )

    def connector(self, name: str) -> Connector:
        """The connector with this slug. Raises TOOL_NOT_FOUND with near names; CONFIG_INVALID if its file is broken."""
        return self.lookup.connector(name)

    def require_sound(self, graph: Graph, connector: Connector | None = None) -> None:
        """Raises CONFIG_INVALID with the first error that `lint` finds in `graph`, which is looked at once."""
        if graph.hash in self._sound:
            return
        from .soundness import refusal

        refused = refusal(graph, self.engine.kinds, connector)
        if refused is not None:
            raise refused
        self._sound.add(graph.hash)

    async def _sound_graph(self, found: Runnable, owner: Connector) -> Graph:
        """The graph of `found`, compiled in a thread when it is first asked for: that reads SQL, which may be long."""
        if "graph" not in vars(found):
            await in_thread(lambda: found.graph)
        self.require_sound(found.graph, owner)
        return found.graph

    def find(self, connector: str, name: str) -> tuple[Connector, Tool | Skill]:
        """A connector's tool or skill. Raises TOOL_NOT_FOUND with near names."""
        return self.lookup.find(connector, name)

    def environment(
        self, connector: Connector | None = None, folder: Path | None = None, roots: Sequence[Path] = ()
    ) -> Environment:
        """All that a connector's graphs may reach, or a bare graph's that lies in `folder`; `roots` beside that."""
        return self._environment(self.lookup, connector, folder, roots)

    def _environment(
        self, lookup: Lookup, connector: Connector | None, folder: Path | None = None, roots: Sequence[Path] = ()
    ) -> Environment:
        async def resolve(name: str) -> tuple[Graph, Environment]:
            slug, _, tool = name.rpartition("/")
            if not slug and connector is None:
                raise JackfieldError(
                    Code.TOOL_NOT_FOUND,
                    f"'{name}' names no connector, and this graph belongs to none.",
                    "Write it as connector/tool.",
                )
            owner, found = lookup.find(slug or (connector.slug if connector else ""), tool)
            graph = await self._sound_graph(found, owner)
            return graph, self._environment(lookup, owner)

        return Environment(
            connector=connector.slug if connector else "",
            folder=connector.folder if connector else (folder or self.settings.folder),
            roots=(*self._roots, *roots),
            secrets=self.secrets,
            resolve=resolve,
        )

    async def call(
        self, connector: str, name: str, arguments: Mapping[str, Any], **options: Unpack[CallOptions]
    ) -> CallResult:
        """Call a tool or a skill: run the graph that `compile` prints, and give what it gave.

        Errors are JackfieldError, and hold no secret.
        """
        owner, found = self.lookup.find(connector, name)
        return await self.perform(owner, found, arguments, **options)

    async def perform(
        self,
        owner: Connector,
        found: Runnable,
        arguments: Mapping[str, Any],
        *,
        trail: Trail | None = None,
        **options: Unpack[CallOptions],
    ) -> CallResult:
        """`call`, of what has been found. `trail` is where the events of its run go, and names it."""
        principal, page = options.get("principal", LOCAL), options.get("page")
        bounded, cursor, client = options.get("bounded", True), options.get("cursor"), options.get("client")
        shape = found.result if isinstance(found, Tool) and bounded else UNBOUNDED
        category = found.category
        if cursor is not None:
            size = page or shape.page_size
            kept = await self.results.page(cursor, size=size, principal=principal, tool=found.key, arguments=arguments)
            return CallResult(found.key, category, None, page=kept)
        from ..engine.idempotency import scoped

        engine = self.engine
        graph = await self._sound_graph(found, owner)
        limit = options.get("timeout_s") or (found.timeout_s if isinstance(found, Tool) else None)
        try:
            run = await engine.run(
                graph,
                arguments,
                environment=self.environment(owner),
                principal=principal,
                timeout_s=limit or self._time_for(graph, client),
                listener=options.get("listener"),
                client=client,
                fresh=options.get("fresh", False),
                reads_only=not found.writes,
                idempotency_key=scoped(options.get("idempotency_key", ""), found.key, arguments),
                stream=options.get("stream", False) and page is None,
                trail=trail,
            )
        except JackfieldError as error:
            raise self.redacted(error) from error.__cause__
        finally:
            # Also after a failure: a write whose outcome is not known may have happened.
            if isinstance(found, Tool) and found.writes:
                engine.cache.drop(owner.slug)
        return await self._result(found, category, run, shape, principal, page, arguments)

    def _time_for(self, graph: Graph, client: Client | None) -> float:
        """Seconds that a call may take: where a person is asked, what he takes counts too."""
        usual = float(self.settings["call.timeout_s"])
        if client is None:
            return usual
        kinds = self.engine.kinds
        effects = {kinds[node.type].effect for node in graph.nodes if node.type in kinds}
        return max(usual, ASKING_S) if Effect.ASKS in effects else usual

    async def _result(
        self,
        found: Runnable,
        category: str,
        run: Run,
        shape: ResultShape,
        principal: str,
        page: int | None,
        arguments: Mapping[str, Any],
    ) -> CallResult:
        result = result_of(found.key, category, run)
        if result.table is None:
            await read_whole(run)
        elif result.table.is_stream:
            return replace(result, table=explained(result.table, self.redacted))
        if result.table is None or page is None or category != "READ":
            return result
        kept = await self.results.first(
            result.table,
            size=page,
            shape=shape,
            principal=principal,
            tool=found.key,
            capped=was_capped(run),
            arguments=with_defaults(found.input_schema, arguments),
        )
        return replace(result, page=kept)

    async def run(
        self,
        graph: Graph,
        inputs: Mapping[str, Any],
        *,
        connector: Connector | None = None,
        folder: Path | None = None,
        roots: Sequence[Path] = (),
        timeout_s: float | None = None,
        fresh: bool = False,
        idempotency_key: str = "",
        listener: Listener | None = None,
        client: Client | None = None,
        stream: bool = False,
    ) -> Run:
        """Run a bare graph, or one within a connector, to its end: every output counts. `stream`: see `Engine.run`.

        Raises what `call` does; CONFIG_INVALID for a graph that `lint` refuses.
        """
        from .soundness import check_inputs

        self.require_sound(graph, connector)
        check_inputs(graph, inputs)
        try:
            return await self.engine.run(
                graph,
                inputs,
                environment=self.environment(connector, folder, roots),
                timeout_s=timeout_s,
                listener=listener,
                client=client,
                fresh=fresh,
                idempotency_key=idempotency_key,
                component=False,
                stream=stream,
            )
        except JackfieldError as error:
            raise self.redacted(error) from error.__cause__

    def redacted(self, error: JackfieldError) -> JackfieldError:
        """The error without any secret that this app has resolved."""
        return redacted(error, self.secrets.redact)
