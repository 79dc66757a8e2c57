"""A connector file out of sources and tools, and the cases that say what its tools must answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...graphs.model import Json
from ..discovery.found import Found
from ..model import Connector
from ..versions import contract_changes
from .filters import parameter_name
from .tools import thing_of

FIRST: Final = "1.0.0"
WIDTH: Final = 180


def document_of(
    name: str,
    slug: str,
    version: str,
    description: str,
    sources: Sequence[Mapping[str, Json]],
    tools: Sequence[Mapping[str, Json]],
    more: Mapping[str, Json],
) -> dict[str, Json]:
    """The connector file as one object; `more` are its further fields, such as skills and saves, where given."""
    document: dict[str, Json] = {"name": name, "slug": slug, "version": version}
    if description:
        document["description"] = description
    return {**document, "sources": list(sources), "tools": list(tools), **{k: v for k, v in more.items() if v}}


def text_of(document: Mapping[str, Json]) -> str:
    """The document as a person would lay it out: an object a line where it fits, and indented where it does not."""
    return f"{_laid_out(document, 0)}\n"


def _laid_out(value: Any, depth: int) -> str:
    short = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or (depth > 1 and len(short) + depth * 2 <= WIDTH):
        return short
    indent, closing = "  " * (depth + 1), "  " * depth
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(held, depth + 1)}" for key, held in value.items()]
    else:
        parts = [_laid_out(held, depth + 1) for held in value]
    opening, end = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return f"{opening}\n{indent}" + f",\n{indent}".join(parts) + f"\n{closing}{end}"


def next_version(served: Connector, draft: Connector) -> str:
    """The version that a draft of a served connector bears: the same where nothing changed for callers."""
    changes = contract_changes(served, draft)
    numbers = served.version.partition("-")[0].partition("+")[0].split(".")
    major, minor, patch = (int(number) for number in numbers)
    if not changes:
        return f"{major}.{minor}.{patch + 1}"
    if all(change.endswith("is new") for change in changes):
        return f"{major}.{minor + 1}.0"
    return f"{major + 1}.0.0"


def cases_of(name: str, slug: str, found: Sequence[Found], tools: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """A suite for drafted tools: lists answer with the columns they promise, and one row comes by its key."""
    ids = {str(tool["id"]): tool for tool in tools}
    cases: list[Json] = []
    for one in found:
        thing = thing_of(one)
        if f"get_{thing}" in ids and (arguments := _example(one, thing)):
            fields = [column.name for column in one.shown if column.is_key]
            expect: dict[str, Json] = {"min_rows": 1, "max_rows": 1, "fields_present": fields}
            cases.append(_case(f"get_{thing}_gives_the_one", f"get_{thing}", arguments, expect))
    for tool_id, tool in ids.items():
        if any(parameter.get("required") for parameter in tool.get("parameters", ())):
            continue
        cases.append(_case(f"{tool_id}_answers", tool_id, {}, {"no_error": True}))
    return {"name": f"{name}: what every answer must hold", "connector": slug, "cases": cases}


def _case(name: str, tool: str, arguments: Mapping[str, Json], expect: Mapping[str, Json]) -> dict[str, Json]:
    return {"id": name, "tool_id": tool, "arguments": dict(arguments), "expect": dict(expect)}


def _example(found: Found, thing: str) -> dict[str, Json]:
    """Arguments that name a row that was seen; empty where none was."""
    if found.is_single:
        needed = {argument.name: argument.example for argument in found.arguments if argument.required}
        return {} if None in needed.values() else needed
    key = found.key
    if key is None or not key.examples:
        return {}
    return {parameter_name(key.name, thing): key.examples[0]}
