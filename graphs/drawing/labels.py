"""What every drawing says of a node and an edge: its kind, the line that tells it apart, and facts of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..model import Edge, Graph, Json, Node

Facts = Mapping[str, Mapping[str, Json]]  # by node id: rows, bytes, ms, state, or anything else

# Configuration fields that say most of a node, the first that is there.
TELLING: Final = ("table", "url", "path", "sql", "query", "tool", "$board", "to", "template", "engine", "method")
SECRET: Final = "://"


def title(node: Node) -> str:
    found = node.metadata.get("title")
    return found if isinstance(found, str) and found else node.id


def detail(node: Node, limit: int = 60) -> str:
    """One line of the node's configuration; empty when it has nothing that tells."""
    for name in TELLING:
        value = node.configuration.get(name)
        if isinstance(value, str) and value:
            return cut(" ".join(_without_user(value).split()), limit)
    if node.type == "input":
        schema = node.configuration.get("schema")
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        return cut(", ".join(properties), limit) if isinstance(properties, Mapping) else ""
    return ""


def kind_and_detail(node: Node, limit: int = 60) -> str:
    """The type, unless it is the name already, and the line that tells the node apart."""
    parts = [node.type if title(node) != node.type else "", detail(node, limit)]
    return " · ".join(filter(None, parts)) or node.type


def _without_user(text: str) -> str:
    """`text` without the user and password of a URL, which belong in no picture."""
    scheme, separator, rest = text.partition(SECRET)
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if separator and "@" in host else text


def measured(facts: Mapping[str, Json] | None) -> str:
    """Facts of a node in words: `1,240 rows · 92 kB · 14 ms`."""
    if not facts:
        return ""
    words = [
        f"{facts['rows']:,} row{'' if facts['rows'] == 1 else 's'}" if _counted(facts, "rows") else "",
        size(facts["bytes"]) if _counted(facts, "bytes") else "",
        duration(facts["ms"]) if _counted(facts, "ms") else "",
    ]
    words.extend(f"{name} {value}" for name, value in facts.items() if name not in ("rows", "bytes", "ms"))
    return " · ".join(filter(None, words))


def _counted(facts: Mapping[str, Json], name: str) -> bool:
    return isinstance(facts.get(name), (int, float))


def size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def duration(milliseconds: float) -> str:
    if milliseconds < 1:
        return "< 1 ms"
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def edge_label(edge: Edge) -> str:
    """The ports of an edge, once where they have one name; empty for a control edge."""
    if edge.is_control or edge.is_wildcard:
        return edge.out
    return edge.out if edge.out == edge.in_ or not edge.in_ else f"{edge.out} → {edge.in_}"


def family(node: Node) -> str:
    """The group of kinds that a drawing gives one colour."""
    return FAMILIES.get(node.type, "run" if node.type.startswith("#") else "other")


FAMILIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("input", "output"), "edge"),
    **dict.fromkeys(("rest", "postgres", "mysql", "file", "rows"), "source"),
    **dict.fromkeys(("sql", "query", "pushdown", "select", "template"), "query"),
    **dict.fromkeys(("save", "statement", "request"), "write"),
    **dict.fromkeys(("tool", "skill", "map", "invoke"), "run"),
}


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def heading(graph: Graph) -> str:
    return graph.title or "graph"
