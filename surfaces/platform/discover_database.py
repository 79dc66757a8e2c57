"""A database discovered: its tables and views, their columns and keys, and a few rows of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ...connectors.discovery import naming
from ...connectors.discovery.columns import columns_of
from ...connectors.discovery.databases import QUERIES, Engine, TableFacts, tables_of
from ...connectors.discovery.found import Found
from ...graphs.errors import Code, JackfieldError
from ...graphs.model import Json
from ...nodes.databases.dsn import address
from .bench import Bench
from .configuration import checked
from .sampling import asked, sample

MOST_TABLES: Final = 25  # described with a sample of each
COUNTED: Final = 100_000  # rows up to which a table is counted, not estimated
SAMPLE: Final = 500
USUAL: Final[Mapping[Engine, str]] = {"postgres": "public", "mysql": ""}


async def discover_database(bench: Bench, engine: Engine, source: dict[str, Json]) -> list[Found]:
    """The one table or query that the source names; else every table and view, as far as 25.

    Raises what connecting and reading raise; SCHEMA_NOT_FOUND for a table that is not there.
    """
    if "query" in source:
        return [await _described(bench, engine, source, None)]
    facts = await _facts(bench, engine, source)
    if "table" in source:
        return [await _described(bench, engine, source, _named(engine, str(source["table"]), facts))]
    wanted = facts[:MOST_TABLES]
    taken: set[str] = set()
    found: list[Found] = []
    for one in wanted:
        name = _free(naming.identifier(one.name), taken)
        each = {**source, "id": name, "table": _address(engine, one)}
        try:
            found.append(await _described(bench, engine, each, one))
        except JackfieldError as error:
            if error.code in (Code.SOURCE_UNREACHABLE, Code.AUTH_FAILED, Code.SOURCE_TIMEOUT):
                raise
            found.append(Found(name, each, warnings=(f"It cannot be read: {error.message}",)))
    if not found:
        raise JackfieldError(
            Code.SCHEMA_NOT_FOUND,
            f"The database of '{source['id']}' has no table or view that this user may see.",
            "Check the database in the address, and what the user may read.",
            {"source": str(source["id"])},
        )
    if len(facts) > len(wanted):
        left = ", ".join(_address(engine, one) for one in facts[MOST_TABLES : MOST_TABLES * 3])
        note = f"{len(facts) - len(wanted)} more tables were not looked at: {left}. Name one as config.table."
        found[0] = replace(found[0], warnings=(*found[0].warnings, note))
    return found


async def _facts(bench: Bench, engine: Engine, source: dict[str, Json]) -> tuple[TableFacts, ...]:
    place = checked(bench, {**source, "table": str(source.get("table", "tables"))})
    answers: dict[str, list[dict[str, Any]]] = {}
    for name, sql in QUERIES[engine].items():
        answers[name] = await asked(bench, place, " ".join(sql.split()))
    facts = tables_of(engine, answers)
    if engine == "mysql":
        dsn = str(place.configuration.get("dsn", ""))
        database = address(dsn, "mysql", bench.app.secrets, (bench.connectors,)).database
        facts = tuple(one for one in facts if not database or one.place == database)
    return facts


def _named(engine: Engine, table: str, facts: tuple[TableFacts, ...]) -> TableFacts | None:
    place, _, name = table.rpartition(".")
    fitting = [one for one in facts if one.name == name and place in ("", one.place)]
    return next((one for one in fitting if one.place == USUAL[engine]), fitting[0] if fitting else None)


def _address(engine: Engine, facts: TableFacts) -> str:
    return facts.name if engine == "mysql" or facts.place == USUAL[engine] else f"{facts.place}.{facts.name}"


def _free(name: str, taken: set[str]) -> str:
    free, number = name, 2
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    taken.add(free)
    return free


async def _described(bench: Bench, engine: Engine, source: dict[str, Json], facts: TableFacts | None) -> Found:
    place = checked(bench, source)
    found = await sample(bench, place, SAMPLE)
    name = str(source["id"])
    columns = columns_of(found.rows, name, _known(found.rows, name, facts) if facts else None)
    rows: int | None = found.rows.num_rows
    is_exact = found.is_whole
    if not is_exact:
        estimate = facts.estimate if facts else None
        rows = estimate
        if facts is not None and (estimate is None or estimate <= COUNTED):
            table = ".".join(f'"{part}"' if engine == "postgres" else f"`{part}`" for part in (facts.place, facts.name))
            rows, is_exact = int((await asked(bench, place, f"SELECT count(*) AS n FROM {table}"))[0]["n"]), True
    facts_told: dict[str, Json] = {"is_view": True} if facts is not None and facts.is_view else {}
    return Found(name, source, columns, rows, is_exact, facts=facts_told)


def _known(rows: Any, name: str, facts: TableFacts) -> dict[str, Any]:
    """What the database said of columns, with the types that its rows come in."""
    types = {column.name: column.type for column in columns_of(rows.slice(0, 0), name)}
    return {one: replace(column, type=types[one]) for one, column in facts.columns.items() if one in types}
