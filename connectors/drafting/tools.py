"""Tools for discovered sources: a list with filters, one by its key, counts by a state, and joins over shared keys."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from ...graphs.model import Json
from ..discovery.found import Column, Found
from ..discovery.naming import identifier, plural, singular, title, words
from .filters import Filter, filters_of, key_filter
from .joins import Join, joins_of
from .sqltext import Dialect, dialect_of, is_usable, quoted, relation

MOST_TOOLS: Final = 25  # an agent chooses well among so many
MOST_COLUMNS: Final = 24
MOST_OF_OTHER: Final = 8
MOST_FETCHED: Final = 100_000  # rows of a database that a drafted tool may fetch to join them elsewhere
USUAL_ROWS: Final = 50
MOST_ROWS: Final = 500
MEASURES: Final = frozenset(
    (
        *("amount", "total", "price", "quantity", "qty", "cost", "revenue", "value", "weight"),
        *("duration", "score", "balance"),
    )
)
Tool = dict[str, Json]


def tools_of(found: Sequence[Found]) -> list[Tool]:
    """At most 25 tools over these sources, those that every source has first."""
    by_key = {thing_of(one) for one in found if one.is_single}
    plain = [one for one in found if not one.is_single]
    groups: tuple[Iterable[Tool | None], ...] = (
        (listing(one) for one in plain),
        (single(one) for one in found if one.is_single),
        (getting(one) for one in plain if thing_of(one) not in by_key),
        (joined(join) for join in joins_of(plain)),
        (counting(one) for one in plain),
        (counting_over(join) for join in joins_of(plain)),
    )
    made: dict[str, Tool] = {}
    for group in groups:
        for tool in group:
            if tool is not None and len(made) < MOST_TOOLS:
                made.setdefault(str(tool["id"]), tool)
    return list(made.values())


def thing_of(found: Found) -> str:
    """What one row is called."""
    return singular(identifier(found.id).partition("_by_")[0] if found.is_single else identifier(found.id))


def listing(found: Found) -> Tool | None:
    columns = _given(found)
    if not columns:
        return None
    dialect = dialect_of(found)
    arguments = [argument.as_parameter() for argument in found.arguments]
    chosen = filters_of(found, dialect, but=[str(argument["name"]) for argument in arguments])
    key = found.key
    sql = f"SELECT {_names(columns, dialect)} FROM {relation(found, dialect)}{_where(chosen)}"
    if "limit_param" in found.source or "pagination" in found.source:
        key = None  # in the API's own order, so that no more pages are asked for than hold so many
    if key is not None and is_usable(key.name):
        sql += f" ORDER BY {quoted(key.name, dialect)}"
    many = plural(identifier(found.id))
    by = _by(chosen)
    limit = _limit({str(argument["name"]) for argument in arguments})
    return _tool(
        f"list_{many}",
        f"List {words(many)}{by}{_ordered(key)}. Gives up to {USUAL_ROWS} unless told otherwise.",
        f"{sql} LIMIT :{limit['name']}",
        [*arguments, *(one.parameter for one in chosen), limit],
        found if dialect != "duckdb" else None,
    )


def single(found: Found) -> Tool | None:
    """The tool of a source that gives one record by what its address names."""
    thing = thing_of(found)
    required = [argument for argument in found.arguments if argument.required]
    by = f" by its {words(required[-1].name.removeprefix(f'{thing}_'))}" if required else ""
    parameters = [argument.as_parameter() for argument in found.arguments]
    sql = f"SELECT * FROM {quoted(found.table, 'duckdb')} LIMIT 1"
    return _tool(f"get_{thing}", f"Return one {words(thing)}{by}, with all that is known of it.", sql, parameters, None)


def getting(found: Found) -> Tool | None:
    key = found.key
    if key is None or not is_usable(key.name) or any(argument.required for argument in found.arguments):
        return None
    dialect = dialect_of(found)
    wanted = key_filter(found, key, dialect)
    if wanted is None:
        return None
    thing = thing_of(found)
    sql = f"SELECT {_names(_given(found), dialect)} FROM {relation(found, dialect)} WHERE {wanted.condition} LIMIT 1"
    return _tool(
        f"get_{thing}",
        f"Return one {words(thing)} by {_own(key, thing)}; no rows when there is none.",
        sql,
        [wanted.parameter],
        found if dialect != "duckdb" else None,
    )


def counting(found: Found) -> Tool | None:
    """How many there are of each state, and what they sum up to."""
    group = next((c for c in found.shown if _is_group(c)), None)
    if group is None or any(argument.required for argument in found.arguments):
        return None
    dialect = dialect_of(found)
    many = plural(identifier(found.id))
    since = [one for one in filters_of(found, dialect) if one.name.endswith("_from")]
    by = quoted(group.name, dialect)
    measured, said = _measures(found, dialect)
    sql = f"SELECT {by}, count(*) AS number_of_{many}{measured} FROM {relation(found, dialect)}{_where(since)}"
    return _tool(
        f"count_{many}_by_{identifier(group.name)}",
        f"Count {words(many)} by {words(group.name)}{said}, most first{_by(since)}.",
        f"{sql} GROUP BY {by} ORDER BY 2 DESC, 1 LIMIT {USUAL_ROWS}",
        [one.parameter for one in since],
        found if dialect != "duckdb" else None,
    )


def joined(join: Join) -> Tool | None:
    """Rows of one source with what another says of them."""
    many, other = plural(identifier(join.of.id)), thing_of(join.to)
    columns = [f"a.{quoted(column.name, join.dialect)}" for column in _given(join.of)]
    seen = {column.name.lower() for column in _given(join.of)}
    for column in [c for c in _given(join.to) if c.name != join.target.name][:MOST_OF_OTHER]:
        name = identifier(column.name)
        name = name if name.startswith(f"{other}_") else f"{other}_{name}"
        if name not in seen:
            seen.add(name)
            columns.append(f"b.{quoted(column.name, join.dialect)} AS {quoted(name, join.dialect)}")
    chosen = filters_of(join.of, join.dialect, "a")
    if is_far_and_large(join):
        named = key_filter(join.of, join.column, join.dialect, "a")
        if named is None:
            return None
        chosen = (named, *(one for one in chosen if one.name != named.name))
    key = join.of.key
    order = f" ORDER BY a.{quoted(key.name, join.dialect)}" if key is not None and is_usable(key.name) else ""
    return _tool(
        f"list_{many}_with_{other}",
        f"List {words(many)} with the {words(other)} of each{_by(chosen)}{_ordered(key)}."
        f" Gives up to {USUAL_ROWS} unless told otherwise.",
        f"SELECT {', '.join(columns)} FROM {_joined(join, 'LEFT JOIN')}{_where(chosen)}{order} LIMIT :limit",
        [*(one.parameter for one in chosen), _limit()],
        join.of if join.dialect != "duckdb" else None,
    )


def counting_over(join: Join) -> Tool | None:
    """Counts of one source by what another says of it: orders by the country of their customer."""
    group = next((c for c in join.to.shown if _is_group(c) and c.name != join.target.name), None)
    if group is None or is_far_and_large(join):
        return None
    many, other = plural(identifier(join.of.id)), thing_of(join.to)
    by = f"b.{quoted(group.name, join.dialect)}"
    measured, said = _measures(join.of, join.dialect, "a")
    named = identifier(group.name)
    called = named if named.startswith(f"{other}_") else f"{other}_{named}"
    return _tool(
        f"count_{many}_by_{called}",
        f"Count {words(many)} by {words(called)}{said}, most first.",
        f"SELECT {by} AS {quoted(called, join.dialect)}, count(*) AS number_of_{many}{measured}"
        f" FROM {_joined(join, 'JOIN')} GROUP BY {by} ORDER BY 2 DESC, 1 LIMIT {USUAL_ROWS}",
        [],
        join.of if join.dialect != "duckdb" else None,
    )


def is_far_and_large(join: Join) -> bool:
    """Whether a join fetches a table of very many rows out of its database: it is then narrowed to one reference."""
    return join.dialect == "duckdb" and dialect_of(join.of) != "duckdb" and (join.of.rows or 0) > MOST_FETCHED


def _joined(join: Join, how: str) -> str:
    dialect = join.dialect
    left, right = quoted(join.column.name, dialect), quoted(join.target.name, dialect)
    return f"{relation(join.of, dialect)} a {how} {relation(join.to, dialect)} b ON b.{right} = a.{left}"


def _given(found: Found) -> list[Column]:
    """The columns that a tool gives: keys first, nothing nested beyond what fits."""
    usable = [column for column in found.shown if is_usable(column.name)]
    return sorted(usable, key=lambda column: (not column.is_key, column.type == "json"))[:MOST_COLUMNS]


def _names(columns: Iterable[Column], dialect: Dialect) -> str:
    return ", ".join(quoted(column.name, dialect) for column in columns)


def _own(key: Column, thing: str) -> str:
    return "its name" if identifier(key.name) == thing else f"its {words(key.name.removeprefix(f'{thing}_'))}"


def _where(filters: Sequence[Filter]) -> str:
    return f" WHERE {' AND '.join(one.as_sql() for one in filters)}" if filters else ""


def _by(filters: Sequence[Filter]) -> str:
    names = [words(one.name) for one in filters if not one.name.endswith("_from")]
    said = f", narrowed by {_listed(names)}" if names else ""
    since = [words(one.name.removesuffix("_from")) for one in filters if one.name.endswith("_from")]
    return said + (f", since a {since[0]}" if since else "")


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _ordered(key: Column | None) -> str:
    return f", in the order of {words(key.name)}" if key is not None and is_usable(key.name) else ""


def _is_group(column: Column) -> bool:
    few = bool(column.few) and column.type in ("string", "bool")
    return is_usable(column.name) and not column.is_key and (few or bool(column.values) or column.type == "bool")


def _measures(found: Found, dialect: Dialect, alias: str = "") -> tuple[str, str]:
    """(columns that sum up, what they are in words): at most two that are amounts, else the average of a measure."""
    amounts = [c for c in found.shown if _is_amount(c)][:2]
    before = f"{alias}." if alias else ""
    measure = next((c for c in found.shown if c.type == "float" and is_usable(c.name) and not c.is_key), None)
    if not amounts and measure is not None:
        average = f", avg({before}{quoted(measure.name, dialect)}) AS average_of_{identifier(measure.name)}"
        return average, f", with the average of {words(measure.name)}"
    sql = "".join(f", sum({before}{quoted(c.name, dialect)}) AS sum_of_{identifier(c.name)}" for c in amounts)
    return sql, f", with the sum of {_listed([words(c.name) for c in amounts])}" if amounts else ""


def _is_amount(column: Column) -> bool:
    if column.is_key or column.refers or not is_usable(column.name) or column.type == "bool":
        return False
    last = identifier(column.name).rpartition("_")[2]
    return column.type.startswith("decimal") or (column.type in ("int", "float") and last in MEASURES)


def _limit(taken: Collection[str] = ()) -> dict[str, Json]:
    return {
        "name": "limit" if "limit" not in taken else "max_results",
        "type": "int",
        "description": f"How many rows at most, from 1 to {MOST_ROWS}",
        "required": False,
        "default": USUAL_ROWS,
        "minimum": 1,
        "maximum": MOST_ROWS,
    }


def _tool(name: str, description: str, sql: str, parameters: Sequence[dict[str, Any]], at: Found | None) -> Tool:
    tool: Tool = {"id": name, "name": title(name), "category": "READ", "description": description}
    if at is not None:
        tool["at"] = at.id
    return {**tool, "sql": sql, "parameters": list(parameters)}
