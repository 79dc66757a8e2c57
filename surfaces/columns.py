"""The columns that sources really have, asked of themselves: what `jackfield lint --online` checks against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio

from ..connectors.model import Connector, Source
from ..graphs.errors import JackfieldError
from ..graphs.model import Edge, Graph, Node
from ..nodes.base import ROWS, SCAN
from .app import App

Columns = Callable[[Source, str], Sequence[str] | None]
PATIENCE_S = 20.0


def real_columns(paths: Sequence[str | Path], say: Callable[[str], None]) -> Columns:
    """Ask each source of the connectors for one row. `say` is told of those that could not be asked."""
    found: dict[str, tuple[str, ...]] = {}

    async def main() -> None:
        async with App(paths) as app:
            for connector in app.catalog.connectors.values():
                for source in connector.sources.values():
                    try:
                        found[_key(source)] = await _ask(app, connector, source)
                    except JackfieldError as error:
                        say(f"{connector.slug}: source '{source.id}' could not be asked: {error.message}")

    anyio.run(main)
    return lambda source, child: None if child else found.get(_key(source))


def _key(source: Source) -> str:
    return repr((source.id, source.type, sorted(source.configuration.items(), key=lambda item: item[0])))


async def _ask(app: App, connector: Connector, source: Source) -> tuple[str, ...]:
    graph = Graph(
        (
            Node("pushdown", "pushdown", {"sql": "SELECT * FROM source LIMIT 1", "tables": ["source"]}),
            Node("source", source.type, dict(source.configuration)),
            Node("output", "output"),
        ),
        (Edge("pushdown", "source", "source", SCAN), Edge("source", "output", ROWS, ROWS)),
    )
    run = await app.run(graph, {}, connector=connector, timeout_s=PATIENCE_S)
    rows: Mapping[str, object] = run.values
    return tuple(rows[ROWS].schema.names)  # type: ignore[attr-defined]
