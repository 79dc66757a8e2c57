"""`map`: runs a tool or a sub-graph once for each item of a list, or of a table's column or rows, side by side.

Results come in the order of the items. Of a table the results are rows that begin with the column or the row they
were made of, so that a query can join them back (`JOIN … USING (address)`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import anyio
from pydantic import Field, model_validator

from ..graphs.errors import Code, JackfieldError
from .base import ANYTHING, ROWS, TABLE, Context, Inputs, OpenConfiguration, Outputs, Port, node
from .blocking import in_thread
from .schema import arrow_type
from .table import Table

if TYPE_CHECKING:
    import pyarrow as pa

ITEMS: Final = "items"
ENDS_THE_CALL: Final = {Code.CANCELLED, Code.QUERY_TIMEOUT, Code.BUDGET_EXCEEDED, Code.OVERLOADED, Code.INPUT_REQUIRED}

Call = Callable[[Inputs], Awaitable[Outputs]]


class MapConfiguration(OpenConfiguration):
    """One of `tool` and `$board`. Further inputs and fields are the same arguments for every item."""

    tool: str = Field("", description="The tool to call: its id, or connector/id")
    board: str = Field("", alias="$board", description="The sub-graph to run, '#id'")
    argument: str = Field(
        "",
        alias="as",
        description="The argument that an item fills; else each column or property fills the argument of its name",
    )
    column: str | tuple[str, ...] = Field(
        "", description="Of a table: the column, or columns, whose distinct values are the items; else its rows are"
    )
    concurrency: int = Field(8, ge=1, le=256, description="How many run at a time")
    on_error: Literal["fail", "skip", "collect"] = Field(
        "fail", description="fail: the first failing item, in order, fails the node; collect: errors go to 'errors'"
    )
    declared: Mapping[str, str] = Field(
        default_factory=dict, alias="schema", description="Result columns and their types, there even without items"
    )
    max_items: int = Field(10_000, ge=1, description="More items than this are refused before the first runs")

    @model_validator(mode="after")
    def _runs_one_thing(self) -> Self:
        if bool(self.tool) == bool(self.board):
            raise ValueError("give either 'tool' or '$board'")
        return self


@dataclass(frozen=True, slots=True)
class Item:
    """`arguments` are what it adds to the call; `columns` what its result rows begin with."""

    arguments: Mapping[str, Any]
    columns: Mapping[str, Any]


@node(
    "map",
    description="Runs a tool or a sub-graph for each item of a list or a table, at most so many at a time.",
    configuration=MapConfiguration,
    inputs=(Port(ITEMS, ANYTHING, "A list, or a table"),),
    outputs=(
        Port("list", {"type": "array"}, "Of a list: the result of each item"),
        Port(ROWS, TABLE, "Of a table: the result rows of each item, beside what it was made of"),
        Port("errors", {"type": "array"}, "With on_error collect: {index, error} of each item that failed"),
    ),
    open_inputs=True,
)
async def map_node(config: MapConfiguration, inputs: Inputs, context: Context) -> Outputs:
    given = inputs.get(ITEMS)
    shared = {name: value for name, value in inputs.items() if name != ITEMS}
    items: Sequence[Item]
    table: pa.Table | None = None
    if isinstance(given, Table):
        table = await in_thread(given.arrow, cancel=given.cancel)
        items = _items_of_table(config, table, context.node)
    else:
        items = _items_of_list(config, given, context.node)
    if len(items) > config.max_items:
        raise JackfieldError(
            Code.BUDGET_EXCEEDED,
            f"Node '{context.node}' (map) got {len(items):,} items; at most {config.max_items:,} may run.",
            "Ask for fewer items, or raise 'max_items'.",
            {"node": context.node, "items": len(items), "limit": config.max_items},
        )
    results = await _run_all(items, _call(config, context), shared, config, context)
    failed = [{"index": i, "error": r.as_json()} for i, r in enumerate(results) if isinstance(r, JackfieldError)]
    if failed:
        context.note("items_failed", failed=len(failed), items=len(items))
    outputs: Outputs = {"errors": failed} if config.on_error == "collect" else {}
    if table is None:
        keep = config.on_error == "collect"
        outputs["list"] = [
            {"$error": result.as_json()} if isinstance(result, JackfieldError) else _only(result)
            for result in results
            if keep or not isinstance(result, JackfieldError)
        ]
    else:
        made_of = table.select(_columns(config)) if config.column else table
        outputs[ROWS] = await in_thread(lambda: _rows(items, results, made_of.schema, config.declared))
    return outputs


def _call(config: MapConfiguration, context: Context) -> Call:
    if config.tool:
        return lambda arguments: context.call_tool(config.tool, arguments)
    graph = context.subgraph(config.board)
    return lambda arguments: context.invoke(graph, arguments)


def _columns(config: MapConfiguration) -> list[str]:
    return [config.column] if isinstance(config.column, str) else list(config.column)


def _items_of_table(config: MapConfiguration, table: pa.Table, node: str) -> list[Item]:
    if not config.column:
        rows = table.to_pylist()
        return [Item({config.argument: row} if config.argument else row, row) for row in rows]
    columns = _columns(config)
    for name in columns:
        if name not in table.column_names:
            raise JackfieldError(
                Code.SCHEMA_NOT_FOUND,
                f"Node '{node}' (map): there is no column '{name}' to map over.",
                "Columns: " + ", ".join(f"'{known}'" for known in table.column_names) + ".",
                {"node": node, "column": name, "available": table.column_names},
            )
    # Distinct: each value is asked for once, and a join by the column does not multiply its rows.
    distinct = table.select(columns).group_by(columns, use_threads=False).aggregate([]).to_pylist()
    found = [row for row in distinct if None not in row.values()]
    if isinstance(config.column, str) and config.argument:
        return [Item({config.argument: row[config.column]}, row) for row in found]
    return [Item({config.argument: row} if config.argument else row, row) for row in found]


def _items_of_list(config: MapConfiguration, given: Any, node: str) -> list[Item]:
    if not isinstance(given, (list, tuple)):
        raise JackfieldError(
            Code.TYPE_MISMATCH,
            f"Node '{node}' (map): '{ITEMS}' must be a list or a table, found {type(given).__name__}.",
            "",
            {"node": node, "expected": "array or table", "found": type(given).__name__},
        )
    if config.argument:
        return [Item({config.argument: value}, {}) for value in given]
    return [Item(value if isinstance(value, Mapping) else {"item": value}, {}) for value in given]


async def _run_all(
    items: Sequence[Item], call: Call, shared: Inputs, config: MapConfiguration, context: Context
) -> list[Outputs | JackfieldError]:
    """The result or the error of each item. Under `fail`, raises the error of the first failing item in order."""
    results: list[Outputs | JackfieldError] = [{}] * len(items)
    scopes: dict[int, anyio.CancelScope] = {}
    numbers = iter(range(len(items)))
    first_failed = len(items)
    done = 0

    async def work() -> None:
        nonlocal first_failed, done
        for index in numbers:
            if index > first_failed:
                return
            with anyio.CancelScope() as scopes[index]:
                try:
                    results[index] = await _read(await call({**shared, **items[index].arguments}))
                except JackfieldError as error:
                    results[index] = error
                    if config.on_error == "fail" or error.code in ENDS_THE_CALL:
                        first_failed = min(first_failed, index)
                        for later, scope in scopes.items():
                            if later > first_failed:  # earlier ones run on: the first in order is the one to report
                                scope.cancel()
            del scopes[index]
            done += 1
            context.progress(done, len(items))

    async with anyio.create_task_group() as group:
        for _ in range(min(config.concurrency, len(items))):
            group.start_soon(work)
    if first_failed < len(items):
        error = results[first_failed]
        assert isinstance(error, JackfieldError)
        message = f"Item {first_failed + 1} of {len(items)}: {error.message}"
        raise JackfieldError(error.code, message, error.hint, {**error.details, "item": first_failed}) from error
    return results


async def _read(result: Outputs) -> Outputs:
    """The result with its streams read: they hold a query open, and many wait here for the last item."""
    for name, value in result.items():
        if isinstance(value, Table) and value.is_stream:
            result = {**result, name: Table.whole(await in_thread(value.arrow, cancel=value.cancel))}
    return result


def _only(result: Outputs) -> Any:
    """A single output by itself, rows as a list; else the outputs as an object."""
    plain = {k: v.arrow().to_pylist() if isinstance(v, Table) else v for k, v in result.items()}
    return next(iter(plain.values())) if len(plain) == 1 else plain


def _rows(
    items: Sequence[Item],
    results: Sequence[Outputs | JackfieldError],
    made_of: pa.Schema,
    declared: Mapping[str, str],
) -> Table:
    """The rows of all results, each beside the columns its item was made of; those win over a result's same name."""
    import pyarrow as pa

    names = [name for name in declared if name not in made_of.names]
    columns = pa.schema([*made_of, *(pa.field(name, arrow_type(declared[name])) for name in names)])
    parts: list[pa.Table] = [columns.empty_table()]
    for item, result in zip(items, results, strict=True):
        if isinstance(result, JackfieldError):
            continue
        rows = _result_table(result)
        fixed = {
            field.name: pa.repeat(pa.scalar(item.columns[field.name], field.type), rows.num_rows) for field in made_of
        }
        own = {name: rows.column(name) for name in rows.column_names if name not in fixed}
        parts.append(pa.table({**fixed, **own}))
    try:
        return Table.whole(pa.concat_tables(parts, promote_options="permissive"))
    except pa.ArrowException as error:
        raise JackfieldError(
            Code.TYPE_MISMATCH,
            f"The results of the items do not fit in one table: {error}.",
            "Cast the columns to one type in the tool that runs for each item.",
        ) from None


def _result_table(result: Outputs) -> pa.Table:
    found = result.get(ROWS)
    if isinstance(found, Table):
        return found.arrow()
    if isinstance(found, list) and all(isinstance(row, dict) for row in found):
        return Table.from_rows(found).arrow()
    return Table.from_rows([dict(result)]).arrow()
