"""`jackfield.graph`: graphs written in Python. Calling a tool inside the block adds a node and gives a Handle on it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass
from decimal import Decimal
from types import TracebackType
from typing import Any, Final, Self, get_args, get_origin

from ..connectors.model import Connector
from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Edge, Graph, Json, Node
from ..nodes.base import ARGUMENTS, ROWS, NodeType

_building: ContextVar[GraphBuilder | None] = ContextVar("jackfield_building", default=None)
NAMED: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
INPUT: Final = "input"
SCHEMAS: Final[Mapping[Any, Mapping[str, Json]]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    Decimal: {"type": "number"},
    bool: {"type": "boolean"},
    dict: {"type": "object"},
    dt.date: {"type": "string", "format": "date"},
    dt.datetime: {"type": "string", "format": "date-time"},
}


@dataclass(frozen=True, slots=True)
class Handle:
    """What a node will give, by the port it comes from. `handle["name"]` is a column of its rows."""

    graph: GraphBuilder
    node: str
    port: str = ROWS
    column: str = ""

    def __getitem__(self, column: str) -> Handle:
        return Handle(self.graph, self.node, self.port, column)

    def at(self, port: str) -> Handle:
        """What the same node gives on another port, such as `report` of a save."""
        return Handle(self.graph, self.node, port)


class GraphBuilder:
    """A graph under construction; `graph` is what was built so far. Used as a block, tool calls in it become nodes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.connectors: dict[str, Connector] = {}
        self.kinds: dict[str, NodeType[Any]] = {}
        self.variables: dict[str, str] = {}
        self._nodes: list[Node] = []
        self._edges: list[Edge] = []
        self._properties: dict[str, Json] = {}
        self._required: list[str] = []
        self._token: Token[GraphBuilder | None] | None = None

    def __enter__(self) -> Self:
        self._token = _building.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._token is not None
        _building.reset(self._token)

    @property
    def graph(self) -> Graph:
        """The immutable graph: it runs, compiles to BGL and draws as any other."""
        schema: dict[str, Json] = {"type": "object", "properties": dict(self._properties)}
        if self._required:
            schema["required"] = list(self._required)
        nodes = [Node(INPUT, "input", {"schema": schema})] if self._properties else []
        return Graph((*nodes, *self._nodes), tuple(self._edges), title=self.name)

    def input(self, name: str, type: Any = str, *, default: Json = None, description: str = "") -> Handle:
        """A value that `run` is given by name; required unless it has a default."""
        schema = dict(_schema(type))
        if description:
            schema["description"] = description
        if default is not None:
            schema["default"] = default
        elif name not in self._required:
            self._required.append(name)
        self._properties[name] = schema
        return Handle(self, INPUT, name)

    def output(self, handle: Handle | None = None, **handles: Handle) -> None:
        """What the graph gives: one handle under its own port's name, or several by name."""
        named = {**({handle.port: handle} if handle is not None else {}), **handles}
        self.add("output", "output", {}, named)

    def apply(self, kind: NodeType[Any] | str, /, **values: Any) -> Handle:
        """A node of any kind (a `@jackfield.node` function, or a name): handles are wired, the rest is configured."""
        if not isinstance(kind, str):
            self.kinds[kind.name] = kind
        wired = {name: value for name, value in values.items() if isinstance(value, Handle)}
        literal = {name: value for name, value in values.items() if not isinstance(value, Handle)}
        name = kind if isinstance(kind, str) else kind.name
        outputs = () if isinstance(kind, str) else kind.ports.outputs
        port = outputs[0].name if len(outputs) == 1 else ROWS
        return Handle(self, self.add(name, name, literal, wired), port)

    def use(self, connector: Connector, variables: Mapping[str, str] | None) -> None:
        """Remember a connector whose tool is a node here, and where its secrets come from."""
        self.connectors[connector.slug] = connector
        self.variables.update(variables or {})

    def add(self, wish: str, type: str, configuration: Mapping[str, Json], wired: Mapping[str, Handle]) -> str:
        """Add a node; gives its id, which is `wish` with a number where that is taken."""
        taken = {held.id for held in self._nodes} | {INPUT}
        node, number = wish, 1
        while node in taken:
            number += 1
            node = f"{wish}_{number}"
        self._nodes.append(Node(node, type, dict(configuration)))
        for port, handle in wired.items():
            if handle.graph is not self:
                raise JackfieldError(
                    Code.CONFIG_INVALID, f"'{port}' comes from the graph '{handle.graph.name}'.", "Build one graph."
                )
            if handle.column:
                raise JackfieldError(
                    Code.CONFIG_INVALID,
                    f"'{port}' is the column '{handle.column}', and a column can not be wired.",
                    "Map over it (`tool.map(rows['column'])`), or select it with `jackfield.sql`.",
                )
            self._edges.append(Edge(handle.node, node, handle.port, port))
        return node


def graph(name: str) -> GraphBuilder:
    """A graph to build: `with jackfield.graph("name") as g: …`."""
    return GraphBuilder(name)


def current() -> GraphBuilder | None:
    """The graph whose block we are in."""
    return _building.get()


