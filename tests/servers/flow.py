"""Small graphs in a short notation, and kinds of node whose firing can be foreseen, for tests of the engine.

Edges: `a.x -> b.y` data, `a.x ?> b.y` optional, `a.x => b.y` constant, `a.* -> b` wildcard, `a -> b` control.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes.base import Context, Effect, Inputs, NoConfiguration, NodeType, OpenConfiguration, Outputs, node
from jackfield.nodes.input import input_node
from jackfield.nodes.invoke import invoke_node
from jackfield.nodes.output import output_node

EDGE = re.compile(r"(\w+)(?:\.(\S+))? +([-?=])> +(\w+)(?:\.(\S+))?$")


def edge(text: str) -> Edge:
    match = EDGE.match(text)
    assert match, f"no edge: {text!r}"
    from_, out, arrow, to, in_ = match.groups()
    return Edge(from_, to, out or "", in_ or "", optional=arrow == "?", constant=arrow == "=")


def flow(nodes: Mapping[str, Any], *edges: str, **more: Any) -> Graph:
    """A graph of `id: kind` or `id: (kind, configuration)`, and edges."""
    made = [Node(name, of) if isinstance(of, str) else Node(name, *of) for name, of in nodes.items()]
    return Graph(tuple(made), tuple(map(edge, edges)), **more)


Function = Callable[[Inputs, Context], Awaitable[Outputs]]


def kind(name: str, function: Function, effect: Effect = Effect.PURE) -> NodeType[Any]:
    """A kind of node that takes and gives any ports; what is configured counts as input."""

    async def run(config: OpenConfiguration, inputs: Inputs, context: Context) -> Outputs:
        return await function(inputs, context)

    declare = node(
        name,
        description=f"{name} of the tests",
        effect=effect,
        configuration=OpenConfiguration,
        open_inputs=True,
        open_outputs=True,
    )
    return declare(run)


async def _noop(inputs: Inputs, context: Context) -> Outputs:
    return dict(inputs)


async def _extract(inputs: Inputs, context: Context) -> Outputs:
    head, *rest = inputs["list"]
    return {"text": head, "list": rest} if rest else {"text": head}


async def _error(inputs: Inputs, context: Context) -> Outputs:
    return {"$error": {"kind": "error", "error": "it returned an error"}}


async def _throw(inputs: Inputs, context: Context) -> Outputs:
    raise ValueError("it raised, with a secret in its text")


async def _refuse(inputs: Inputs, context: Context) -> Outputs:
    raise JackfieldError(Code.SOURCE_ERROR, "The upstream answered 500.")


async def _join(inputs: Inputs, context: Context) -> Outputs:
    return {"all": " ".join(f"{port}={inputs[port]}" for port in sorted(inputs))}


@node("make", description="Gives a text.", configuration=NoConfiguration, open_outputs=True)
async def make(config: NoConfiguration, inputs: Inputs, context: Context) -> Outputs:
    return {"text": "Hello, world!"}


KINDS: tuple[NodeType[Any], ...] = (
    input_node,
    output_node,
    invoke_node,
    make,
    kind("noop", _noop),
    kind("extract", _extract),
    kind("error", _error),
    kind("throw", _throw),
    kind("refuse", _refuse),
    kind("join", _join),
)
