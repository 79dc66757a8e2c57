"""A tool → the graph that a call of it runs. One tool gives one graph, the same each time: its hash is stable.

Every shape is here: SQL over sources, SQL `at` a database, rows of one source, SQL into a save, a request, a graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ...graphs.bgl import from_json
from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Edge, Graph, Json, Node
from ...nodes.base import ARGUMENTS, ROWS, SCAN
from ...nodes.http.binding import names_in
from ..model import Source
from .document import Tool
from .names import matching_source, near
from .parameters import schema_of

DATABASES: Final = ("postgres", "mysql")
RESERVED_IDS: Final = frozenset(
    {"input", "output", "pushdown", "sql", "query", "statement", "request", "save", "project"}
)
# What a query or a statement at a database takes from its source beside the address.
AT_FIELDS: Final = ("dsn", "url", "tls", "timeout_s")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a tool may refer to: the sources and saves of its connector, and its folder."""

    sources: Mapping[str, Source]
    saves: Mapping[str, Mapping[str, Json]]
    folder: Path


@dataclass
class _Draft:
    """A graph under construction."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def node(self, id: str, type: str, configuration: Mapping[str, Any]) -> str:
        self.nodes.append(Node(id, type, configuration))
        return id

    def edge(self, from_: str, out: str, to: str, in_: str) -> None:
        self.edges.append(Edge(from_, to, out, in_))


def compile_tool(tool: Tool, around: Surroundings) -> Graph:
    """The graph of one tool. Raises CONFIG_INVALID or QUERY_INVALID, naming what is not there and what is."""
    if tool.graph is not None:
        return graph_of(tool.graph, around.folder)
    draft = _Draft()
    draft.node("input", "input", {"schema": schema_of(tool.parameters)})
    if tool.request is not None:
        draft.node("request", "request", dict(tool.request))
        draft.edge("input", ARGUMENTS, "request", ARGUMENTS)
        _finish(draft, [("request", "response")])
    elif tool.at is not None:
        _at_database(draft, tool, around)
    else:
        rows = _projected(draft, tool, _read(draft, tool, around))
        if tool.save is None:
            _finish(draft, [(rows, ROWS)])
        else:
            _save(draft, tool, around, rows)
    _after_input(draft, around)
    return Graph(tuple(draft.nodes), tuple(draft.edges), title=tool.name, description=tool.description)


def _after_input(draft: _Draft, around: Surroundings) -> None:
    """No source is read before the arguments were checked, also where it needs none of them."""
    fed = {edge.to for edge in draft.edges}
    kinds = {source.type for source in around.sources.values()}
    for node in draft.nodes:
        if node.type in kinds and node.id not in fed:
            draft.edges.append(Edge("input", node.id))


def _read(draft: _Draft, tool: Tool, around: Surroundings) -> str:
    """Sources, pushdown and SQL; gives the id of the node whose `rows` answer."""
    if tool.sql is None:
        return _whole_source(draft, tool, around)
    from ...nodes.sqltext.references import references

    tables = references(tool.sql).tables
    wired: dict[str, list[tuple[str, str]]] = {}  # source id → (table name in SQL, child path or "")
    for table in tables:
        source, child = matching_source(table, around.sources) or _unknown_table(tool, table, around)
        wired.setdefault(source, []).append((table, child))
    # A source that is asked for under two names, or for child tables, is read whole: no one scan says what it needs.
    scanned = {owner: uses[0][0] for owner, uses in wired.items() if len(uses) == 1 and not uses[0][1]}
    pushed = list(scanned.values())
    if pushed:
        draft.node("pushdown", "pushdown", {"sql": tool.sql, "tables": pushed})
        draft.edge("input", ARGUMENTS, "pushdown", ARGUMENTS)
    for owner, uses in wired.items():
        children = tuple(dict.fromkeys(child for _, child in uses if child))
        node = _source(draft, tool, around, around.sources[owner], children)
        if owner in scanned:
            draft.edge("pushdown", scanned[owner], node, SCAN)
    draft.node("sql", "sql", {"sql": tool.sql})
    for owner, uses in wired.items():
        for table, child in uses:
            draft.edge(_node_id(owner, around), child or ROWS, "sql", table)
    draft.edge("input", ARGUMENTS, "sql", ARGUMENTS)
    return "sql"


def _whole_source(draft: _Draft, tool: Tool, around: Surroundings) -> str:
    if len(tool.source_ids) != 1:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Tool '{tool.id}' has no sql, request or graph, and names {len(tool.source_ids)} sources.",
            "Without SQL a tool returns the rows of exactly one of source_ids.",
            {"tool": tool.id},
        )
    return _source(draft, tool, around, _known_source(tool, tool.source_ids[0], around))


def _source(draft: _Draft, tool: Tool, around: Surroundings, source: Source, children: Sequence[str] = ()) -> str:
    configuration = dict(source.configuration)
    if children:
        configuration["children"] = list(children)
    if tool.rest_query_params and source.type == "rest":
        configuration["params"] = {**configuration.get("params", {}), **tool.rest_query_params}
    node = draft.node(_node_id(source.id, around), source.type, configuration)
    if named_arguments(source.type, configuration):
        draft.edge("input", ARGUMENTS, node, ARGUMENTS)
    return node


def _at_database(draft: _Draft, tool: Tool, around: Surroundings) -> None:
    assert tool.at is not None
    source = _known_source(tool, tool.at, around)
    if source.type not in DATABASES:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Tool '{tool.id}' runs its SQL at '{source.id}', which is a {source.type} source.",
            "`at` names a postgres or mysql source; without `at` the SQL may read any source.",
            {"tool": tool.id, "source": source.id},
        )
    if tool.sql is None:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Tool '{tool.id}' says where to run its SQL (at '{tool.at}') but has no sql.",
            "Add the statement as `sql`.",
            {"tool": tool.id},
        )
    connection = {name: source.configuration[name] for name in AT_FIELDS if name in source.configuration}
    kind = "query" if tool.category == "READ" or tool.save is not None else "statement"
    draft.node(kind, kind, {"engine": source.type, **connection, "sql": tool.sql})
    draft.edge("input", ARGUMENTS, kind, ARGUMENTS)
    if kind == "statement":
        _finish(draft, [(kind, ROWS), (kind, "affected")])
    elif tool.save is not None:
        _save(draft, tool, around, _projected(draft, tool, kind))
    else:
        _finish(draft, [(_projected(draft, tool, kind), ROWS)])


def _projected(draft: _Draft, tool: Tool, rows: str) -> str:
    if not tool.result.fields and not tool.result.rename:
        return rows
    configuration: dict[str, Any] = {}
    if tool.result.fields:
        configuration["fields"] = list(tool.result.fields)
    if tool.result.rename:
        configuration["rename"] = dict(tool.result.rename)
    draft.node("project", "project", configuration)
    draft.edge(rows, ROWS, "project", ROWS)
    return "project"


def _save(draft: _Draft, tool: Tool, around: Surroundings, rows: str) -> None:
    assert tool.save is not None
    known = around.saves.get(tool.save.to)
    if known is None:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Tool '{tool.id}' saves to '{tool.save.to}', and the connector has no such save.",
            near(tool.save.to, around.saves, "saves"),
            {"tool": tool.id, "available": sorted(around.saves)},
        )
    configuration = {name: value for name, value in known.items() if name != "id"}
    if tool.save.mode is not None:
        configuration["mode"] = tool.save.mode
    if tool.save.key is not None:
        configuration["key"] = list(tool.save.key)
    draft.node("save", "save", configuration)
    draft.edge(rows, ROWS, "save", ROWS)
    _finish(draft, [("save", ROWS), ("save", "report")])


def _finish(draft: _Draft, outputs: Sequence[tuple[str, str]]) -> None:
    properties: dict[str, Any] = {port: {} for _, port in outputs}
    draft.node("output", "output", {"schema": {"type": "object", "properties": properties}})
    for node, port in outputs:
        draft.edge(node, port, "output", port)


def graph_of(graph: Mapping[str, Json] | str, folder: Path) -> Graph:
    """The graph that a tool, a skill or a resource holds, or names the file of. Raises CONFIG_INVALID."""
    if isinstance(graph, str):
        from ..reading import graph_file

        return graph_file(graph, folder)
    return from_json(dict(graph))


def named_arguments(type: str, configuration: Mapping[str, Any]) -> frozenset[str]:
    """The arguments of the call that a source's fields or a request's refer to."""
    if type in DATABASES:
        query = configuration.get("query")
        if not isinstance(query, str) or ":" not in query:
            return frozenset()
        from ...nodes.sqltext.parameters import bound

        return frozenset(bound(query, "postgres" if type == "postgres" else "mysql").names)
    values = [configuration.get(part) for part in ("params", "query", "headers", "body")]
    return names_in(str(configuration.get("url", "")), *values)


def _node_id(source: str, around: Surroundings) -> str:
    """The source's id, unless a node of the compiler's own has it."""
    name = source
    while name in RESERVED_IDS or (name != source and name in around.sources):
        name = f"{name}_source"
    return name


def _known_source(tool: Tool, id: str, around: Surroundings) -> Source:
    source = around.sources.get(id)
    if source is None:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Tool '{tool.id}' names source '{id}', and the connector has no such source.",
            near(id, around.sources, "sources"),
            {"tool": tool.id, "available": sorted(around.sources)},
        )
    return source


def _unknown_table(tool: Tool, table: str, around: Surroundings) -> tuple[str, str]:
    names = [name for source in around.sources.values() for name in source.names]
    raise JackfieldError(
        Code.QUERY_INVALID,
        f"Tool '{tool.id}' reads table '{table}', and no source has that name.",
        near(table, names, "tables"),
        {"tool": tool.id, "available": names},
    )
