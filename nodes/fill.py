"""`fill`: an object written with `{{port.path}}` references, filled from what the ports hold.

A text that is one reference takes the value with its type; a reference inside longer text becomes text. A reference
to what is not there leaves its field out, so an optional argument of a call stays absent; one that is `needed` fails.
Nothing is evaluated, and a value that holds `{{…}}` is not looked into again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import Field

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Json
from .base import ARGUMENTS, OBJECT, Configuration, Context, Inputs, Outputs, Port, Value, node
from .blocking import in_thread
from .table import Table

REFERENCE: Final = re.compile(r"\{\{\s*([^{}\s]+)\s*\}\}")
MISSING: Final = object()


class FillConfiguration(Configuration):
    template: Mapping[str, Json] = Field(description="The object; {{port.field}} and {{port.0.field}} are references")
    needed: Mapping[str, str] = Field(
        default_factory=dict, description="References that must find something, and how their author wrote each"
    )
    owner: str = Field("", description="What holds the template, as an error calls it")


@node(
    "fill",
    description="Builds an object from a template whose {{port.path}} references are filled from the inputs.",
    configuration=FillConfiguration,
    inputs=(Port(ARGUMENTS, OBJECT, "Arguments of the call, for {{$arguments.name}}", required=False),),
    outputs=(Port("object", OBJECT, "The filled object"),),
    open_inputs=True,
)
async def fill_node(config: FillConfiguration, inputs: Inputs, context: Context) -> Outputs:
    values = {name: await _readable(value) for name, value in inputs.items()}
    for reference, written in config.needed.items():
        if looked_up(reference, values) is MISSING:
            raise _not_there(config.owner or f"Node '{context.node}' (fill)", reference, written, values)
    return {"object": filled(config.template, values)}


def _not_there(owner: str, reference: str, written: str, values: Mapping[str, Any]) -> JackfieldError:
    port, *path = reference.split(".")
    found = values.get(port)
    if isinstance(found, Table):
        rows = found.arrow()
        known = list(rows.column_names)
        if path and path[0].isdecimal() and int(path[0]) >= rows.num_rows:
            known = []
            why = f"that step gave {rows.num_rows or 'no'} row{'s' * (rows.num_rows != 1)}"
        else:
            why = "its rows have no such field"
    else:
        known = sorted(found) if isinstance(found, Mapping) else []
        why = "the answer of that step has no such field"
    return JackfieldError(
        Code.SCHEMA_NOT_FOUND,
        f"{owner} uses {written}, and {why}.",
        f"It has: {', '.join(known[:12])}." if known else "",
        {"reference": written, "available": known},
    )


async def _readable(value: Value) -> Value:
    if not isinstance(value, Table):
        return value
    if value.is_stream:
        await in_thread(value.arrow, cancel=value.cancel)
    return value


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """`template` with its references replaced; fields whose reference finds nothing are left out."""
    match template:
        case str():
            return _text(template, values)
        case Mapping():
            fields = {name: filled(item, values) for name, item in template.items()}
            return {name: item for name, item in fields.items() if item is not MISSING and item is not None}
        case list() | tuple():
            items = [filled(item, values) for item in template]
            return [item for item in items if item is not MISSING]
    return template


def looked_up(path: str, values: Mapping[str, Any]) -> Any:
    """The value at `port.field.0.field`, or MISSING."""
    name, *rest = path.split(".")
    found = values.get(name, MISSING)
    for position, part in enumerate(rest):
        if isinstance(found, Table):
            found = _rows(found, part) if position == 0 else MISSING
        elif isinstance(found, Mapping):
            found = found.get(part, MISSING)
        elif isinstance(found, Sequence) and not isinstance(found, str) and part.isdecimal():
            found = found[int(part)] if int(part) < len(found) else MISSING
        elif found is None:
            return None  # the field of nothing: absent, but not misspelt
        else:
            return MISSING
    return found.to_pylist() if isinstance(found, Table) else found


def _rows(table: Table, index: str) -> Any:
    rows = table.arrow()
    if not index.isdecimal() or int(index) >= rows.num_rows:
        return MISSING
    return rows.slice(int(index), 1).to_pylist()[0]


def _text(template: str, values: Mapping[str, Any]) -> Any:
    whole = REFERENCE.fullmatch(template.strip())
    if whole:
        return looked_up(whole[1], values)
    return REFERENCE.sub(lambda found: _as_text(looked_up(found[1], values)), template)


def _as_text(value: Any) -> str:
    if value is MISSING or value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
