"""Whether a graph may run at all: what `lint` refuses in a graph file, a call refuses too, with the same finding."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from ..connectors.model import Connector
from ..graphs.errors import Code, JackfieldError
from ..graphs.findings import Finding, Severity
from ..graphs.model import Graph
from ..graphs.positions import read_bytes
from ..nodes.base import NodeType
from ..nodes.checking import check_graph
from .faults import of_finding

GRAPH_FILES: Final = "bgl"  # the format of a connector that is one graph file


def refusal(graph: Graph, kinds: Mapping[str, NodeType[Any]], connector: Connector | None) -> JackfieldError | None:
    """CONFIG_INVALID with the first error in `graph`; with its place and frame where a graph file is all of it."""
    wrong = _first_error(graph, kinds)
    if wrong is None:
        return None
    if connector is not None and connector.path is not None and connector.format == GRAPH_FILES:
        return of_finding(_placed(graph, kinds, connector.path) or wrong)
    return JackfieldError(
        Code.CONFIG_INVALID, wrong.message, wrong.hint, {"finding": wrong.as_json(), "node": wrong.subject}
    )


def _placed(graph: Graph, kinds: Mapping[str, NodeType[Any]], path: Path) -> Finding | None:
    try:
        document = read_bytes(path.read_bytes(), str(path))
    except (OSError, JackfieldError):
        return None  # it was changed since it was read
    return _first_error(graph, kinds, file=str(path), document=document)


def _first_error(graph: Graph, kinds: Mapping[str, NodeType[Any]], **where: Any) -> Finding | None:
    found = check_graph(graph, kinds, **where)
    return next((one for one in found if one.severity is Severity.ERROR), None)


def check_inputs(graph: Graph, inputs: Mapping[str, Any]) -> None:
    """Raises VALIDATION_INVALID_PARAMS for an input that no input node of `graph` declares; one may be open."""
    declared: list[str] = []
    for node in graph.nodes:
        if node.type == "input":
            schema = node.configuration.get("schema")
            if not isinstance(schema, Mapping) or "properties" not in schema or schema.get("additionalProperties"):
                return
            declared += schema["properties"]
    for name in inputs:
        if name not in declared:
            near = get_close_matches(name, declared, 1)
            known = f"Inputs: {', '.join(declared)}." if declared else "It takes no inputs."
            raise JackfieldError(
                Code.VALIDATION_INVALID_PARAMS,
                f"The graph has no input '{name}'.",
                f"Did you mean '{near[0]}'?" if near else known,
                {"parameter": name, "available": declared},
            )
