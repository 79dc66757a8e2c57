"""A tool's answer as JSON Schema: of a READ the columns that its SQL is sure to give, typed where they are declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...graphs.errors import JackfieldError
from ...graphs.model import Json
from ..model import Source
from .document import Tool
from .names import matching_source

# An integer beyond what JSON readers hold exactly is given as text, and so is a float that is no number.
JSON_OF: Final[Mapping[str, Mapping[str, Any]]] = {
    "int": {"type": ["integer", "string", "null"]},
    "float": {"type": ["number", "string", "null"]},
    "string": {"type": ["string", "null"]},
    "bool": {"type": ["boolean", "null"]},
    "date": {"type": ["string", "null"], "format": "date"},
    "datetime": {"type": ["string", "null"], "format": "date-time"},
}
SAME: Final = {
    "integer": "int",
    "bigint": "int",
    "number": "float",
    "double": "float",
    "text": "string",
    "boolean": "bool",
}

SAVED: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "report": {
            "type": "object",
            "description": "How many rows went where",
            "properties": {
                "type": {"type": "string", "description": "Kind of save"},
                "mode": {"type": "string"},
                "rows": {"type": "integer"},
                "target": {"type": "string"},
                "repeated": {"type": "boolean", "description": "Whether this idempotency key had been saved before"},
            },
        }
    },
    "required": ["report"],
}
CHANGED: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": {"type": "object"}, "description": "The rows of RETURNING; none without it"},
        "affected": {"type": "integer", "description": "How many rows changed"},
    },
    "required": ["rows", "affected"],
}


def answer_schema(tool: Tool, sources: Mapping[str, Source]) -> Mapping[str, Json] | None:
    """The schema of the whole result object, or None where neither the author nor the SQL says what comes back.

    The author's `output_schema` may be that of the object, of its rows, or of one row; of a request, that of the body.
    """
    given = tool.output_schema
    if tool.request is not None and "response" not in ((given or {}).get("properties") or {}):
        return _reply(given or {})
    if given is None and tool.graph is None and tool.category != "READ":
        return SAVED if tool.save is not None else CHANGED if tool.at is not None else None
    if tool.category != "READ" or tool.graph is not None or tool.request is not None:
        return given
    if given is None:
        columns = _columns(tool, sources)
        return None if columns is None else _result(_row(columns))
    if given.get("type") == "array":
        return _result(_as_answered(given.get("items") or {}))
    whole = given.get("properties") or {}
    if "rows" not in whole:
        return _result(_as_answered(given))
    rows = {**whole["rows"], "items": _as_answered(whole["rows"].get("items") or {})}
    return {**given, "properties": {**whole, "rows": rows}}


def _reply(body: Mapping[str, Json]) -> dict[str, Json]:
    """What a request gave: a service is not held to what the author says of its body."""
    response: dict[str, Json] = {
        "status": {"type": "integer", "description": "HTTP status"},
        "body": {"anyOf": [dict(body), {}]} if body else {},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    reply = {"type": "object", "properties": response, "required": ["status", "body"]}
    return {"type": "object", "properties": {"response": reply}, "required": ["response"]}


def _as_answered(row: Mapping[str, Any]) -> dict[str, Any]:
    """The author's row, whose columns may also be null, and numbers text where JSON cannot hold them."""
    columns = {name: _column(schema) for name, schema in (row.get("properties") or {}).items()}
    return {**row, "properties": columns} if columns else dict(row)


def _column(schema: Any) -> Any:
    word = schema.get("type") if isinstance(schema, Mapping) and "enum" not in schema else None
    if not isinstance(word, str):
        return schema
    return {**schema, "type": [word, *(("string",) if word in ("integer", "number") else ()), "null"]}


def _result(row: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {
            "rows": {"type": "array", "items": dict(row)},
            "row_count": {"type": "integer"},
            "truncated": {"type": "boolean"},
            "total_rows": {"type": ["integer", "null"]},
            "truncation_reason": {"type": ["string", "null"]},
            "next_cursor": {"type": ["string", "null"]},
        },
        "required": ["rows", "row_count", "truncated"],
    }


def _row(columns: Mapping[str, Mapping[str, Any]]) -> dict[str, Json]:
    return {"type": "object", "properties": {name: dict(schema) for name, schema in columns.items()}}


def _columns(tool: Tool, sources: Mapping[str, Source]) -> dict[str, Mapping[str, Any]] | None:
    """The columns of the answer by their final names, in order; None where one of them is not known."""
    found = _whole(tool, sources) if tool.sql is None else _selected(tool, sources)
    if found is None:
        return None
    wanted = tool.result.fields or tuple(found)
    if any(name not in found for name in wanted):
        return None  # lint says so
    return {tool.result.rename.get(name, name): found[name] for name in wanted}


def _whole(tool: Tool, sources: Mapping[str, Source]) -> dict[str, Mapping[str, Any]] | None:
    source = sources.get(tool.source_ids[0]) if len(tool.source_ids) == 1 else None
    return _declared(source) or None


def _selected(tool: Tool, sources: Mapping[str, Source]) -> dict[str, Mapping[str, Any]] | None:
    from sqlglot import exp

    from ...nodes.sqltext.references import references
    from ...nodes.sqltext.tree import tree

    assert tool.sql is not None
    if tool.at is not None:
        return None
    try:
        names = references(tool.sql).output
        tables = references(tool.sql).tables
        parsed = tree(tool.sql)
    except JackfieldError:
        return None  # lint and the call say so
    if names is None or len(set(names)) != len(names):
        return None
    found: dict[str, Mapping[str, Any]] = {name: {} for name in names}
    only = matching_source(tables[0], sources) if len(tables) == 1 else None
    simple = isinstance(parsed, exp.Select) and len(list(parsed.find_all(exp.Select))) == 1
    if only is None or only[1] or not simple:
        return found
    declared = _declared(sources[only[0]])
    for item in parsed.expressions:
        column = item.this if isinstance(item, exp.Alias) else item
        if isinstance(column, exp.Column):
            found[item.alias_or_name] = declared.get(column.name, {})
    return found


def _declared(source: Source | None) -> dict[str, Mapping[str, Any]]:
    """The declared columns of a source, each with its JSON type where that is known."""
    declared = None if source is None else source.configuration.get("schema")
    words = {str(name): str(word).lower() for name, word in (declared or {}).items()}
    return {name: JSON_OF.get(SAME.get(word, word), {}) for name, word in words.items()}
