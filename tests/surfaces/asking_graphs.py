"""Tools, a prompt and a resource whose graphs ask, written short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jackfield.graphs.model import Json

from .serving import connector

NAME: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
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


GREET = tool(
    "greet",
    [node("who", "ask", message="Your name?", schema=NAME), text("Hello {{content.name}}")],
    [("input", "who"), ("who", "content", "content", "content")],
)
TWICE = tool(
    "twice",
    [
        node("first", "ask", key="who", message="Your name?", schema=NAME),
        node("second", "ask", key="who", message="Your friend's name?", schema=NAME),
        text("{{a.name}} and {{b.name}}"),
    ],
    [
        ("input", "first"),
        ("first", "second"),
        ("first", "content", "content", "a"),
        ("second", "content", "content", "b"),
    ],
)
ALL = tool(
    "all",
    [
        node("capital", "sample", prompt="Capital?", max_tokens=9),
        node("folders", "roots"),
        text("{{text}} {{uris}}"),
    ],
    [
        ("input", "capital"),
        ("input", "folders"),
        ("capital", "content", "text", "text"),
        ("folders", "content", "uris", "uris"),
    ],
)
VISIT = tool(
    "visit",
    [node("page", "ask", message="Sign in.", url="https://example.com/sign-in"), text("{{action}}")],
    [("input", "page"), ("page", "content", "action", "action")],
)
SAY = tool(
    "say",
    [node("low", "log", data="low", level="debug"), node("high", "log", data={"n": 1}, level="error"), text("said")],
    [("input", "low"), ("low", "high"), ("high", "content")],
)
EACH = tool(
    "each",
    [node("all", "map", **{"$board": "#one", "items": [1, 2], "concurrency": 1}), text("{{list}}")],
    [("input", "all"), ("all", "content", "list", "list")],
)
EACH["graph"]["graphs"] = {
    "one": {
        "nodes": [
            {"id": "input", "type": "input"},
            node("sure", "ask", message="Sure?"),
            {"id": "o", "type": "output"},
        ],
        "edges": [{"from": "input", "to": "sure"}, {"from": "sure", "to": "o", "out": "action", "in": "action"}],
    }
}
ASKED_PROMPT: Json = {
    "id": "letter",
    "name": "Letter",
    "description": "Give a letter to whom the person names.",
    "graph": {
        "nodes": [*GREET["graph"]["nodes"]],
        "edges": [
            *GREET["graph"]["edges"][:2],
            {"from": "content", "to": "output", "out": "messages", "in": "messages"},
        ],
    },
}
ASKED_RESOURCE: Json = {
    "uri": "zoo://keeper",
    "name": "Keeper",
    "graph": {
        "nodes": [
            node("who", "ask", message="Your name?", schema=NAME),
            node(
                "content", "content", blocks=[{"type": "resource", "uri": "zoo://keeper", "text": "{{content.name}}"}]
            ),
            {"id": "output", "type": "output"},
        ],
        "edges": [
            {"from": "who", "to": "content", "out": "content", "in": "content"},
            {"from": "content", "to": "output", "out": "contents", "in": "contents"},
        ],
    },
}


def asking(folder: Path) -> Path:
    tools = [GREET, TWICE, ALL, VISIT, SAY, EACH]
    return connector(folder, tools=tools, skills=[ASKED_PROMPT], resources=[ASKED_RESOURCE])
