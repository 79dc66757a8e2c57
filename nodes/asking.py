"""What a node asks of whoever called: asked all at once, and never after a write.

A question may end the call, which begins anew with the answer, so all that comes before it happens twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Json
from .base import Context, Question

ASKED: Final[Mapping[str, str]] = {
    "elicitation/create": "the person",
    "sampling/createMessage": "the client's model",
    "roots/list": "the client's roots",
}


async def ask(
    context: Context, questions: Sequence[Question], optional: frozenset[str] = frozenset()
) -> Mapping[str, Mapping[str, Json]]:
    """The MCP result of each question by its key; without those of `optional` that this client cannot be asked.

    Raises INPUT_REQUIRED where nobody can be asked, or the call has to end for the answer; CONFIG_INVALID after a
    write.
    """
    if context.wrote:
        raise JackfieldError(
            Code.CONFIG_INVALID,
            f"Node '{context.node}' asks after node '{context.wrote}' has written.",
            "A call begins anew with each answer, and would write again. Put the question before the write.",
            {"node": context.node, "wrote": context.wrote},
        )
    client = context.client
    wanted = [one for one in questions if one.key not in optional or (client is not None and client.takes(one))]
    if not wanted:
        return {}
    if client is None:
        whom = " and ".join(dict.fromkeys(ASKED[one.method] for one in wanted))
        raise JackfieldError(
            Code.INPUT_REQUIRED,
            f"Node '{context.node}' asks {whom}, and this caller cannot be asked.",
            "Call it from an MCP client, or from `jackfield call` at a terminal.",
            {"node": context.node, "questions": [one.key for one in wanted]},
        )
    return await client.ask(wanted)


def key_of(context: Context, key: str) -> str:
    """The name of a node's question: as configured, else the node's own id."""
    return key or context.node.rpartition("/")[2]
