"""A second reading of a tool's SQL, by the parser that will run it: what DuckDB itself sees may only read.

`sqltext.read_only` explains to an author what is wrong, from a tokenizer and a parser of its own. Wherever those and
DuckDB would read a text differently, this decides: every query in the tree is a query, every table one of the names
that the text was checked for, every function on the allow-list, no cast to a type that is not safe.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator
from typing import Any, Final

from ..graphs.errors import Code, JackfieldError
from ..nodes.sqltext.functions import FUNCTIONS, TABLE_FUNCTIONS, WORDS, names

QUERIES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
# Operators and syntax, which DuckDB turns into calls of functions that nobody writes by name.
OF_SYNTAX: Final = names("""
    + - * / // % ^ ** || & | ~ << >> -> ->> @> <@ && ^@ @ ! ~~ !~~ ~~* !~~* ~~~ !~~~ <-> <=> <#>
    array_extract array_slice count_star list_apply list_filter list_value map row struct_extract struct_pack
    ilike_escape like_escape not_ilike_escape not_like_escape regexp_full_match timezone
    to_centuries to_days to_decades to_hours to_microseconds to_millennia to_milliseconds to_minutes to_months
    to_quarters to_seconds to_weeks to_years
""")
UNSAFE_TYPES: Final = frozenset({"VARIANT"})  # a deep value takes the process down

_parser: Any = None
_lock = threading.Lock()


def require_only_reads(text: str, tables: Collection[str]) -> None:
    """Raises QUERY_INVALID unless DuckDB's parse of `text` is one query over `tables` (lower case) that only reads."""
    document = _serialized(text)
    if document.get("error"):
        raise JackfieldError(
            Code.QUERY_INVALID,
            f"The SQL is not one SELECT that can be checked: {document.get('error_message', 'it does not parse')}",
            "A PIVOT names its values: PIVOT … ON column IN ('a', 'b').",
        )
    statements = document["statements"]
    if len(statements) != 1:
        raise JackfieldError(Code.QUERY_INVALID, "The SQL is not one SELECT.", "Write one statement.")
    defined = {entry["key"].lower() for entry in _each(statements, "cte_map") for entry in entry.get("map", ())}
    for fault in _faults(statements, {*tables, *defined}):
        raise JackfieldError(
            Code.QUERY_INVALID, f"The SQL {fault}.", "One SELECT over the tool's own tables is allowed."
        )


def _serialized(text: str) -> dict[str, Any]:
    """DuckDB's parse, from a database that holds nothing and runs none of it."""
    global _parser
    with _lock:
        if _parser is None:
            import duckdb

            _parser = duckdb.connect(":memory:", config={"threads": 1})
            _parser.execute("SET enable_external_access = false")
            _parser.execute("SET lock_configuration = true")
        answer = _parser.execute("SELECT json_serialize_sql($text)", {"text": text}).fetchone()
    found: dict[str, Any] = json.loads(answer[0])
    return found


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    stack = [tree]
    while stack:
        current = stack.pop()
        if isinstance(current, dict):
            yield current
            stack.extend(current.values())
        elif isinstance(current, list):
            stack.extend(current)


def _each(tree: Any, key: str) -> Iterator[Any]:
    return (node[key] for node in _nodes(tree) if node.get(key))


def _faults(tree: Any, tables: Collection[str]) -> Iterator[str]:
    functions = FUNCTIONS["duckdb"] | TABLE_FUNCTIONS["duckdb"] | WORDS | OF_SYNTAX
    for node in _nodes(tree):
        kind = str(node.get("type", ""))
        name = node.get("function_name")
        if name and str(name).lower() not in functions:
            yield f"calls the function '{name}', which is not on the list"
        elif name and (node.get("schema") or node.get("catalog")):
            yield f"calls the function '{name}' by the name of a schema"
        elif kind.endswith("_NODE") and kind not in QUERIES:
            yield f"holds a statement that is no query ({kind.removesuffix('_NODE').removesuffix('_QUERY').lower()})"
        elif kind.endswith("_REF") and "class" not in node:
            yield f"asks for what is not a table ({kind.removesuffix('_REF').lower()})"
        elif kind == "BASE_TABLE":
            table = str(node.get("table_name", ""))
            if table.lower() not in tables or node.get("schema_name") or node.get("catalog_name"):
                yield f"reads '{table}', which is none of its tables"
        elif kind == "TYPE" and str(node.get("type_name", "")).upper() in UNSAFE_TYPES:
            yield f"names the type {node['type_name']}, which is not offered"
