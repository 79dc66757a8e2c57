"""What a `rest` source leaves out, keeps and ends: pushdown, the cache, budgets and cancellation."""

from __future__ import annotations

import datetime as dt

import anyio
import pytest
from servers.http import Hang, HttpServer, Seen
from servers.rest import failure, notes, pull, rows, table

from jackfield.engine.engine import Engine, Settings
from jackfield.graphs.errors import Code
from jackfield.nodes import NODE_TYPES
from jackfield.nodes.rest import RestConfiguration, explain
from jackfield.nodes.scan import Predicate, Scan

pytestmark = pytest.mark.anyio


async def test_an_empty_source_still_has_the_columns_that_a_query_needs() -> None:
    """One empty source must not break a join."""
    with HttpServer({"/items": []}) as server:
        run = await pull({"url": f"{server.url}/items"}, scan=Scan(columns=("id", "name")))
        assert table(run).schema.names == ["id", "name"]


async def test_only_the_needed_columns_travel_on() -> None:
    with HttpServer({"/items": [{"id": 1, "Name": "x", "rest": 2}]}) as server:
        assert rows(await pull({"url": f"{server.url}/items"}, scan=Scan(columns=("name", "ID")))) == [
            {"id": 1, "Name": "x"}
        ]


PUSHDOWN = {
    "country": {"param": "country", "operators": ["=", "in"], "exact": True},
    "updated_at": [
        {"param": "since", "operators": [">="], "exact": False},
        {"param": "until", "operators": ["<"], "exact": True},
    ],
    "tag": {"param": "tags", "operators": ["in"], "exact": True, "list_style": "comma"},
}


@pytest.mark.parametrize(
    ("predicates", "sent", "limited"),
    [
        ([Predicate("country", "=", "NO")], [("country", "NO")], True),
        ([Predicate("COUNTRY", "in", ("NO", "SE"))], [("country", "NO"), ("country", "SE")], True),
        ([Predicate("tag", "in", ("a", "b"))], [("tags", "a,b")], True),
        ([Predicate("tag", "in", ("a,b",))], [], False),
        ([Predicate("updated_at", ">=", dt.date(2025, 3, 1))], [("since", "2025-03-01")], False),
        (
            [Predicate("updated_at", ">", dt.datetime(2025, 3, 1, tzinfo=dt.UTC))],
            [("since", "2025-03-01T00:00:00Z")],
            False,
        ),
        ([Predicate("updated_at", "<", 5)], [("until", "5")], True),
        ([Predicate("updated_at", "<=", 5)], [], False),
        ([Predicate("country", ">", "NO")], [], False),
        ([Predicate("price", "=", 5)], [], False),
        ([Predicate("country", "=", "NO"), Predicate("country", "=", "SE")], [("country", "NO")], False),
        ([Predicate("country", "=", "NO"), Predicate("price", "=", 5)], [("country", "NO")], False),
        ([], [], True),
    ],
)
async def test_predicates_become_parameters_and_the_limit_only_when_all_are_exact(
    predicates: list[Predicate], sent: list[tuple[str, str]], limited: bool
) -> None:
    with HttpServer({"/items": []}) as server:
        source = {"url": f"{server.url}/items", "pushdown": PUSHDOWN, "limit_param": "n"}
        scan = Scan(predicates=tuple(predicates), limit=3)
        await pull(source, scan=scan)
        assert list(server.last.pairs) == sent + [("n", "3")] * limited
        shown = explain(RestConfiguration.model_validate(source), scan)
        assert [tuple(pair) for pair in shown["query"]] == sent
        assert shown["limit"] == (3 if limited else None)
        assert len(shown["kept"]) == len(predicates) - len(shown["pushed"])
        assert bool(shown["rechecked"]) == any(name == "since" for name, _ in sent)


