"""`select`: one part of a JSON value, found by a JMESPath expression."""

from __future__ import annotations

import re
from typing import Any, Final

from pydantic import Field, field_validator

from ..graphs.errors import Code, JackfieldError
from .base import Configuration, Context, Inputs, Outputs, Port, node
from .blocking import in_thread
from .table import Table

PLAIN: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z", re.ASCII)
LONGEST: Final = 2000  # characters; JMESPath's parser recurses, and no hand writes more
DEEPEST: Final = 100


class SelectConfiguration(Configuration):
    """Rows that arrive as a table are searched as a list of objects."""

    path: str = Field(description="JMESPath expression, such as 'user.name' or 'items[?price > `5`].id'")
    required: bool = Field(False, description="Fail where nothing is found, instead of giving nothing")

    @field_validator("path")
    @classmethod
    def _is_readable(cls, path: str) -> str:
        if not PLAIN.match(path):
            _compiled(path)
        return path


def _compiled(path: str) -> Any:
    import jmespath
    from jmespath.exceptions import JMESPathError

    if len(path) > LONGEST:
        raise ValueError(f"the expression has {len(path):,} characters; at most {LONGEST:,} are read")
    try:
        expression = jmespath.compile(path)
    except JMESPathError as error:
        raise ValueError(f"not a JMESPath expression: {str(error).splitlines()[0][:200]}") from None
    except RecursionError:
        raise ValueError("the expression nests too deep") from None
    level = [expression.parsed]
    for _ in range(DEEPEST):
        level = [child for part in level if isinstance(part, dict) for child in part["children"]]
    if level:  # the search would recurse as deep
        raise ValueError("the expression nests too deep")
    return expression


@node(
    "select",
    description="Gives the part of a value that a JMESPath expression finds.",
    configuration=SelectConfiguration,
    inputs=(Port("value", description="What to search"),),
    outputs=(Port("value", description="What was found; nothing travels where it is null"),),
)
async def select_node(config: SelectConfiguration, inputs: Inputs, context: Context) -> Outputs:
    value = inputs.get("value")
    if isinstance(value, Table):
        table = value
        value = await in_thread(lambda: table.arrow().to_pylist(), cancel=table.cancel)
    found = _found(config.path, value, context.node)
    if found is None and config.required:
        raise JackfieldError(
            Code.SCHEMA_NOT_FOUND,
            f"Node '{context.node}' (select): nothing is at '{config.path[:80]}' of {_described(value)}.",
            "Correct the path, or set 'required' to false if the value may be absent.",
            {"node": context.node, "path": config.path},
        )
    return {"value": found}


def _found(path: str, value: Any, node: str) -> Any:
    if PLAIN.match(path):
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value
    from jmespath.exceptions import JMESPathError

    try:
        return _compiled(path).search(value)
    except (JMESPathError, RecursionError) as error:
        raise JackfieldError(
            Code.TYPE_MISMATCH,
            f"Node '{node}' (select): '{path[:80]}' does not fit {_described(value)}: {str(error)[:200]}.",
            "Compare the expression with the value that arrives here.",
            {"node": node, "path": path},
        ) from None


def _described(value: Any) -> str:
    if isinstance(value, dict):
        return "an object with " + (", ".join(f"'{key}'" for key in list(value)[:8]) or "no properties")
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "nothing" if value is None else f"a {type(value).__name__}"
