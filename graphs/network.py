"""A Graph as a networkx graph, for authors who want to ask it more than the checks do. Never on the way of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .model import Graph

if TYPE_CHECKING:
    import networkx


def to_networkx(graph: Graph) -> networkx.MultiDiGraph[str]:
    """Nodes by id with their `type` and `configuration`; an edge for each of ours, with `out`, `in` and its marks.

    Edges whose nodes are not there are left out.
    """
    import networkx

    network: networkx.MultiDiGraph[str] = networkx.MultiDiGraph(title=graph.title)
    for node in graph.nodes:
        network.add_node(node.id, type=node.type, configuration=node.configuration)
    for edge in graph.edges:
        if edge.from_ in graph.by_id and edge.to in graph.by_id:
            marks = {"out": edge.out, "in": edge.in_, "optional": edge.optional, "constant": edge.constant}
            network.add_edge(edge.from_, edge.to, **marks)
    return network