def sql(text: str, /, **tables: Handle) -> Handle:
    """A query in which `{name}` stands for rows or for an input value given by that name.

    Raises CONFIG_INVALID for a name that is not given.
    """
    builder = next((handle.graph for handle in tables.values()), current())
    if builder is None:
        raise JackfieldError(
            Code.CONFIG_INVALID, "This query is in no graph.", "Write it in a `jackfield.graph` block."
        )
    values = {name: handle for name, handle in tables.items() if handle.node == INPUT}
    missing = sorted(set(NAMED.findall(text)) - tables.keys())
    if missing:
        given = ", ".join(tables) or "nothing"
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"The query names {{{missing[0]}}}, and only {given} is given.",
            "Give it by that name.",
        )
    query = NAMED.sub(lambda found: f":{values[found[1]].port}" if found[1] in values else found[1], text)
    wired = {name: handle for name, handle in tables.items() if name not in values}
    if values:
        wired[ARGUMENTS] = Handle(builder, INPUT, ARGUMENTS)
    return Handle(builder, builder.add("sql", "sql", {"sql": query}, wired))


def tool_call(
    connector: Connector, name: str, arguments: Mapping[str, Any], variables: Mapping[str, str] | None = None
) -> Handle:
    """A `tool` node in the graph that is being built."""
    builder = _required()
    builder.use(connector, variables)
    _known(connector, name, arguments)
    wired = {key: value for key, value in arguments.items() if isinstance(value, Handle)}
    literal = {key: _json(value) for key, value in arguments.items() if not isinstance(value, Handle)}
    node = builder.add(name, "tool", {"tool": f"{connector.slug}/{name}", **literal}, wired)
    return Handle(builder, node, _port_of(connector, name))


def tool_map(
    connector: Connector,
    name: str,
    rows: Handle,
    concurrency: int,
    on_error: str,
    arguments: Mapping[str, Any],
    variables: Mapping[str, str] | None = None,
) -> Handle:
    """A `map` node that calls a tool for each row, or for each value of the column, of `rows`."""
    builder = _required()
    builder.use(connector, variables)
    _known(connector, name, arguments)
    configuration: dict[str, Json] = {
        "tool": f"{connector.slug}/{name}",
        "concurrency": concurrency,
        "on_error": on_error,
        **{key: _json(value) for key, value in arguments.items() if not isinstance(value, Handle)},
    }
    if rows.column:
        configuration["column"] = rows.column
        configuration["as"] = _filled(connector, name, rows.column, arguments)
    wired = {key: value for key, value in arguments.items() if isinstance(value, Handle)}
    node = builder.add(name, "map", configuration, {"items": Handle(builder, rows.node, rows.port), **wired})
    return Handle(builder, node)


def _required() -> GraphBuilder:
    builder = current()
    if builder is None:
        raise JackfieldError(
            Code.CONFIG_INVALID, "`map` belongs into a graph.", "Write it in a `with jackfield.graph(name)` block."
        )
    return builder


def _filled(connector: Connector, name: str, column: str, arguments: Mapping[str, Any]) -> str:
    """The argument that the column's values fill: of the same name, or the one that is not given."""
    schema = connector.tools[name].input_schema
    properties = schema.get("properties") or {}
    if column in properties:
        return column
    open_ones = [key for key in schema.get("required") or properties if key not in arguments]
    if len(open_ones) == 1:
        return str(open_ones[0])
    raise JackfieldError(
        Code.CONFIG_INVALID,
        f"Which argument of '{name}' does the column '{column}' fill? It has: {', '.join(properties)}.",
        "Name the column as the argument, or give the other arguments.",
    )


def _known(connector: Connector, name: str, arguments: Mapping[str, Any]) -> None:
    found = connector.tools.get(name) or connector.skills[name]
    properties = found.input_schema.get("properties") or {}
    unknown = [key for key in arguments if key not in properties]
    if unknown:
        raise JackfieldError(
            Code.VALIDATION_INVALID_PARAMS,
            f"'{name}' has no parameter '{unknown[0]}'.",
            f"It has: {', '.join(properties) or 'none'}.",
        )


def _port_of(connector: Connector, name: str) -> str:
    """The port of a tool's graph that its first output edge feeds."""
    tool = connector.tools.get(name)
    if tool is None:
        return "prompt"
    outputs = {node.id for node in tool.graph.nodes if node.type == "output"}
    ports = [edge.in_ for edge in tool.graph.edges if edge.to in outputs]
    return ROWS if ROWS in ports or not ports else ports[0]


def _json(value: Any) -> Json:
    return value.isoformat() if isinstance(value, (dt.date, dt.datetime)) else value


def _schema(type: Any) -> Mapping[str, Json]:
    if isinstance(type, Mapping):
        return type
    if get_origin(type) is list:
        return {"type": "array", "items": dict(_schema(get_args(type)[0]))}
    if type is list:
        return {"type": "array"}
    if type in SCHEMAS:
        return SCHEMAS[type]
    known = ", ".join(kind.__name__ for kind in SCHEMAS)
    raise JackfieldError(
        Code.CONFIG_INVALID, f"An input can not be a {type!r}.", f"Use {known}, list[…], or a JSON Schema."
    )
