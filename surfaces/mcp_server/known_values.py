"""Values that an argument of a skill is known to take: its enum, or what is in the column that it is compared with."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ...connectors.compared import compared_column
from ...connectors.discovery.columns import looks_secret_by_name
from ...connectors.model import Connector, Skill, Source, Tool
from ...connectors.offer import OfferedSkill
from ...connectors.skills import REFERENCE
from ...graphs.errors import JackfieldError
from ...graphs.model import Edge, Graph, Node
from ...nodes.base import ROWS, SCAN
from ..app import App

CHEAP: Final = ("rows", "file")  # kinds of source that nobody else pays for
PATIENCE_S: Final = 2.0
KEPT_S: Final = 30.0
MOST: Final = 1_000
LONGEST: Final = 100  # characters of a value worth offering


class KnownValues:
    """Asks sources that are cheap to ask, and keeps what they said for a while."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._kept: dict[tuple[str, str, str], tuple[float, Sequence[str]]] = {}

    async def of(self, offered: OfferedSkill, argument: str) -> Sequence[str]:
        """As text, in order; none when nothing is known."""
        schema = (offered.skill.input_schema.get("properties") or {}).get(argument) or {}
        if (known := listed(schema)) is not None:
            return known
        for tool, parameter in _uses(offered.connector, offered.skill, argument):
            known = listed((tool.input_schema.get("properties") or {}).get(parameter) or {})
            if known is not None:
                return known
            compared = compared_column(offered.connector, tool, parameter)
            if compared is not None and compared[0].type in CHEAP and not looks_secret_by_name(compared[1]):
                return await self._distinct(offered.connector, *compared)
        return ()

    async def _distinct(self, owner: Connector, source: Source, column: str) -> Sequence[str]:
        key = (owner.digest, source.id, column)
        kept = self._kept.get(key)
        if kept is not None and kept[0] > time.monotonic():
            return kept[1]
        try:
            run = await self._app.run(_graph(source, column), {}, connector=owner, timeout_s=PATIENCE_S)
            found = run.values[ROWS].arrow()[column].unique().slice(0, MOST).to_pylist()
        except (JackfieldError, KeyError):
            found = []
        values = sorted({str(value) for value in found if value is not None and len(str(value)) <= LONGEST})
        if len(self._kept) > MOST:
            self._kept.clear()
        self._kept[key] = (time.monotonic() + KEPT_S, values)
        return values


def listed(schema: Mapping[str, Any]) -> Sequence[str] | None:
    """The values that a schema itself lists; None when it does not."""
    if "enum" in schema:
        return [str(value) for value in schema["enum"] if value is not None]
    return ["true", "false"] if schema.get("type") == "boolean" else None


def _uses(owner: Connector, skill: Skill, argument: str) -> Iterator[tuple[Tool, str]]:
    """The tools that the argument goes to, each with the name of its parameter."""
    for step in skill.steps:
        for name, value in step.params.items():
            whole = REFERENCE.fullmatch(value) if isinstance(value, str) else None
            if whole is not None and whole[1] == f"skill.input.{argument}" and step.tool in owner.tools:
                yield owner.tools[step.tool], name
    for tool in (owner.tools[name] for name in skill.tool_ids if name in owner.tools):
        if argument in (tool.input_schema.get("properties") or {}):
            yield tool, argument


def _graph(source: Source, column: str) -> Graph:
    quoted = column.replace('"', '""')
    sql = f'SELECT "{quoted}" FROM source'
    return Graph(
        (
            Node("$pushdown", "pushdown", {"sql": sql, "tables": ["source"]}),
            Node(source.id, source.type, dict(source.configuration)),
            Node("$output", "output"),
        ),
        (Edge("$pushdown", source.id, "source", SCAN), Edge(source.id, "$output", ROWS, ROWS)),
    )
