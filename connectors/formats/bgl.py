"""A bare BGL graph file as a connector of one tool, named after the file; its arguments are its inputs' schemas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ...graphs.bgl import from_json
from ...graphs.errors import JackfieldError
from ...graphs.findings import Finding, Severity
from ...graphs.model import Graph, Json
from ...nodes import registry
from ...nodes.base import Effect
from ..model import Connector, Tool
from ..text import FileText
from .base import Format, Reading

CALLING: Final = frozenset(("tool", "map", "invoke", "skill"))


def matches(document: Json) -> bool:
    return isinstance(document, dict) and isinstance(document.get("nodes"), list) and "edges" in document


def read(file: FileText) -> Reading:
    try:
        graph = from_json(file.value, url=file.file)
    except JackfieldError as error:
        finding = Finding("GRAPH_INVALID", Severity.ERROR, error.message, file.place(""), error.hint)
        return Reading(None, (finding,))
    slug = slug_of(file.path)
    reads = only_reads(graph)
    tool = Tool(
        id=slug.replace("-", "_"),
        name=slug.replace("-", "_"),
        title=graph.title or slug,
        description=graph.description or graph.title or f"Run the graph {slug}",
        category="READ" if reads else "ACTION",
        input_schema=input_schema(graph),
        annotations={
            "readOnlyHint": reads,
            "destructiveHint": not reads,
            "idempotentHint": reads,
            "openWorldHint": True,
        },
        compile=lambda: graph,
        connector=slug,
    )
    connector = Connector(
        slug=slug,
        name=graph.title or slug,
        version=graph.version or "0.0.0",
        path=file.path,
        folder=file.folder,
        format="bgl",
        description=graph.description,
        tools={tool.id: tool},
        digest=file.digest,
    )
    return Reading(connector)


def only_reads(graph: Graph) -> bool:
    """Whether no node can change anything, as far as the nodes' kinds tell: what calls elsewhere may."""
    kinds = registry()
    effects = [kinds[node.type].effect if node.type in kinds else Effect.WRITES for node in graph.nodes]
    calls = any(node.type in CALLING for node in graph.nodes)
    return not calls and all(effect in (Effect.PURE, Effect.READS) for effect in effects)


def slug_of(path: Path | None) -> str:
    """`orders by region.bgl.json` → `orders-by-region`."""
    stem = "graph" if path is None else path.name.split(".", 1)[0]
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "graph"


def input_schema(graph: Graph) -> dict[str, Any]:
    """The union of what the graph's input nodes ask for. Open: a board may read inputs it does not declare."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for node in graph.nodes:
        schema = node.configuration.get("schema")
        if node.type != "input" or not isinstance(schema, Mapping):
            continue
        given, asked = schema.get("properties"), schema.get("required")
        for name, value in given.items() if isinstance(given, Mapping) else ():
            properties.setdefault(name, value)
        required += [name for name in asked if name not in required] if isinstance(asked, list) else []
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


BGL = Format("bgl", "A graph as BGL: nodes and edges", matches, read)
