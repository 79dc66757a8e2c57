"""Checks of a graph before it runs: each rule is a function that reads one graph and gives findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..findings import Finding
from ..model import Graph
from ..pointers import pointer as pointer_to
from ..positions import Document
from .edges import dangling_edges, unfinished_edges, unknown_ports
from .nodes import duplicate_ids, missing_inputs, unknown_types
from .reach import unfired_nodes
from .subgraphs import unknown_subgraphs
from .subject import PortsLike, PortsOf, Rule, Subject
from .types import incompatible_ports

__all__ = ["CODES", "RULES", "PortsLike", "PortsOf", "Rule", "Subject", "check"]

RULES: Final[tuple[Rule, ...]] = (
    duplicate_ids,
    unknown_types,
    unknown_subgraphs,
    dangling_edges,
    unfinished_edges,
    unknown_ports,
    incompatible_ports,
    missing_inputs,
    unfired_nodes,
)

CODES: Final[Mapping[str, str]] = {
    "NODE_DUPLICATE": "Two nodes have one id",
    "NODE_TYPE_UNKNOWN": "A node is of a type that there is not",
    "SUBGRAPH_UNKNOWN": "A node or an export names a sub-graph or module that is not there",
    "MODULE_NOT_RUN": "A node runs a JavaScript module, which fails when it fires",
    "EDGE_DANGLING": "An edge names a node that is not there",
    "EDGE_UNFINISHED": "An edge names one of its two ports only",
    "PORT_UNKNOWN": "An edge names a port that its node does not have",
    "PORT_TYPE_MISMATCH": "What an output gives does not fit the input; a warning where some of it may",
    "INPUT_MISSING": "A required input is neither wired nor configured",
    "CYCLE_WITHOUT_ENTRY": "The nodes of a cycle wait for each other, so none of them can be the first",
    "NODE_UNREACHABLE": "A node can never fire",
    "ASK_AFTER_WRITE": "A node may write before another asks: the call begins anew with the answer",
}


def check(
    graph: Graph,
    ports_of: PortsOf,
    *,
    kinds: tuple[str, ...] = (),
    file: str = "",
    document: Document | None = None,
    pointer: str = "",
) -> tuple[Finding, ...]:
    """What is wrong with `graph` and its sub-graphs, in the order of the rules.

    `ports_of` gives a node's ports, None for a type that is not known; `kinds` are the known types' names. `document`
    is the file's text with positions, and `pointer` where in it the graph begins.
    """
    waiting = [Subject(graph, ports_of, kinds, file, document, pointer)]
    findings: list[Finding] = []
    while waiting:
        subject = waiting.pop(0)
        findings.extend(finding for rule in RULES for finding in rule(subject))
        waiting.extend(
            replace(
                subject,
                graph=subgraph,
                pointer=subject.pointer + pointer_to("graphs", name),
                enclosing=subject.subgraphs,
            )
            for name, subgraph in subject.graph.graphs.items()
        )
    return tuple(findings)
