"""A look at a source itself: its columns and a few of its rows. Only when a person or an agent asks for it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ..connectors.discovery.columns import looks_secret_by_name, type_word
from ..connectors.model import Connector, Source
from ..graphs.errors import JackfieldError
from ..graphs.model import Edge, Graph, Node
from ..nodes.base import ROWS, SCAN
from ..nodes.table import Table
from .answers import CallResult
from .served import Answer, Caller, ServedCall
from .service import Service

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_SHOWN: Final = 20
PATIENCE_S: Final = 15.0
LONGEST_VALUE: Final = 500  # characters of one text
HIDDEN: Final = "(hidden)"


async def preview(
    service: Service, caller: Caller, owner: Connector, source: Source, *, rows: int = ROWS_SHOWN
) -> Answer:
    """`{columns: [{name, type}], rows, row_count}` of the first rows of a source, audited as the call `preview`.

    Values of columns that are named as secrets are not shown. Raises what reading the source raises.
    """
    call = ServedCall(caller, "preview", {"connector": owner.slug, "source": source.id}, secrets.token_hex(8))
    call.connector, call.category = owner.slug, "READ"
    return await service.recorded(call, _preview(service, call, owner, source, rows))


async def _preview(service: Service, call: ServedCall, owner: Connector, source: Source, rows: int) -> Answer:
    async with service.bulkheads.slot(owner.slug):
        run = await service.app.run(_graph(source, rows), {}, connector=owner, timeout_s=PATIENCE_S)
    table: pa.Table = run.values[ROWS].arrow().slice(0, rows)
    call.rows = table.num_rows
    found: Any = CallResult("preview", "READ", run, Table.whole(table)).as_json()
    shown = [{name: _shown(name, value) for name, value in row.items()} for row in found["rows"]]
    columns = [{"name": field.name, "type": type_word(field.type)} for field in table.schema]
    body = {"columns": columns, "rows": shown, "row_count": len(shown)}
    return Answer.of(body)


def _graph(source: Source, rows: int) -> Graph:
    """The source alone, asked for its first rows. The node has the source's id, since an error is going to name it."""
    return Graph(
        (
            Node("$pushdown", "pushdown", {"sql": f"SELECT * FROM source LIMIT {rows}", "tables": ["source"]}),
            Node(source.id, source.type, dict(source.configuration)),
            Node("$output", "output"),
        ),
        (Edge("$pushdown", source.id, "source", SCAN), Edge(source.id, "$output", ROWS, ROWS)),
    )


def _shown(name: str, value: Any) -> Any:
    if value is not None and looks_secret_by_name(name):
        return HIDDEN
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        return f"{value[:LONGEST_VALUE]}… ({len(value)} characters)"
    return value


def declared_columns(source: Source) -> list[dict[str, str]] | None:
    """The columns that the connector itself declares, with its words for their types; None where it declares none."""
    declared = source.configuration.get("schema")
    if not isinstance(declared, Mapping):
        return None
    return [{"name": str(name), "type": str(word)} for name, word in declared.items()]


async def columns_of(service: Service, caller: Caller, owner: Connector, source: Source) -> dict[str, Any]:
    """`{columns, from: declared | source}`, or `{columns: null, error}` where the source cannot be asked now."""
    declared = declared_columns(source)
    if declared is not None:
        return {"columns": declared, "from": "declared"}
    try:
        answer = await preview(service, caller, owner, source, rows=1)
    except JackfieldError as error:
        return {"columns": None, "error": error.as_json()}
    assert isinstance(answer.body, dict)
    return {"columns": answer.body["columns"], "from": "source"}
