"""Which columns a listing is narrowed by, and the parameters that do it: optional, typed, saying how they match."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from ...graphs.model import Json
from ..discovery.found import Column, Found
from ..discovery.naming import identifier, singular, words
from ..discovery.openapi_types import GENERIC
from ..lint.parameters import LISTS_VALUES
from .sqltext import QUOTED, Dialect, compared, is_usable, parameter_type

MOST: Final = 5
SHOWN: Final = 8  # known values that a description names
# Values come from a service, and a description is read by a model: words are shown, and no sentence.
WORDS: Final = re.compile(r"(?=.{1,24}\Z)[\w.+/-]+( [\w.+/-]+)?")
TAKEN: Final = frozenset(("limit", "offset"))


@dataclass(frozen=True, slots=True)
class Filter:
    """A parameter and the condition that it stands in; `required` ones hold always."""

    parameter: dict[str, Json]
    condition: str

    @property
    def name(self) -> str:
        return str(self.parameter["name"])

    def as_sql(self) -> str:
        """The condition, which holds where the parameter is not given."""
        return self.condition if self.parameter["required"] else f"(:{self.name} IS NULL OR {self.condition})"


def parameter_name(column: str, thing: str, ending: str = "") -> str:
    """What a tool calls a column: by itself, or with what it is of where that says too little or SQL knows the word."""
    name = identifier(column)
    says_little = len(name) <= 2 or name in GENERIC or name in TAKEN
    return f"{thing}_{name}{ending}" if says_little or name + ending in QUOTED else name + ending


def filters_of(found: Found, dialect: Dialect, alias: str = "", but: Iterable[str] = ()) -> tuple[Filter, ...]:
    """At most five: columns of few values, references to others, and since when. `but` are names that are taken."""
    thing = singular(identifier(found.id))
    chosen: list[Filter] = []
    taken = {*but}
    for column in sorted(_narrowing(found), key=_rank):
        operator = ">=" if column.type in ("date", "datetime", "timestamp") else "="
        name = parameter_name(column.name, thing, "_from" if operator == ">=" else "")
        condition = compared(column, name, operator, dialect, alias)
        if name in taken or condition is None or len(chosen) == MOST:
            continue
        taken.add(name)
        chosen.append(Filter(_parameter(column, name, thing, operator), condition))
    return tuple(chosen)


def key_filter(found: Found, column: Column, dialect: Dialect, alias: str = "") -> Filter | None:
    """The one row by its key."""
    thing = singular(identifier(found.id))
    name = parameter_name(column.name, thing)
    condition = compared(column, name, "=", dialect, alias)
    if condition is None:
        return None
    parameter = _parameter(replace(column, few=(), values=()), name, thing, "=")
    return Filter({**parameter, "required": True}, condition)


def _narrowing(found: Found) -> list[Column]:
    columns = [c for c in found.shown if not c.is_key and is_usable(c.name) and parameter_type(c) is not None]
    dates = [c for c in columns if c.type in ("date", "datetime", "timestamp")]
    plain = [c for c in columns if c.values or c.few or c.type == "bool" or is_reference(c)]
    return [*(c for c in plain if c not in dates), *dates[:1]]


def is_reference(column: Column) -> bool:
    """Whether a column names a row of something else."""
    named = identifier(column.name).endswith("_id") and column.type in ("int", "string")
    return column.refers is not None or named


def _rank(column: Column) -> int:
    return 0 if column.values or (column.few and column.type == "string") else 1 if is_reference(column) else 2


def _parameter(column: Column, name: str, thing: str, operator: str) -> dict[str, Json]:
    kind = str(parameter_type(column))
    named = identifier(column.name)
    what = f"{words(column.name)} of the {words(thing)}" if named != thing else f"name of the {words(thing)}"
    what = words(column.name) if named.startswith(f"{thing}_") else what
    what = what[:1].upper() + what[1:]
    if operator == ">=":
        form = "2026-03-01" if kind == "date" else "2026-03-01T00:00:00Z"
        description = f"{what}: this or later, as {form}"
    elif kind == "bool":
        description = f"{what}: true or false"
    else:
        description = f"{what}, matched exactly{_known(column)}"
    if LISTS_VALUES.search(description):  # a name such as `one_of` makes it read like a list of values
        description = f"What the {words(thing)} has there, matched exactly"
    parameter: dict[str, Any] = {"name": name, "type": kind, "description": description}
    if column.values and all(isinstance(value, str) == (kind == "string") for value in column.values):
        parameter["enum"] = list(column.values)
    return {**parameter, "required": False}


def _known(column: Column) -> str:
    if column.values or not column.few:
        return ""
    plain = [str(value) for value in column.few if WORDS.fullmatch(str(value))]
    if not plain:
        return ""
    return f"; seen so far: {', '.join(plain[:SHOWN])}" + (", …" if len(column.few) > len(plain[:SHOWN]) else "")
