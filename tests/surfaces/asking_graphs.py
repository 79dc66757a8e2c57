"""Tools whose graphs ask, written short."""

from __future__ import annotations

from typing import Any

from jackfield.graphs.model import Json

CLOSED: Json = {"type": "object", "properties": {}, "additionalProperties": False}


def tool(id: str, nodes: list[Json], edges: list[tuple[str, ...]], **more: Any) -> Json:
    """A tool whose graph begins at `input` and answers in the text of its node `content`."""
    wires = [dict(zip(("from", "to", "out", "in"), edge, strict=False)) for edge in edges]
    given = {"id": "input", "type": "input", "configuration": {"schema": more.pop("schema", CLOSED)}}
    every = [given, *nodes, {"id": "output", "type": "output"}]
    last = {"from": "content", "to": "output", "out": "content", "in": "content"}
    return {
        "id": id,
        "name": id,
        "description": "Return what was answered.",
        "category": "READ",
        "graph": {"nodes": every, "edges": [*wires, last]},
        **more,
    }


def node(id: str, type: str, **configuration: Json) -> Json:
    return {"id": id, "type": type, "configuration": configuration}


def text(template: str) -> Json:
    return node("content", "content", blocks=[{"type": "text", "text": template}])
