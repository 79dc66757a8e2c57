"""Rows into a save that is named on a command line or in Python: the same `save` node that a WRITE tool runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..connectors.model import Connector
from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Edge, Graph, Json, Node
from ..nodes.blocking import in_thread

if TYPE_CHECKING:
    from ..nodes.table import Table
    from .app import App
    from .incoming import Incoming

TYPE_OF_SUFFIX: Final = {
    ".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl",
    ".duckdb": "duckdb", ".sqlite": "sqlite", ".db": "sqlite",
}  # fmt: skip
DATABASE_FILES: Final = ("duckdb", "sqlite")


@dataclass(frozen=True, slots=True)
class Target:
    """A save's configuration with its `type`, and where its relative paths start: a connector's folder, or `folder`."""

    configuration: Mapping[str, Json]
    connector: Connector | None = None
    folder: Path | None = None


def file_target(path: str | Path, mode: str, key: Sequence[str] = (), table: str = "rows") -> Target:
    """A file whose suffix says its format; a database file gets the table `table`. Raises CONFIG_INVALID."""
    path = Path(path).expanduser()
    kind = TYPE_OF_SUFFIX.get(path.suffix.lower())
    if kind is None:
        known = ", ".join(TYPE_OF_SUFFIX)
        raise JackfieldError(
            Code.CONFIG_INVALID, f"'{path.name}' does not say what to save as.", f"End its name in one of {known}."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    configuration: dict[str, Json] = {"type": kind, "path": path.name, "mode": mode}
    if key:
        configuration["key"] = list(key)
    if kind in DATABASE_FILES:
        configuration["table"] = table
    return Target(configuration, folder=path.parent.resolve())


def connector_target(connector: Connector, save: str, mode: str | None = None, key: Sequence[str] = ()) -> Target:
    """One of a connector's saves, with `mode` and `key` over its own. Raises TOOL_NOT_FOUND."""
    from .faults import not_found

    if save not in connector.saves:
        raise not_found("save", save, connector.saves, f" in connector '{connector.slug}'")
    written = {name: value for name, value in connector.saves[save].items() if name != "id"}
    if mode:
        written["mode"] = mode
    if key:
        written["key"] = list(key)
    return Target(written, connector)


def save_graph(source: Node, port: str, configuration: Mapping[str, Json]) -> Graph:
    """source → save → report."""
    nodes = (source, Node("save", "save", dict(configuration)), Node("output", "output"))
    edges = (Edge(source.id, "save", port, "rows"), Edge("save", "output", "report", "report"))
    return Graph(nodes, edges, title="save")


async def save_rows(app: App, table: Table, target: Target) -> dict[str, Any]:
    """Write `table`; gives the save's report: type, mode, rows, target, repeated."""
    rows = Node("input", "input", {"schema": {"type": "object", "properties": {"rows": {}}}})
    graph = save_graph(rows, "rows", target.configuration)
    return await _report(app, graph, {"rows": table}, target, ())


async def save_file(app: App, file: Incoming, target: Target, *, idempotency_key: str = "") -> dict[str, Any]:
    """Write the rows of a file (an absolute path), streamed, typed as a `file` source does; gives the report.

    Under one key the same file is written once, and another file is another write.
    """
    key = await in_thread(lambda: file.scoped(idempotency_key)) if idempotency_key else ""
    source = Node("rows", "file", {"path": str(file.path), **file.fields})
    graph = save_graph(source, "rows", target.configuration)
    try:
        return await _report(app, graph, {}, target, (file.path.parent,), key)
    except JackfieldError as error:
        raise file.named(error) from error.__cause__


async def _report(
    app: App, graph: Graph, inputs: Mapping[str, Any], target: Target, roots: Sequence[Path], key: str = ""
) -> dict[str, Any]:
    run = await app.run(
        graph, inputs, connector=target.connector, folder=target.folder, roots=roots, idempotency_key=key
    )
    report: dict[str, Any] = run.values["report"]
    return report
