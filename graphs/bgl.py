"""BGL, Breadboard's JSON for graphs: reading it into a Graph and writing a Graph as the same document.

Nothing of a document is lost: fields that we do not use, fields written out although they are empty, and their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NoReturn

from .errors import Code, JackfieldError
from .model import EMPTY, Edge, Graph, Json, Node
from .pointers import escaped

NODE_FIELDS: Final = ("id", "type", "configuration", "metadata")
EDGE_FIELDS: Final = ("from", "out", "to", "in", "optional", "constant", "metadata")
GRAPH_FIELDS: Final = ("title", "description", "version", "url", "metadata", "nodes", "edges", "graphs", "exports")


class Rest(dict[str, Json]):
    """Fields of a JSON object that its dataclass does not hold, and the order of all its fields.

    A known field is here too when it was written with the value that its absence means (`"optional": false`).
    The order does not count when two are compared. `found_at` is a graph's url when its document names none.
    """

    __slots__ = ("found_at", "order")

    def __init__(self, fields: Mapping[str, Json], order: Iterable[str], found_at: str = "") -> None:
        super().__init__(fields)
        self.order = tuple(order)
        self.found_at = found_at


def from_json(document: Json, url: str = "") -> Graph:
    """The graph of a parsed BGL document. `url` is where it was found, for a document that does not say so itself.

    Raises JackfieldError CONFIG_INVALID; `details["pointer"]` is the JSON pointer of what does not fit.
    """
    return _graph(document, "", url)


def to_json(graph: Graph) -> dict[str, Json]:
    """The BGL document of `graph`, which shares what is in configurations and metadata with it."""
    found_at = graph.rest.found_at if isinstance(graph.rest, Rest) else ""
    known: dict[str, Json] = {
        "title": graph.title,
        "description": graph.description,
        "version": graph.version,
        "url": "" if graph.url == found_at else graph.url,
        "metadata": dict(graph.metadata),
        "nodes": [_node_json(node) for node in graph.nodes],
        "edges": [_edge_json(edge) for edge in graph.edges],
        "graphs": {name: to_json(subgraph) for name, subgraph in graph.graphs.items()},
        "exports": list(graph.exports),
    }
    return _written(known, graph.rest, always=("nodes", "edges"))


def _node_json(node: Node) -> dict[str, Json]:
    known: dict[str, Json] = {
        "id": node.id,
        "type": node.type,
        "configuration": dict(node.configuration),
        "metadata": dict(node.metadata),
    }
    return _written(known, node.rest, always=("id", "type"))


def _edge_json(edge: Edge) -> dict[str, Json]:
    known: dict[str, Json] = {
        "from": edge.from_,
        "out": edge.out,
        "to": edge.to,
        "in": edge.in_,
        "optional": edge.optional,
        "constant": edge.constant,
        "metadata": dict(edge.metadata),
    }
    return _written(known, edge.rest, always=("from", "to"))


def _written(known: Mapping[str, Json], rest: Mapping[str, Json], always: tuple[str, ...]) -> dict[str, Json]:
    """The object of `known` and `rest`: fields in the order they were read, then the new ones."""
    fields = {name: value for name, value in known.items() if value or name in always}
    for name, value in rest.items():
        fields.setdefault(name, value)
    if not isinstance(rest, Rest):
        return fields
    ordered = {name: fields[name] for name in rest.order if name in fields}
    return {**ordered, **fields} if len(ordered) < len(fields) else ordered


def _graph(document: Json, pointer: str, url: str) -> Graph:
    found = _object(document, pointer, "a graph")
    own_url = _field(found, "url", pointer, str, "")
    nodes = _field(found, "nodes", pointer, list, None)
    edges = _field(found, "edges", pointer, list, None)
    subgraphs = _field(found, "graphs", pointer, dict, {})
    exports = _field(found, "exports", pointer, list, [])
    for index, export in enumerate(exports):
        if not isinstance(export, str):
            _refuse(f"{pointer}/exports/{index}", "an export", "a string such as '#id'", export)
    return Graph(
        nodes=tuple([_node(node, f"{pointer}/nodes/{index}") for index, node in enumerate(nodes)]),
        edges=tuple([_edge(edge, f"{pointer}/edges/{index}") for index, edge in enumerate(edges)]),
        graphs=MappingProxyType(
            {name: _graph(value, f"{pointer}/graphs/{escaped(name)}", "") for name, value in subgraphs.items()}
        ),
        exports=tuple(exports),
        title=_field(found, "title", pointer, str, ""),
        description=_field(found, "description", pointer, str, ""),
        version=_field(found, "version", pointer, str, ""),
        url=own_url or url,
        metadata=_field(found, "metadata", pointer, dict, EMPTY),
        rest=_rest(found, GRAPH_FIELDS, "" if own_url else url),
    )


def _node(document: Json, pointer: str) -> Node:
    found = _object(document, pointer, "a node")
    return Node(
        id=_field(found, "id", pointer, str, None),
        type=_field(found, "type", pointer, str, None),
        configuration=_field(found, "configuration", pointer, dict, EMPTY),
        metadata=_field(found, "metadata", pointer, dict, EMPTY),
        rest=_rest(found, NODE_FIELDS),
    )


def _edge(document: Json, pointer: str) -> Edge:
    found = _object(document, pointer, "an edge")
    return Edge(
        from_=_field(found, "from", pointer, str, None),
        to=_field(found, "to", pointer, str, None),
        out=_field(found, "out", pointer, str, ""),
        in_=_field(found, "in", pointer, str, ""),
        optional=_field(found, "optional", pointer, bool, False),
        constant=_field(found, "constant", pointer, bool, False),
        metadata=_field(found, "metadata", pointer, dict, EMPTY),
        rest=_rest(found, EDGE_FIELDS),
    )


def _rest(found: Mapping[str, Json], known: tuple[str, ...], found_at: str = "") -> Rest:
    return Rest({k: v for k, v in found.items() if k not in known or not v}, found, found_at)


def _object(found: Json, pointer: str, what: str) -> dict[str, Json]:
    if not isinstance(found, dict):
        _refuse(pointer, what, "an object", found)
    return found


_TYPES: Final[Mapping[type, str]] = {str: "a string", bool: "true or false", list: "a list", dict: "an object"}


def _field(found: dict[str, Json], name: str, pointer: str, kind: type, default: Json) -> Json:
    """The field if it has the right type; `default` None says that it must be there."""
    value = found.get(name, default)
    if name not in found and default is not None:
        return value
    if type(value) is not kind:
        expected = _TYPES[kind]
        if name not in found:
            _refuse(pointer, f"'{name}'", expected, None, missing=True)
        _refuse(f"{pointer}/{escaped(name)}", f"'{name}'", expected, value)
    return value


def _refuse(pointer: str, what: str, expected: str, found: Json, *, missing: bool = False) -> NoReturn:
    where = f"at '{pointer}'" if pointer else "at the top"
    described = "nothing" if missing else "null" if found is None else _TYPES.get(type(found), "a number")
    raise JackfieldError(
        Code.CONFIG_INVALID,
        f"The graph {where}: {what} must be {expected}, found {described}.",
        "A graph is an object with 'nodes' (each with 'id' and 'type') and 'edges' (each with 'from' and 'to').",
        {"pointer": pointer},
    )
