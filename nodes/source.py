"""What all sources share: the ports and the configuration that every kind of source has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field

from .base import ANYTHING, ARGUMENTS, OBJECT, ROWS, SCAN, TABLE, Configuration, Port, Ports

Contract = Literal["evolve", "freeze", "discard_row", "discard_value"]


class SourceConfiguration(Configuration):
    """`children` are the child tables that the graph reads beside `rows`: arrays of objects, by path (`items_parts`).

    A child table has `_parent_id` and `_index`, and is given, empty if need be, on the port of its name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    declared: Mapping[str, str] | None = Field(None, alias="schema", description="Column names and their types")
    contract: Contract = Field("evolve", description="What happens when rows do not fit the declared schema")
    cache_ttl_s: float | None = Field(None, ge=0, description="Seconds to keep rows; the kind's own default if absent")
    timeout_s: float = Field(30, gt=0, description="Seconds for one request or query")
    children: tuple[str, ...] = ()


SOURCE_INPUTS: Final = (
    Port(ARGUMENTS, OBJECT, "Arguments of the call, which the configuration may name", required=False),
    Port(SCAN, ANYTHING, "Columns, predicates and limit that suffice", required=False),
)
SOURCE_OUTPUTS: Final = (Port(ROWS, TABLE, "The rows"),)


def source_ports(configuration: Mapping[str, Any]) -> Ports:
    """The ports of one configured source: `rows`, and one for each child table it is asked for."""
    children = configuration.get("children") or ()
    tables = tuple(Port(str(name), TABLE, "Records nested in the rows") for name in children)
    return Ports(SOURCE_INPUTS, SOURCE_OUTPUTS + tables)
