"""Every kind of node, one line each. A kind is one file here; its name in this tuple is its whole registration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .ask import ask_node
from .base import NodeType
from .content import content_node
from .fail import fail_node
from .file import file_node
from .fill import fill_node
from .input import input_node
from .invoke import invoke_node
from .log import log_node
from .map import map_node
from .mysql import mysql_node
from .output import output_node
from .postgres import postgres_node
from .progress import progress_node
from .project import project_node
from .pushdown import pushdown_node
from .query import query_node
from .request import request_node
from .rest import rest_node
from .roots import roots_node
from .rows import rows_node
from .sample import sample_node
from .save import save_node
from .select import select_node
from .skill import skill_node
from .sql import sql_node
from .statement import statement_node
from .template import template_node
from .tool import tool_node
from .wait import wait_node

NODE_TYPES: Final[tuple[NodeType[Any], ...]] = (
    input_node,
    output_node,
    template_node,
    select_node,
    map_node,
    invoke_node,
    file_node,
    rest_node,
    request_node,
    postgres_node,
    mysql_node,
    query_node,
    statement_node,
    rows_node,
    pushdown_node,
    sql_node,
    tool_node,
    skill_node,
    project_node,
    fill_node,
    save_node,
    ask_node,
    sample_node,
    roots_node,
    content_node,
    log_node,
    progress_node,
    wait_node,
    fail_node,
)


def registry() -> Mapping[str, NodeType[Any]]:
    """The kinds by the name that a node's `type` gives."""
    return {kind.name: kind for kind in NODE_TYPES}
