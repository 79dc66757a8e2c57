"""A smoke call of every READ tool of a connector that is about to be served: with arguments that are known to fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...connectors.evals import Suite
from ...connectors.lint.categories import changed_by
from ...connectors.model import Connector, Tool
from ...graphs.errors import JackfieldError
from ...graphs.model import Graph, Json
from ...nodes.base import Effect
from ...nodes.changing import changes_of
from .bench import Bench


@dataclass(frozen=True, slots=True)
class Smoked:
    """What became of one tool: `rows` it gave, the `error` it failed with, or why it was `skipped`."""

    tool: str
    rows: int | None = None
    error: JackfieldError | None = None
    skipped: str = ""

    def as_json(self) -> dict[str, Json]:
        if self.skipped:
            return {"tool": self.tool, "skipped": self.skipped}
        if self.error is not None:
            return {"tool": self.tool, "passed": False, "error": self.error.as_json()}
        return {"tool": self.tool, "passed": True, "rows": self.rows}


async def smoked(bench: Bench, connector: Connector, suites: Sequence[Suite], principal: str) -> list[Smoked]:
    """Call each READ tool once, as an agent would. Raises nothing for a tool that fails."""
    app = bench.app.rehearsing(connector)
    found: list[Smoked] = []
    for tool in connector.tools.values():
        if tool.category != "READ":
            continue
        try:
            undone = _undone(bench, tool.graph, connector)
            arguments = arguments_of(tool, suites)
            if undone or arguments is None:
                why = undone or f"nobody gives {_needed(tool)}: a case that calls it would"
                found.append(Smoked(tool.id, skipped=why))
                continue
            answer = await app.call(connector.slug, tool.id, arguments, principal=principal)
            rows = answer.rows
            found.append(Smoked(tool.id, 0 if rows is None else rows.num_rows))
        except JackfieldError as error:
            found.append(Smoked(tool.id, error=error))
    return found


def arguments_of(tool: Tool, suites: Sequence[Suite]) -> dict[str, Any] | None:
    """Arguments that fit: of a case that expects no error, else the first of an enum; None where one is not known."""
    properties: Mapping[str, Mapping[str, Any]] = tool.input_schema.get("properties") or {}
    needed = [name for name in tool.input_schema.get("required") or () if "default" not in properties.get(name, {})]
    if not needed:
        return {}
    for suite in suites:
        for case in suite.cases:
            if case.tool == tool.id and not case.prompt and case.expect.error_code is None:
                return dict(case.arguments)
    known = {name: values[0] for name in needed if (values := properties.get(name, {}).get("enum"))}
    return known if len(known) == len(needed) else None


def _needed(tool: Tool) -> str:
    return ", ".join(f"'{name}'" for name in tool.input_schema.get("required") or ())


def _undone(bench: Bench, graph: Graph, connector: Connector) -> str:
    """Why a tool is not called without being asked to: a node of its graph asks the person, or may change something."""

    def changing(name: str) -> bool:
        slug, _, own = name.rpartition("/")
        owner = connector if slug in ("", connector.slug) else bench.app.catalog.connectors.get(slug)
        return owner is not None and changed_by(owner, own)

    kinds = bench.app.engine.kinds
    change = next(changes_of(graph, kinds, changing), None)
    if change is not None:
        return f"its graph has a '{change.node.type}' node, which {Effect.WRITES.value}"
    asking = (kind for kind in _types(graph) if kind in kinds and kinds[kind].effect is Effect.ASKS)
    return next((f"its graph has a '{kind}' node, which {Effect.ASKS.value}" for kind in asking), "")


def _types(graph: Graph) -> Iterator[str]:
    yield from (node.type for node in graph.nodes)
    for inner in graph.graphs.values():
        yield from _types(inner)
