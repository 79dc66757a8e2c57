"""What was found out about a source: its native object, its columns, and what an author should know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...graphs.model import EMPTY, Json


@dataclass(frozen=True, slots=True)
class Column:
    """`type` is a word of a source's `schema`.

    `values` are all that the column may hold (an enum type), `few` those that its rows had when they were few.
    A type `binary` is of bytes, which no answer gives. `examples` are never those of a column that looks secret
    (`is_secret`).
    """

    name: str
    type: str
    nullable: bool = True
    is_key: bool = False
    values: tuple[Json, ...] = ()
    few: tuple[Json, ...] = ()
    examples: tuple[Json, ...] = ()
    is_secret: bool = False
    native: str = ""  # the database's own name of its type
    refers: tuple[str, str] | None = None  # (table, column) of a foreign key

    def as_json(self) -> dict[str, Json]:
        told: dict[str, Json] = {"name": self.name, "type": self.type, "nullable": self.nullable}
        if self.is_key:
            told["key"] = True
        if self.refers:
            told["references"] = ".".join(self.refers)
        if self.values:
            told["values"] = list(self.values)
        if self.few:
            told["values_seen"] = list(self.few)
        if self.is_secret:
            told["sensitive"] = True
        else:
            told["examples"] = list(self.examples)
        return told


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter that the source itself takes: of an API's path or query, as a tool declares it."""

    name: str
    type: str
    description: str
    required: bool = False
    enum: tuple[Json, ...] = ()
    items: str = ""
    example: Json = None

    def as_parameter(self) -> dict[str, Json]:
        parameter: dict[str, Json] = {"name": self.name, "type": self.type, "description": self.description}
        if self.items:
            parameter["items"] = self.items
        if self.enum:
            parameter["enum"] = list(self.enum)
        return {**parameter, "required": self.required}


@dataclass(frozen=True, slots=True)
class Found:
    """One source. `source` is the native object, ready to paste; `about` says in words what one row is, if known.

    `rows` is how many there are, as far as known; `is_exact` whether that was counted. `is_single`: each call of the
    source gives one record, as `GET /pets/{id}` does.
    """

    id: str
    source: Mapping[str, Json]
    columns: tuple[Column, ...] = ()
    rows: int | None = None
    is_exact: bool = False
    pagination: Mapping[str, Json] | None = None
    auth: Mapping[str, Json] | None = None
    warnings: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    is_single: bool = False
    about: str = ""
    facts: Mapping[str, Json] = field(default_factory=lambda: EMPTY)

    @property
    def table(self) -> str:
        """What SQL calls it."""
        return str(self.source.get("table_name") or self.id)

    @property
    def key(self) -> Column | None:
        return next((column for column in self.columns if column.is_key), None)

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns that a tool may give: none that looks secret, none of bytes."""
        return tuple(column for column in self.columns if not column.is_secret and column.type != "binary")

    def as_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {
            "source_id": self.id,
            "table_name": self.table,
            "row_count": self.rows,
            "row_count_is_exact": self.is_exact,
            "columns": [column.as_json() for column in self.columns],
            "warnings": list(self.warnings),
            "pagination": dict(self.pagination) if self.pagination else None,
            "auth": dict(self.auth) if self.auth else None,
            "source": dict(self.source),
            **self.facts,
        }
        if self.about:
            told["about"] = self.about
        if self.arguments:
            told["parameters"] = [argument.as_parameter() for argument in self.arguments]
        return told
