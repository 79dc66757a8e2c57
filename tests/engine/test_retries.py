"""Retries by effect: nodes that read are tried again for transient errors, inside the deadline; others never."""

from typing import Any

import anyio
import pytest
from servers.flow import KINDS, flow, kind

from jackfield.engine.engine import Engine, Settings
from jackfield.engine.environment import Environment
from jackfield.graphs.errors import Code, JackfieldError
from jackfield.nodes.base import Context, Effect, Inputs, NodeType, Outputs
from jackfield.nodes.table import Table

pytestmark = pytest.mark.anyio
GRAPH = flow({"s": "source", "out": "output"}, "s.v -> out.v")
QUICK = Settings(backoff_s=0.001)


class Flaky:
    """Fails the first `failures` times."""

    def __init__(self, failures: int, *, transient: bool = True, retry_after_s: float | None = None) -> None:
        self.failures = failures
        self.transient = transient
        self.retry_after_s = retry_after_s
        self.tries = 0

    def source(self, effect: Effect) -> NodeType[Any]:
        return kind("source", self, effect)

    async def __call__(self, inputs: Inputs, context: Context) -> Outputs:
        self.tries += 1
        if self.tries <= self.failures:
            details = {} if self.retry_after_s is None else {"retry_after_s": self.retry_after_s}
            raise JackfieldError(Code.SOURCE_UNREACHABLE, "Nobody is there.", "", details, self.transient)
        return {"v": self.tries}


async def test_a_transient_failure_to_read_is_tried_twice_more() -> None:
    flaky = Flaky(2)
    async with Engine((*KINDS, flaky.source(Effect.READS)), QUICK) as engine:
        run = await engine.run(GRAPH, {})
    assert run.values == {"v": 3}
    assert [event.facts["try"] for event in run.events if event.kind == "retried"] == [2, 3]


async def test_after_two_more_tries_it_is_an_error() -> None:
    flaky = Flaky(3)
    async with Engine((*KINDS, flaky.source(Effect.READS)), QUICK) as engine:
        with pytest.raises(JackfieldError) as caught:
            await engine.run(GRAPH, {})
    assert (flaky.tries, caught.value.code, caught.value.details) == (3, Code.SOURCE_UNREACHABLE, {"node": "s"})


@pytest.mark.parametrize("effect", [Effect.PURE, Effect.WRITES, Effect.ASKS])
async def test_what_does_not_read_is_never_tried_again(effect: Effect) -> None:
    flaky = Flaky(1)
    async with Engine((*KINDS, flaky.source(effect)), QUICK) as engine:
        with pytest.raises(JackfieldError):
            await engine.run(GRAPH, {})
    assert flaky.tries == 1


async def test_a_lasting_failure_is_not_tried_again() -> None:
    flaky = Flaky(1, transient=False)
    async with Engine((*KINDS, flaky.source(Effect.READS)), QUICK) as engine:
        with pytest.raises(JackfieldError):
            await engine.run(GRAPH, {})
    assert flaky.tries == 1


async def test_it_waits_as_long_as_the_source_asked() -> None:
    flaky = Flaky(1, retry_after_s=0.1)
    async with Engine((*KINDS, flaky.source(Effect.READS)), QUICK) as engine:
        began = anyio.current_time()
        await engine.run(GRAPH, {})
        assert anyio.current_time() - began >= 0.1


async def test_it_does_not_wait_beyond_the_deadline() -> None:
    flaky = Flaky(1, retry_after_s=30)
    async with Engine((*KINDS, flaky.source(Effect.READS)), QUICK) as engine:
        with anyio.fail_after(5), pytest.raises(JackfieldError) as caught:
            await engine.run(GRAPH, {}, timeout_s=10)
    assert (flaky.tries, caught.value.code) == (1, Code.SOURCE_UNREACHABLE)


async def test_a_caught_error_is_caught_after_the_tries() -> None:
    flaky = Flaky(9)
    graph = flow({"s": "source", "out": "output"}, "s.$error -> out.error")
    async with Engine((*KINDS, flaky.source(Effect.READS)), QUICK) as engine:
        run = await engine.run(graph, {})
    assert flaky.tries == 3
    assert run.values["error"]["error"]["code"] == "SOURCE_UNREACHABLE"


async def test_a_write_drops_what_its_connector_pulled_even_when_it_fails() -> None:
    pulls = 0

    async def pull() -> dict[str, Table]:
        nonlocal pulls
        pulls += 1
        return {}

    async def read(inputs: Inputs, context: Context) -> Outputs:
        await context.cache.tables(f"{context.connector}|orders", 60, pull)
        return {"v": 1}

    flaky = Flaky(1)
    kinds = (*KINDS, kind("read", read, Effect.READS), kind("write", flaky, Effect.WRITES))
    reading, writing = flow({"a": "read"}), flow({"a": "write"})
    shop = Environment("shop")
    async with Engine(kinds) as engine:
        await engine.run(reading, {}, environment=shop)
        await engine.run(reading, {}, environment=shop)
        assert pulls == 1
        with pytest.raises(JackfieldError):
            await engine.run(writing, {}, environment=shop)
        await engine.run(reading, {}, environment=shop)
        assert pulls == 2
        await engine.run(writing, {}, environment=Environment("other"))
        await engine.run(reading, {}, environment=shop)
        assert pulls == 2
        await engine.run(writing, {}, environment=shop)
        await engine.run(reading, {}, environment=shop)
        assert pulls == 3
