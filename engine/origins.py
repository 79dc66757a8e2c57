"""Where an error of the world outside came from: its source or node, its connector, and the field that asked for it.

Said once, where a node's failure leaves the node, so that no kind of node has to know its connector's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..graphs.errors import STATUS, Code, JackfieldError
from ..graphs.model import Json
from ..nodes.base import SCAN, Context, Effect, NodeType
from ..nodes.secrets import demands

SOURCE_EXITS: Final = (3, 4)  # a source that did not do what was expected of it; not allowed
ABOUT_THE_FILE: Final = (Code.SECRET_MISSING, Code.CONFIG_INVALID, Code.SCHEMA_NOT_FOUND)


def located(
    error: JackfieldError, context: Context, kind: NodeType[Any], configuration: Mapping[str, Json]
) -> JackfieldError:
    """`error` with its node in the details; in its words too, where it comes from outside and names no node yet."""
    details = error.details
    if "node" in details:
        return error
    error.details = {**details, "node": context.node}
    if "source" in details or kind.effect is Effect.PURE or not _is_from_outside(error.code):
        return error
    if context.connector:
        error.details = {**error.details, "connector": context.connector}
    asking = _asking(configuration, details.get("variable"))
    if asking:
        error.details = {**error.details, "field": asking}
    error.message = f"{_named(context, kind)}{f', field {asking!r}' if asking else ''}: {error.message}"
    return error


def _is_from_outside(code: Code) -> bool:
    return STATUS[code].exit in SOURCE_EXITS or code in ABOUT_THE_FILE


def _named(context: Context, kind: NodeType[Any]) -> str:
    is_source = any(port.name == SCAN for port in kind.ports.inputs)
    node = f"Source '{context.node}'" if is_source else f"Node '{context.node}' ({kind.name})"
    return f"{node} of connector '{context.connector}'" if context.connector else node


def _asking(configuration: Mapping[str, Json], variable: object) -> str:
    return next((place for place, name in demands(configuration) if name == variable), "")
