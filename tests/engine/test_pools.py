"""Leases of shared resources: reuse, discard, bounds, cancellation."""

from collections.abc import AsyncIterator

import anyio
import pytest

from jackfield.engine.pools import KeyedPools, PoolSettings
from jackfield.graphs.errors import Code, JackfieldError

pytestmark = pytest.mark.anyio


class Resource:
    def __init__(self, number: int) -> None:
        self.number = number
        self.closed = False


class Maker:
    """Opens numbered resources and remembers them."""

    def __init__(self) -> None:
        self.made: list[Resource] = []
        self.closed = anyio.Event()

    async def open(self) -> Resource:
        await anyio.lowlevel.checkpoint()
        self.made.append(Resource(len(self.made)))
        return self.made[-1]

    async def close(self, resource: Resource) -> None:
        await anyio.lowlevel.checkpoint()
        resource.closed = True
        self.closed.set()

    def open_now(self) -> int:
        return sum(not resource.closed for resource in self.made)


@pytest.fixture
async def pools() -> AsyncIterator[KeyedPools]:
    made = KeyedPools(PoolSettings(size=2, wait_s=0.05))
    yield made
    await made.aclose()


async def test_a_resource_that_came_back_is_used_again(pools: KeyedPools) -> None:
    maker = Maker()
    for _ in range(3):
        async with pools.lease("db", maker.open, maker.close) as lease:
            assert lease.value.number == 0
    async with pools.lease("other", maker.open, maker.close) as lease:
        assert lease.value.number == 1


async def test_a_discarded_resource_is_closed_and_not_used_again(pools: KeyedPools) -> None:
    maker = Maker()
    async with pools.lease("db", maker.open, maker.close) as lease:
        lease.discard()
    assert maker.made[0].closed
    async with pools.lease("db", maker.open, maker.close) as lease:
        assert lease.value.number == 1


async def test_who_finds_all_in_use_waits_its_turn(pools: KeyedPools) -> None:
    maker = Maker()
    most = 0
    leased = 0

    async def use() -> None:
        nonlocal most, leased
        async with pools.lease("db", maker.open, maker.close):
            leased += 1
            most = max(most, leased)
            await anyio.lowlevel.checkpoint()
            leased -= 1

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(use)
    assert (most, len(maker.made)) == (2, 2)


async def test_a_wait_that_is_too_long_is_overload(pools: KeyedPools) -> None:
    maker = Maker()
    async with pools.lease("db", maker.open, maker.close), pools.lease("db", maker.open, maker.close):
        with pytest.raises(JackfieldError) as caught:
            async with pools.lease("db", maker.open, maker.close):
                pass
    assert caught.value.code is Code.OVERLOADED
    async with pools.lease("db", maker.open, maker.close), pools.lease("db", maker.open, maker.close):
        assert len(maker.made) == 2  # no turn was lost


async def test_a_cancelled_lease_closes_its_resource_and_passes_its_turn(pools: KeyedPools) -> None:
    maker = Maker()
    holding = anyio.Event()

    async def hold() -> None:
        async with pools.lease("db", maker.open, maker.close):
            holding.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(hold)
        await holding.wait()
        group.cancel_scope.cancel()
    assert maker.made[0].closed
    async with pools.lease("db", maker.open, maker.close), pools.lease("db", maker.open, maker.close):
        assert maker.open_now() == 2


async def test_a_cancelled_wait_loses_no_turn(pools: KeyedPools) -> None:
    maker = Maker()

    async def wait() -> None:
        async with pools.lease("db", maker.open, maker.close):
            raise AssertionError("there was no turn to have")

    async with (
        pools.lease("db", maker.open, maker.close),
        pools.lease("db", maker.open, maker.close),
        anyio.create_task_group() as group,
    ):
        for _ in range(3):
            group.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    with anyio.fail_after(1):
        async with pools.lease("db", maker.open, maker.close), pools.lease("db", maker.open, maker.close):
            assert len(maker.made) == 2


async def test_a_resource_that_does_not_open_loses_no_turn(pools: KeyedPools) -> None:
    maker = Maker()

    async def refuse() -> Resource:
        raise JackfieldError(Code.SOURCE_UNREACHABLE, "Nobody is there.")

    for _ in range(3):
        with pytest.raises(JackfieldError, match="Nobody"):
            async with pools.lease("db", refuse, maker.close):
                pass
    async with pools.lease("db", maker.open, maker.close) as lease:
        assert lease.value.number == 0


@pytest.mark.parametrize("settings", [PoolSettings(idle_s=0), PoolSettings(age_s=0)], ids=["idle", "old"])
async def test_a_resource_idle_too_long_or_too_old_is_closed(settings: PoolSettings) -> None:
    maker = Maker()
    pools = KeyedPools(settings)
    for number in range(3):
        async with pools.lease("db", maker.open, maker.close) as lease:
            assert lease.value.number == number
    await pools.aclose()
    assert maker.open_now() == 0


async def test_an_idle_resource_is_closed_though_nobody_asks_for_one() -> None:
    maker = Maker()
    pools = KeyedPools(PoolSettings(idle_s=0.01))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(pools.reap)
            async with pools.lease("db", maker.open, maker.close):
                pass
            await maker.closed.wait()
            group.cancel_scope.cancel()


async def test_closing_closes_what_is_idle_and_later_what_comes_back() -> None:
    maker = Maker()
    pools = KeyedPools()
    async with pools.lease("db", maker.open, maker.close):
        async with pools.lease("db", maker.open, maker.close):
            pass
        await pools.aclose()
        assert [resource.closed for resource in maker.made] == [False, True]
    assert maker.open_now() == 0


async def test_a_resource_that_does_not_close_does_not_hold_up_its_user() -> None:
    maker = Maker()
    pools = KeyedPools(PoolSettings(close_s=0.02))

    async def hang(resource: Resource) -> None:
        await anyio.sleep_forever()

    with anyio.fail_after(5):
        async with pools.lease("db", maker.open, hang) as lease:
            lease.discard()
