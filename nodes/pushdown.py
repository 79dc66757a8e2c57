"""The `pushdown` kind: what a query needs of each of its sources, once the arguments of the call are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field

from ..graphs.model import Json
from .base import ANYTHING, ARGUMENTS, OBJECT, Configuration, Context, Effect, Inputs, Outputs, Port, Ports, node

INPUTS: Final = (Port(ARGUMENTS, OBJECT, "Values of the `:name` parameters", required=False),)


class PushdownConfiguration(Configuration):
    sql: str = Field(description="The SELECT that will run over the tables", json_schema_extra={"format": "sql"})
    tables: tuple[str, ...] = Field(description="The tables to plan for; each has an output port of its name")


def _ports(configuration: Mapping[str, Json]) -> Ports:
    tables = configuration.get("tables") or ()
    outputs = tuple(Port(str(name), ANYTHING, f"What the query needs of {name}") for name in tables)
    return Ports(INPUTS, outputs)


@node(
    "pushdown",
    description="Columns, predicates and limit that a query needs of each table, so that sources send no more.",
    effect=Effect.PURE,
    configuration=PushdownConfiguration,
    inputs=INPUTS,
    open_outputs=True,
    ports_of=_ports,
)
async def pushdown_node(config: PushdownConfiguration, inputs: Inputs, context: Context) -> Outputs:
    from .sqltext.pushdown import prepare  # parsing SQL is not paid for by those who only list
    from .sqltext.reading import read

    prepared = await read(prepare, config.sql, config.tables)
    scans = prepared.scans(inputs.get(ARGUMENTS) or {})
    for table, scan in scans.items():
        context.note("planned", table=table, scan=scan.as_json())
    return dict(scans)
