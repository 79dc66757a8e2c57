"""What changes something outside, as far as it can be said of a node before it runs: what it is, or what it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..graphs.model import Graph, Node
from ..graphs.pointers import pointer as pointer_to
from .base import Effect, NodeType

SAFE_METHODS: Final = frozenset(("GET", "HEAD"))
CALLING: Final = ("tool", "map")  # kinds that name the tool they call in the field `tool`


@dataclass(frozen=True, slots=True)
class Change:
    """A node that changes something; `pointer` is where it stands in its graph, `tool` what it does that by."""

    node: Node
    pointer: str
    tool: str = ""


def changes(node: Node, kind: NodeType[Any] | None) -> bool:
    """Whether the node itself does: its kind writes, and it is no request that only asks."""
    if kind is None or kind.effect is not Effect.WRITES:
        return False
    return node.type != "request" or str(node.configuration.get("method", "POST")).upper() not in SAFE_METHODS


def changes_of(
    graph: Graph, kinds: Mapping[str, NodeType[Any]], tool_changes: Callable[[str], bool], pointer: str = ""
) -> Iterator[Change]:
    """Every such node of `graph` and its sub-graphs. `tool_changes` tells it of the tools that are called by name."""
    for index, node in enumerate(graph.nodes):
        place = f"{pointer}/nodes/{index}"
        if changes(node, kinds.get(node.type)):
            yield Change(node, place)
        for tool in called(node):
            if tool_changes(tool):
                yield Change(node, place, tool)
    for name, inner in graph.graphs.items():
        yield from changes_of(inner, kinds, tool_changes, pointer + pointer_to("graphs", name))


def called(node: Node) -> tuple[str, ...]:
    """The tools that a node names: those of a `tool` or `map` node, and those that a skill's model may call."""
    if node.type in CALLING:
        named = [node.configuration.get("tool")]
    elif node.type == "skill":
        tools = node.configuration.get("tools")
        listed = tools if isinstance(tools, list | tuple) else ()
        named = [tool.get("id") for tool in listed if isinstance(tool, Mapping)]
    else:
        return ()
    return tuple(name for name in named if isinstance(name, str) and name)