async def test_a_limit_is_not_asked_for_where_rows_may_be_discarded() -> None:
    records = [{"id": "x"}, {"id": 1}, {"id": 2}]
    with HttpServer({"/items": lambda seen: records[: int(seen.query.get("n", 3))]}) as server:
        source = {"url": f"{server.url}/items", "limit_param": "n", "schema": {"id": "int"}, "contract": "discard_row"}
        assert rows(await pull(source, scan=Scan(limit=2))) == [{"id": 1}, {"id": 2}]


async def test_a_parameter_that_the_source_sets_itself_is_not_overridden() -> None:
    with HttpServer({"/items": []}) as server:
        source = {"url": f"{server.url}/items", "pushdown": PUSHDOWN, "params": {"country": "DK"}}
        run = await pull(source, scan=Scan(predicates=(Predicate("country", "=", "NO"),)))
        assert server.last.pairs == (("country", "DK"),)
        assert notes(run, "pushed")[0]["kept"] == ["country = …: parameter 'country' is set already"]


async def test_events_say_what_was_pushed_without_its_values() -> None:
    with HttpServer({"/items": []}) as server:
        source = {"url": f"{server.url}/items", "pushdown": PUSHDOWN}
        run = await pull(source, scan=Scan(predicates=(Predicate("country", "=", "NO-private"),)))
        assert notes(run, "pushed")[0]["predicates"] == [{"column": "country", "operator": "="}]
        assert "NO-private" not in repr(run.events)


async def test_rows_are_kept_for_a_while_by_request_and_credentials() -> None:
    with HttpServer({"/items": [{"id": 1}], "/b": []}) as server:
        source = {"url": f"{server.url}/items", "params": {"q": ":q"}}
        async with Engine(NODE_TYPES) as engine:
            await pull(source, {"q": "a"}, engine=engine)
            again = await pull(source, {"q": "a"}, engine=engine)
            assert (rows(again), len(server.requests)) == ([{"id": 1}], 1)
            assert [dict(facts) for facts in notes(again, "pulled")] == [{"rows": 1, "cached": True}]
            await pull(source, {"q": "a"}, Scan(columns=("id",)), engine=engine)
            assert len(server.requests) == 1
            await pull(source, {"q": "b"}, engine=engine)
            assert len(server.requests) == 2
            await pull({**source, "auth": {"type": "bearer", "secret_key": "TOKEN"}}, {"q": "a"}, engine=engine)
            assert len(server.requests) == 3
            await pull(source, {"q": "a"}, engine=engine, fresh=True)
            assert len(server.requests) == 4
            await pull({**source, "cache_ttl_s": 0}, {"q": "c"}, engine=engine)
            await pull({**source, "cache_ttl_s": 0}, {"q": "c"}, engine=engine)
            assert len(server.requests) == 6


async def test_concurrent_pulls_are_one() -> None:
    async def slowly(seen: Seen) -> list[dict[str, int]]:
        await anyio.sleep(0.05)
        return [{"id": 1}]

    with HttpServer({"/items": slowly}) as server:
        async with Engine(NODE_TYPES) as engine, anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(lambda: pull({"url": f"{server.url}/items"}, engine=engine))
        assert len(server.requests) == 1


async def test_more_rows_or_bytes_than_the_budget_end_the_call() -> None:
    """LIM-16"""
    with HttpServer({"/items": [{"id": number} for number in range(100)]}) as server:
        for settings in (Settings(max_rows=99), Settings(max_bytes=500)):
            async with Engine(NODE_TYPES, settings) as engine:
                assert (await failure({"url": f"{server.url}/items"}, engine=engine)).code is Code.BUDGET_EXCEEDED


async def test_a_cancelled_call_closes_its_connection_within_a_second() -> None:
    hang = Hang()
    with HttpServer({"/items": hang}) as server:
        async with Engine(NODE_TYPES) as engine, anyio.create_task_group() as group:
            group.start_soon(lambda: pull({"url": f"{server.url}/items"}, engine=engine))
            assert await anyio.to_thread.run_sync(hang.arrived.wait, 5)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(hang.closed.wait, 1)
