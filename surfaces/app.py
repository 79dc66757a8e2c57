"""The one place that joins catalog, engine, stores and settings. A call is one function, free of transport.

The command line, the Python API and every server stand on `App.call`; nothing below knows which of them asked.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from ..connectors import catalog as catalogs
from ..connectors.catalog import Catalog
from ..connectors.model import Connector, ResultShape, Skill, Tool
from ..engine.environment import Environment
from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Severity
from ..graphs.model import Graph
from ..nodes.base import NodeType
from ..nodes.blocking import in_thread
from ..nodes.secrets import EnvironmentSecrets
from . import settings as settings_module
from .answers import CallResult, explained, read_whole, result_of, was_capped
from .faults import not_found, of_finding, redacted
from .settings import Settings

if TYPE_CHECKING:
    from ..engine.engine import Engine
    from ..engine.engine import Settings as EngineSettings
    from ..engine.events import Listener
    from ..engine.results import ResultStore
    from ..engine.runs import Run

LOCAL: Final = "local"
BESIDE: Final = ("*.connector.json", "*.bgl.json")
UNBOUNDED: Final = ResultShape(max_rows=2**62, max_bytes=2**62)


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
        self.catalog: Catalog = load_catalog(self.paths, self.settings)
        self._given = {connector.slug: connector for connector in connectors}
        self._kinds = tuple(kinds)
        self._neighbours: Catalog | None = None
        self._sound: set[str] = set()
        self._engine: Engine | None = None
        self._results: ResultStore | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        from ..engine.engine import Engine
        from ..nodes import NODE_TYPES
        from .plans import explain_node

        # The last of a name holds: a configured model replaces the skill kind that only renders.
        kinds = [*NODE_TYPES, explain_node, *model_kinds(self.settings), *self._kinds]
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
        if name in self._given:
            return self._given[name]
        for catalog in (self.catalog, self.neighbours):
            if name in catalog.connectors:
                return catalog.connectors[name]
        for finding in self.catalog.findings:
            if finding.severity is Severity.ERROR and Path(finding.place.file).name.partition(".")[0] == name:
                raise of_finding(finding)
        raise not_found("connector", name, self.catalog.connectors)

    @property
    def neighbours(self) -> Catalog:
        """The workspace's connectors and those beside the given ones: a file may call tools of its neighbours."""
        if self._neighbours is None:
            folders = {connector.folder for connector in self.catalog.connectors.values()}
            self._neighbours = load_catalog((), self.settings, folders) if self.paths else self.catalog
        return self._neighbours

    def require_sound(self, graph: Graph, connector: Connector | None = None) -> None:
        """Raises CONFIG_INVALID with the first error that `lint` finds in `graph`, which is looked at once."""
        if graph.hash in self._sound:
            return
        from .soundness import refusal

        refused = refusal(graph, self.engine.kinds, connector)
        if refused is not None:
            raise refused
        self._sound.add(graph.hash)

    def find(self, connector: str, name: str) -> tuple[Connector, Tool | Skill]:
        """A connector's tool or skill. Raises TOOL_NOT_FOUND with near names."""
        owner = self.connector(connector)
        found = owner.tools.get(name) or owner.skills.get(name)
        if found is None:
            raise not_found("tool", name, [*owner.tools, *owner.skills], f" in connector '{connector}'")
        return owner, found

    def environment(
        self, connector: Connector | None = None, folder: Path | None = None, roots: Sequence[Path] = ()
    ) -> Environment:
        """All that a connector's graphs may reach, or a bare graph's that lies in `folder`; `roots` beside that."""

        def resolve(name: str) -> tuple[Graph, Environment]:
            slug, _, tool = name.rpartition("/")
            if not slug and connector is None:
                raise JackfieldError(
                    Code.TOOL_NOT_FOUND,
                    f"'{name}' names no connector, and this graph belongs to none.",
                    "Write it as connector/tool.",
                )
            owner, found = self.find(slug or (connector.slug if connector else ""), tool)
            self.require_sound(found.graph, owner)
            return found.graph, self.environment(owner)

        return Environment(
            connector=connector.slug if connector else "",
            folder=connector.folder if connector else (folder or self.settings.folder),
            roots=(*self.settings.roots, *roots),
            secrets=self.secrets,
            resolve=resolve,
        )

    async def call(
        self,
        connector: str,
        name: str,
        arguments: Mapping[str, Any],
        *,
        principal: str = LOCAL,
        page: int | None = None,
        cursor: str | None = None,
        bounded: bool = True,
        stream: bool = False,
        timeout_s: float | None = None,
        fresh: bool = False,
        idempotency_key: str = "",
        listener: Listener | None = None,
    ) -> CallResult:
        """Call a tool or a skill: run the graph that `compile` prints, and give what it gave.

        A write with an `idempotency_key` happens once for the same tool and the same arguments.

        `page` asks for that many rows and a cursor to go on from; None gives all rows. `bounded` keeps pages to what
        the tool's `result` allows. `cursor` continues an earlier call without running anything. With `stream` and no
        `page` the table may be a stream, read while the call and its time limit go on: whoever reads it closes it.
        Errors are JackfieldError, and hold no secret.
        """
        owner, found = self.find(connector, name)
        shape = found.result if isinstance(found, Tool) and bounded else UNBOUNDED
        category = found.category if isinstance(found, Tool) else "SKILL"
        if cursor is not None:
            size = page or shape.page_size
            kept = await self.results.page(cursor, size=size, principal=principal, tool=found.key)
            return CallResult(found.key, category, None, page=kept)
        from ..engine.idempotency import scoped

        engine = self.engine
        self.require_sound(found.graph, owner)
        limit = timeout_s or (found.timeout_s if isinstance(found, Tool) else None) or self.settings["call.timeout_s"]
        try:
            run = await engine.run(
                found.graph,
                arguments,
                environment=self.environment(owner),
                principal=principal,
                timeout_s=limit,
                listener=listener,
                fresh=fresh,
                idempotency_key=scoped(idempotency_key, found.key, arguments),
                stream=stream and page is None,
            )
        except JackfieldError as error:
            raise self.redacted(error) from error.__cause__
        finally:
            # Also after a failure: a write whose outcome is not known may have happened.
            if isinstance(found, Tool) and found.writes:
                engine.cache.drop(owner.slug)
        return await self._result(found, category, run, shape, principal, page)

    async def _result(
        self, found: Tool | Skill, category: str, run: Run, shape: ResultShape, principal: str, page: int | None
    ) -> CallResult:
        result = result_of(found.key, category, run)
        if result.table is None:
            await read_whole(run)
        elif result.table.is_stream:
            return replace(result, table=explained(result.table, self.redacted))
        if result.table is None or page is None or category != "READ":
            return result
        kept = await self.results.first(
            result.table, size=page, shape=shape, principal=principal, tool=found.key, capped=was_capped(run)
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


def engine_settings(settings: Settings) -> EngineSettings:
    """The engine's own settings out of a workspace's."""
    from ..engine.engine import Settings as EngineSettings
    from ..engine.tables import TableSettings

    tables = TableSettings(memory_limit=settings["sql.memory"], threads=settings["sql.threads"] or None)
    return EngineSettings(max_rows=settings["call.max_rows"], max_bytes=settings["call.max_bytes"], tables=tables)


def model_kinds(settings: Settings) -> tuple[NodeType[Any], ...]:
    """The skill kind whose prompts a model answers, where one is configured."""
    if not settings["model.url"]:
        return ()
    from ..nodes.chat import ChatEndpoint
    from ..nodes.skill import skill_kind

    endpoint = ChatEndpoint(settings["model.url"], settings["model.name"], settings["model.secret_key"])
    return (skill_kind(endpoint),)


def load_catalog(paths: Sequence[str | Path], settings: Settings, folders: Iterable[Path] = ()) -> Catalog:
    """The connectors of `paths`, or of the workspace and `folders` when none is given.

    Raises CONFIG_INVALID for a missing path.
    """
    if paths:
        return catalogs.load(paths)
    wanted = [str(settings.folder / path) for path in settings["connectors"]]
    wanted += [str(folder / pattern) for folder in sorted(folders) for pattern in BESIDE]
    return catalogs.load([path for path in wanted if Path(path).exists() or glob.glob(path, recursive=True)])
