"""The columns that sources really have, asked of themselves: what `jackfield lint --online` checks against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import anyio

from ..connectors.lint.codes import CODES
from ..connectors.model import Connector, Source
from ..connectors.text import FileText, read_file
from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Finding, Place
from ..graphs.model import Edge, Graph, Node
from ..nodes.base import ROWS, SCAN
from .app import App

Columns = Callable[[Source, str], Sequence[str] | None]
PATIENCE_S = 20.0
# What says nothing of the connector: a service that is away, a variable that is not set here.
NOT_ASKED = (
    Code.SOURCE_UNREACHABLE,
    Code.SOURCE_TIMEOUT,
    Code.SOURCE_BLOCKED,
    Code.QUERY_TIMEOUT,
    Code.RATE_LIMITED,
    Code.SECRET_MISSING,
    Code.AUTH_REQUIRED,
    Code.AUTH_FAILED,
    Code.VALIDATION_MISSING_FIELD,
    Code.VALIDATION_INVALID_PARAMS,
    Code.INTERNAL_ERROR,
)


def real_columns(
    paths: Sequence[str | Path], say: Callable[[str], None], refused: list[Finding] | None = None
) -> Columns:
    """Ask each source of the connectors for one row. `say` is told of those that could not be asked.

    A source that was reached and is not what the connector says, such as a file or table that is not there, is added
    to `refused` with its place.
    """
    found: dict[str, tuple[str, ...]] = {}

    async def main() -> None:
        async with App(paths) as app:
            for connector in app.catalog.connectors.values():
                for source in connector.sources.values():
                    try:
                        found[_key(source)] = await _ask(app, connector, source)
                    except JackfieldError as error:
                        if refused is not None and _is_refusal(source, error):
                            refused.append(_finding(connector, source, error))
                            continue
                        say(f"{connector.slug}: source '{source.id}' could not be asked: {error.message}")

    anyio.run(main)
    return lambda source, child: None if child else found.get(_key(source))


def _is_refusal(source: Source, error: JackfieldError) -> bool:
    """Whether the connector is wrong. A file that is not there is as far away as it will ever be."""
    return error.code not in NOT_ASKED or (source.type == "file" and error.code is Code.SOURCE_UNREACHABLE)


def _finding(connector: Connector, source: Source, error: JackfieldError) -> Finding:
    file = read_file(connector.path) if connector.path is not None else None
    place = file.place(source.pointer) if isinstance(file, FileText) else Place(str(connector.path or ""))
    message = f"Source '{source.id}' cannot be read: {error.message}"
    known = CODES["SOURCE_NOT_READABLE"]
    return Finding("SOURCE_NOT_READABLE", known.severity, message, place, error.hint, known.principle, source.id)


def _key(source: Source) -> str:
    return repr((source.id, source.type, sorted(source.configuration.items(), key=lambda item: item[0])))


async def _ask(app: App, connector: Connector, source: Source) -> tuple[str, ...]:
    """The names of the columns of one row. The node has the source's id, since an error is going to name it."""
    graph = Graph(
        (
            Node("$pushdown", "pushdown", {"sql": "SELECT * FROM source LIMIT 1", "tables": ["source"]}),
            Node(source.id, source.type, dict(source.configuration)),
            Node("$output", "output"),
        ),
        (Edge("$pushdown", source.id, "source", SCAN), Edge(source.id, "$output", ROWS, ROWS)),
    )
    run = await app.run(graph, {}, connector=connector, timeout_s=PATIENCE_S)
    rows: Mapping[str, object] = run.values
    return tuple(rows[ROWS].schema.names)  # type: ignore[attr-defined]
