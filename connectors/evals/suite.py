"""A suite of cases, whichever of the three file forms it was written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from ...graphs.model import Json
from ...nodes.base import Configuration

MatchMode = Literal["exact", "numeric", "scientific", "normalized", "regex"]
RowsMode = Literal["exact", "contains", "shape"]


class Match(Configuration):
    """One field compared with one value. `row` counts from 0; without it every row must match."""

    field: str
    value: Json = Field(None, description="What the field must be")
    match: MatchMode = "exact"
    row: int | None = None
    abs_tol: float | None = Field(None, ge=0)
    rel_tol: float | None = Field(None, ge=0)
    sig_figs: int | None = Field(None, ge=1, le=17)


class Expectation(Configuration):
    """What must hold of an answer. With `error_code`, that the call fails, and how."""

    no_error: bool = True
    min_rows: int = Field(0, ge=0)
    max_rows: int | None = Field(None, ge=0)
    fields_present: tuple[str, ...] = ()
    matches: tuple[Match, ...] = ()
    error_code: str | None = Field(None, description="A code, or `any`")
    max_token_estimate: int | None = Field(None, ge=0, description="Of the answer as JSON, at four characters a token")
    rows: tuple[Json, ...] | None = Field(None, description="Rows to compare with the answer's")
    rows_mode: RowsMode = "exact"


@dataclass(frozen=True, slots=True)
class Case:
    """One call and what must hold of it. `prompt`: the case is a task for an agent, which no runner can judge."""

    id: str
    tool: str
    arguments: Mapping[str, Any]
    expect: Expectation
    description: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    name: str
    connector: str
    cases: tuple[Case, ...]
    file: str = ""
    version: str = ""
