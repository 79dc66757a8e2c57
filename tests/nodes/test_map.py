import datetime as dt
from decimal import Decimal
from typing import Any

import anyio
import pytest

from jackfield.engine.engine import Engine
from jackfield.engine.environment import Environment
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.graphs.model import Edge, Graph, Json, Node
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.base import Context, Inputs, OpenConfiguration, Outputs, node
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio


class World:
    """A kind `place` that looks an address up, and what happened in it."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.running = self.most = 0
        self.gate: anyio.Event | None = None
        self.cancelled: list[Any] = []

        @node("place", description="Looks up.", configuration=OpenConfiguration, open_inputs=True, open_outputs=True)
        async def place(config: OpenConfiguration, inputs: Inputs, context: Context) -> Outputs:
            return await self.look_up(dict(inputs))

        self.kind = place

    async def look_up(self, inputs: Json) -> Outputs:
        address = inputs["address"]
        self.calls.append(address)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self.gate is not None and address != "fast":
                await self.gate.wait()
            else:
                await anyio.lowlevel.checkpoint()
        except anyio.get_cancelled_exc_class():
            self.cancelled.append(address)
            raise
        finally:
            self.running -= 1
        if address == "nowhere":
            raise JackfieldError(Code.SOURCE_ERROR, "No such address.", "Look again.", {"status": 404})
        if address == "spent":
            raise JackfieldError(Code.BUDGET_EXCEEDED, "Too much.")
        found = (
            []
            if address == "empty"
            else [{"region": address[:1].upper(), "address": "theirs", **inputs.get("more", {})}]
        )
        return {"rows": Table.from_rows(found)}

    async def run(self, configuration: Json, items: Any, **shared: Any) -> Json:
        inner = Graph(
            (Node("in", "input"), Node("p", "place"), Node("out", "output")),
            (Edge("in", "p", "*"), Edge("p", "out", "*")),
        )
        graph = Graph(
            (Node("in", "input"), Node("m", "map", {"$board": "#inner", **configuration}), Node("out", "output")),
            (
                Edge("in", "m", "items", "items"),
                *(Edge("in", "m", name, name) for name in shared),
                Edge("m", "out", "*"),
            ),
            {"inner": inner},
        )
        async with Engine([*NODE_TYPES, self.kind]) as engine:
            return dict((await engine.run(graph, {"items": items, **shared})).values)


def rows(found: Json) -> Json:
    return found["rows"].arrow().to_pylist()


async def test_results_of_a_list_come_in_the_order_of_its_items() -> None:
    found = await World().run({"as": "address", "concurrency": 3}, ["oslo", "bergen", "alta", "moss"])
    assert [result[0]["region"] for result in found["list"]] == ["O", "B", "A", "M"]


async def test_each_distinct_value_of_a_column_is_asked_once_and_joins_back() -> None:
    world = World()
    orders = Table.from_rows([{"id": i, "address": a} for i, a in enumerate(["oslo", "alta", "oslo", None, "oslo"])])
    found = await world.run({"column": "address"}, orders)
    assert sorted(world.calls) == ["alta", "oslo"]
    assert rows(found) == [{"address": "oslo", "region": "O"}, {"address": "alta", "region": "A"}]
    assert found["rows"].schema.names == ["address", "region"]  # the column it was made of wins over the result's


async def test_a_column_may_fill_an_argument_of_another_name() -> None:
    people = Table.from_rows([{"home": "oslo"}])
    assert rows(await World().run({"column": "home", "as": "address"}, people)) == [
        {"home": "oslo", "region": "O", "address": "theirs"}
    ]


async def test_the_distinct_values_of_several_columns_are_arguments_together() -> None:
    world = World()
    orders = Table.from_rows([{"id": i, "address": "oslo", "more": {"y": y}} for i, y in enumerate((1, 1, 1))])
    flat = Table.from_rows([{"id": i, "address": "oslo", "zone": z} for i, z in enumerate((1, 2, 1))])
    found = await world.run({"column": ["zone", "address"]}, flat)
    assert rows(found) == [{"zone": z, "address": "oslo", "region": "O"} for z in (1, 2)]
    assert len(rows(await world.run({}, orders))) == 3


async def test_whole_rows_are_arguments_and_their_columns_stay_with_types() -> None:
    day, total = dt.date(2026, 1, 2), Decimal("1.10")
    orders = Table.from_rows([{"address": "oslo", "day": day, "total": total}, {"address": "empty", "day": day}])
    assert rows(await World().run({}, orders)) == [{"address": "oslo", "day": day, "total": total, "region": "O"}]


async def test_other_inputs_are_the_same_for_every_item() -> None:
    found = await World().run({"as": "address"}, ["oslo", "alta"], more={"country": "NO"})
    assert [result[0]["country"] for result in found["list"]] == ["NO", "NO"]


async def test_at_most_so_many_run_at_a_time() -> None:
    world = World()
    await world.run({"as": "address", "concurrency": 2}, ["a"] * 20)
    assert (world.most, len(world.calls)) == (2, 20)


async def test_no_items_give_an_empty_answer_with_the_declared_columns() -> None:
    world = World()
    orders = Table.from_rows([{"address": "x"}]).arrow().slice(0, 0)
    found = await world.run({"column": "address", "schema": {"region": "string"}}, Table.whole(orders))
    assert found["rows"].schema.names == ["address", "region"]
    assert rows(found) == []
    assert await world.run({"as": "address"}, []) == {"list": []}
    assert world.calls == []


async def test_the_first_failing_item_in_order_fails_the_node() -> None:
    with pytest.raises(JackfieldError, match="Item 2 of 4: No such address") as failed:
        await World().run({"as": "address", "concurrency": 4}, ["a", "nowhere", "b", "nowhere"])
    assert failed.value.code is Code.SOURCE_ERROR
    assert failed.value.details["item"] == 1
    assert failed.value.details["status"] == 404


async def test_after_a_failure_later_items_are_cancelled_and_not_begun() -> None:
    world = World()
    world.gate = anyio.Event()

    async def first(inputs: Json) -> Outputs:
        if inputs["address"] == "nowhere":
            world.calls.append("nowhere")
            raise JackfieldError(Code.SOURCE_ERROR, "No such address.")
        return await original(inputs)

    original, world.look_up = world.look_up, first  # type: ignore[method-assign]
    with anyio.fail_after(5), pytest.raises(JackfieldError, match="Item 1 of 5"):
        await world.run({"as": "address", "concurrency": 3}, ["nowhere", "b", "c", "d", "e"])
    assert "d" not in world.calls
    assert world.running == 0


async def test_skip_leaves_failed_items_out_and_collect_tells_them() -> None:
    items = ["oslo", "nowhere", "alta"]
    found = await World().run({"as": "address", "on_error": "skip"}, items)
    assert [result[0]["region"] for result in found["list"]] == ["O", "A"]
    assert "errors" not in found
    found = await World().run({"as": "address", "on_error": "collect"}, items)
    error = {"code": "SOURCE_ERROR", "message": "No such address.", "hint": "Look again."}
    assert found["list"][1]["$error"].items() >= error.items()
    assert found["errors"][0]["index"] == 1
    table = Table.from_rows([{"address": item} for item in items])
    found = await World().run({"column": "address", "on_error": "collect"}, table)
    assert [row["region"] for row in rows(found)] == ["O", "A"]
    assert [error["index"] for error in found["errors"]] == [1]


async def test_what_ends_the_call_is_never_skipped() -> None:
    with pytest.raises(JackfieldError, match="Item 2 of 2: Too much") as failed:
        await World().run({"as": "address", "on_error": "skip"}, ["oslo", "spent"])
    assert failed.value.code is Code.BUDGET_EXCEEDED


async def test_too_many_items_are_refused_before_the_first_runs() -> None:
    world = World()
    with pytest.raises(JackfieldError, match="got 3 items; at most 2") as refused:
        await world.run({"as": "address", "max_items": 2}, ["a", "b", "c"])
    assert refused.value.code is Code.BUDGET_EXCEEDED
    assert world.calls == []


async def test_a_cancelled_map_leaves_nothing_running() -> None:
    world = World()
    world.gate = anyio.Event()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(world.run, {"as": "address", "concurrency": 3}, ["a", "b", "c", "d"])
            while world.running < 3:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    assert world.running == 0
    assert sorted(world.cancelled) == ["a", "b", "c"]


async def test_a_tool_is_called_for_each_item() -> None:
    tool = Graph((Node("in", "input"), Node("out", "output")), (Edge("in", "out", "n", "value"),))
    graph = Graph(
        (Node("in", "input"), Node("m", "map", {"tool": "geo/locate", "as": "n"}), Node("out", "output")),
        (Edge("in", "m", "items", "items"), Edge("m", "out", "list", "list")),
    )
    asked: list[str] = []

    async def resolve(name: str) -> tuple[Graph, Environment]:
        asked.append(name)
        return tool, Environment()

    async with Engine(NODE_TYPES) as engine:
        run = await engine.run(graph, {"items": [0, "", 2]}, environment=Environment(resolve=resolve))
    assert run.values == {"list": [0, "", 2]}
    assert asked == ["geo/locate"] * 3


@pytest.mark.parametrize(
    ("configuration", "items", "code", "message"),
    [
        ({"$board": ""}, [], Code.CONFIG_INVALID, "give either 'tool' or"),
        ({"tool": "x"}, [], Code.CONFIG_INVALID, "give either 'tool' or"),
        ({"$board": "#gone"}, [1], Code.CONFIG_INVALID, "#gone"),
        ({"as": "address"}, "text", Code.TYPE_MISMATCH, "must be a list or a table, found str"),
        ({"column": "adress"}, Table.from_rows([{"address": 1}]), Code.SCHEMA_NOT_FOUND, "Columns: 'address'"),
        ({"concurrency": 0}, [], Code.CONFIG_INVALID, "concurrency"),
    ],
)
async def test_what_can_not_be_mapped_is_refused(configuration: Json, items: Any, code: Code, message: str) -> None:
    with pytest.raises(JackfieldError, match=message) as refused:
        await World().run(configuration, items)
    assert refused.value.code is code


async def test_results_that_fit_in_no_one_table_say_so() -> None:
    world = World()
    things = Table.from_rows([{"address": "a", "more": {"x": 1}}, {"address": "b", "more": {"x": 2}}])

    async def look_up(inputs: Json) -> Outputs:
        return {"rows": Table.from_rows([{"found": 1 if inputs["address"] == "a" else "text"}])}

    world.look_up = look_up  # type: ignore[method-assign]
    with pytest.raises(JackfieldError, match="do not fit in one table") as failed:
        await world.run({"column": "address"}, things)
    assert failed.value.code is Code.TYPE_MISMATCH
