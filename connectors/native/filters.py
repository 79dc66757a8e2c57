"""`filter_groups`, `return_fields`, `having`, `order_by` and `limit` → one SELECT with bound parameters.

A condition on an optional parameter holds when the argument is absent, as it does in the files that use this form.
Values fixed in the file become SQL literals, quoted; identifiers are quoted always.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

COMPARISONS: Final = frozenset({"=", "!=", ">", ">=", "<", "<="})
AGGREGATES: Final = frozenset({"count", "sum", "avg", "min", "max"})


def select_of(
    tool: Mapping[str, Any], source: str, filters: Any, fields: Any, having: Any, order: Any, limit: Any
) -> str:
    """The SELECT that the tool's filter form means over `source`."""
    parameters = {str(p.get("name")): p for p in _dicts(tool.get("parameters"))}
    fields = _dicts(fields)
    columns = [_column(field) for field in fields]
    plain = [identifier(str(f.get("field"))) for f in fields if not _aggregate(f)]
    aggregated = any(_aggregate(field) for field in fields)
    parts = [f"SELECT {', '.join(columns) or '*'}", f"FROM {identifier(source)}"]
    if where := _groups(filters, parameters, {}):
        parts.append(f"WHERE {where}")
    if aggregated and plain:
        parts.append(f"GROUP BY {', '.join(plain)}")
    aliases = {str(f.get("alias")): _expression(f) for f in fields if f.get("alias")}
    aliases |= {_default_alias(f): _expression(f) for f in fields if _aggregate(f)}
    if condition := _groups(having, parameters, aliases):
        parts.append(f"HAVING {condition}")
    if sorting := ", ".join(_sorting(item, aliases) for item in _dicts(order)):
        parts.append(f"ORDER BY {sorting}")
    if "limit" in parameters:
        parts.append("LIMIT :limit")
    elif isinstance(limit, int):
        parts.append(f"LIMIT {limit}")
    if "offset" in parameters:
        parts.append("OFFSET :offset")
    return " ".join(parts)


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case _:
            return "'" + str(value).replace("'", "''") + "'"


def _aggregate(field: Mapping[str, Any]) -> str:
    name = str(field.get("aggregation") or "none").lower()
    return name if name in AGGREGATES else ""


def _expression(field: Mapping[str, Any]) -> str:
    name = str(field.get("field"))
    column = "*" if name == "*" else identifier(name)
    aggregate = _aggregate(field)
    return f"{aggregate}({column})" if aggregate else column


def _default_alias(field: Mapping[str, Any]) -> str:
    if field.get("alias"):
        return str(field["alias"])
    name = str(field.get("field"))
    return _aggregate(field) if name == "*" else f"{_aggregate(field)}_{name}"


def _column(field: Mapping[str, Any]) -> str:
    if _aggregate(field):
        return f"{_expression(field)} AS {identifier(_default_alias(field))}"
    alias = field.get("alias")
    return _expression(field) if not alias else f"{_expression(field)} AS {identifier(str(alias))}"


def _sorting(item: Mapping[str, Any], aliases: Mapping[str, str]) -> str:
    direction = "DESC" if str(item.get("direction", "")).upper() == "DESC" else "ASC"
    return f"{identifier(str(item.get('field')))} {direction}"


def _groups(groups: Any, parameters: Mapping[str, Mapping[str, Any]], aliases: Mapping[str, str]) -> str:
    joined = []
    for group in _dicts(groups):
        word = " OR " if str(group.get("logic", "AND")).upper() == "OR" else " AND "
        conditions = [_condition(item, parameters, aliases, word == " OR ") for item in _dicts(group.get("conditions"))]
        if conditions:
            joined.append(f"({word.join(conditions)})")
    return " AND ".join(joined)


def _condition(
    item: Mapping[str, Any], parameters: Mapping[str, Mapping[str, Any]], aliases: Mapping[str, str], either: bool
) -> str:
    field = str(item.get("field"))
    column = aliases.get(field) or identifier(field)
    operator = str(item.get("operator"))
    if operator == "is_null":
        return f"{column} IS NULL"
    if operator == "is_not_null":
        return f"{column} IS NOT NULL"
    name = item.get("parameter_name")
    test = _test(column, operator, f":{name}" if name else None, item.get("value"))
    if not name or _is_required(parameters.get(str(name), {})):
        return test
    # An absent argument narrows nothing: beside AND its condition is true, beside OR it is false.
    return f"(:{name} IS NOT NULL AND {test})" if either else f"(:{name} IS NULL OR {test})"


def _test(column: str, operator: str, bound: str | None, value: Any) -> str:
    if operator == "in_list":
        if bound:
            return f"{column} IN ({bound})"
        items = value if isinstance(value, list) else [value]
        return f"{column} IN ({', '.join(literal(item) for item in items)})" if items else "false"
    right = bound or literal(value)
    if operator == "contains":
        return f"contains(lower(CAST({column} AS VARCHAR)), lower({right}))"
    if operator in COMPARISONS:
        return f"{column} {operator} {right}"
    return f"{column} {identifier(operator)} {right}"  # an operator we do not know stays visible, and does not parse


def _is_required(parameter: Mapping[str, Any]) -> bool:
    if "required" in parameter and parameter["required"] is not None:
        return bool(parameter["required"])
    return True


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
