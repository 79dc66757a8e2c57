"""Rows shared by runs: one pull for concurrent callers, freshness after a write, a bound in bytes."""

from collections.abc import Mapping

import anyio
import anyio.lowlevel
import pytest

from jackfield.engine.cache import TableCache
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio
KEY = "shop|orders|all"


class Source:
    """Counts its pulls; each gives its number. It waits for `go` when told to."""

    def __init__(self) -> None:
        self.pulls = 0
        self.go = anyio.Event()
        self.go.set()
        self.pulling = anyio.Event()

    async def pull(self) -> Mapping[str, Table]:
        self.pulls += 1
        number = self.pulls
        self.pulling.set()
        await self.go.wait()
        return {"rows": Table.from_rows([{"pull": number}])}


def number(tables: Mapping[str, Table]) -> int:
    pulled: int = tables["rows"].to_pylist()[0]["pull"]
    return pulled


async def test_rows_are_kept_as_long_as_asked() -> None:
    cache, source = TableCache(), Source()
    assert [number(await cache.tables(KEY, 60, source.pull)) for _ in range(3)] == [1, 1, 1]
    assert [number(await cache.tables(KEY + "2", 0, source.pull)) for _ in range(2)] == [2, 3]
    assert number(await cache.tables(KEY + "3", 0.001, source.pull)) == 4
    await anyio.sleep(0.005)
    assert number(await cache.tables(KEY + "3", 0.001, source.pull)) == 5


@pytest.mark.parametrize("ttl_s", [0, 60])
async def test_concurrent_pulls_of_one_key_are_one(ttl_s: float) -> None:
    cache, source = TableCache(), Source()
    source.go = anyio.Event()
    got: list[int] = []

    async def ask() -> None:
        got.append(number(await cache.tables(KEY, ttl_s, source.pull)))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(ask)
            await source.pulling.wait()
            source.go.set()
    assert got == [1] * 10


async def test_when_the_puller_is_cancelled_a_waiter_pulls() -> None:
    cache, source = TableCache(), Source()
    source.go = anyio.Event()
    got: list[int] = []

    async def ask(scope: anyio.CancelScope) -> None:
        with scope:
            got.append(number(await cache.tables(KEY, 60, source.pull)))

    first, second = anyio.CancelScope(), anyio.CancelScope()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask, first)
            await source.pulling.wait()
            source.pulling = anyio.Event()
            group.start_soon(ask, second)
            await anyio.lowlevel.checkpoint()
            first.cancel()
            await source.pulling.wait()
            source.go.set()
    assert got == [2]


async def test_a_failed_pull_fails_for_all_who_wait_and_is_not_kept() -> None:
    cache, source = TableCache(), Source()
    failures: list[JackfieldError] = []
    go = anyio.Event()

    async def fail() -> Mapping[str, Table]:
        source.pulls += 1
        await go.wait()
        raise JackfieldError(Code.SOURCE_ERROR, "500")

    async def ask() -> None:
        try:
            await cache.tables(KEY, 60, fail)
        except JackfieldError as error:
            failures.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(ask)
        await anyio.lowlevel.checkpoint()
        go.set()
    assert (len(failures), source.pulls) == (3, 1)
    assert len({id(error) for error in failures}) == 3  # each adds its own node
    assert number(await cache.tables(KEY, 60, source.pull)) == 2


async def test_a_write_drops_its_connectors_rows_only() -> None:
    cache, source = TableCache(), Source()
    for key in ("shop|a", "shop|b", "shopping|a"):
        await cache.tables(key, 60, source.pull)
    cache.drop("shop")
    assert [number(await cache.tables(key, 60, source.pull)) for key in ("shop|a", "shop|b", "shopping|a")] == [4, 5, 3]


async def test_rows_pulled_before_a_write_are_not_kept_after_it() -> None:
    cache, source = TableCache(), Source()
    source.go = anyio.Event()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(cache.tables, KEY, 60, source.pull)
            await source.pulling.wait()
            cache.drop("shop")
            source.go.set()
    assert number(await cache.tables(KEY, 60, source.pull)) == 2


async def test_who_asks_after_a_write_does_not_get_the_pull_from_before_it() -> None:
    cache, source = TableCache(), Source()
    source.go = anyio.Event()
    got: list[int] = []

    async def ask() -> None:
        got.append(number(await cache.tables(KEY, 60, source.pull)))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await source.pulling.wait()
            cache.drop("shop")
            source.pulling = anyio.Event()
            group.start_soon(ask)
            await source.pulling.wait()
            source.go.set()
    assert sorted(got) == [1, 2]
    assert number(await cache.tables(KEY, 60, source.pull)) == 2


async def test_it_holds_no_more_bytes_than_allowed_and_drops_the_least_used() -> None:
    source = Source()
    size = Table.from_rows([{"pull": 1}]).arrow().nbytes
    cache = TableCache(max_bytes=2 * size)
    for key in ("s|a", "s|b", "s|a", "s|c"):
        await cache.tables(key, 60, source.pull)
    assert cache.size == 2 * size
    assert [number(await cache.tables(key, 60, source.pull)) for key in ("s|a", "s|c", "s|b")] == [1, 3, 4]
    small = TableCache(max_bytes=size - 1)
    await small.tables("s|a", 60, source.pull)
    assert small.size == 0
