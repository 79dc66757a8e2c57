"""`project`: chooses and renames the columns of rows. Nothing is copied, and a stream stays a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pydantic import Field

from ..graphs.errors import Code, JackfieldError
from .base import ROWS, TABLE, Configuration, Context, Inputs, Outputs, Port, node
from .blocking import in_thread
from .table import Table

if TYPE_CHECKING:
    import pyarrow as pa


class ProjectConfiguration(Configuration):
    fields: tuple[str, ...] = Field((), description="Columns to give, in this order; empty: all")
    rename: Mapping[str, str] = Field(default_factory=dict, description="Old column name to new")


@node(
    "project",
    description="Gives the chosen columns of its rows, in the chosen order and under the chosen names.",
    configuration=ProjectConfiguration,
    inputs=(Port(ROWS, TABLE),),
    outputs=(Port(ROWS, TABLE),),
)
async def project_node(config: ProjectConfiguration, inputs: Inputs, context: Context) -> Outputs:
    rows: Table = inputs[ROWS]
    fields = chosen(rows.schema.names, config.fields, config.rename)
    names = [config.rename.get(name, name) for name in fields]
    if rows.is_stream and not context.streams:
        await in_thread(rows.arrow, cancel=rows.cancel)
    if not rows.is_stream:
        return {ROWS: Table.whole(rows.arrow().select(fields).rename_columns(names))}
    return {ROWS: _stream(rows, fields, names)}


def chosen(columns: list[str], fields: tuple[str, ...], rename: Mapping[str, str]) -> list[str]:
    """The columns to give. Raises SCHEMA_NOT_FOUND naming one that the rows do not have."""
    missing = next((name for name in (*fields, *rename) if name not in columns), None)
    if missing is not None:
        raise JackfieldError(
            Code.SCHEMA_NOT_FOUND,
            f"The rows have no column '{missing}', which `result` asks for.",
            f"Columns: {', '.join(columns)}.",
            {"column": missing, "available": columns},
        )
    return list(fields) or columns


def _stream(rows: Table, fields: list[str], names: list[str]) -> Table:
    import pyarrow as pa

    schema = pa.schema([rows.schema.field(old).with_name(new) for old, new in zip(fields, names, strict=True)])
    source = rows.reader()

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in source:
            yield pa.RecordBatch.from_arrays([batch.column(name) for name in fields], schema=schema)

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    return Table.stream(reader, close=rows.close, cancel=rows.cancel)
