"""What the scheduler costs a node, beside Hamilton's async driver, Dask, LangGraph and an inlined await.

Every node does `v + 1` and does not suspend. Ours runs with values, events and checks, as every run does; graphs are
compiled beforehand, ours and theirs. Processor time is counted, as all of them compute in one thread; runners take
turns, so that a busy moment hits all alike.
Exits with 1 when a chain node costs more than 25 inlined awaits, or more than a fifteenth of Hamilton's.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import statistics
import sys
import time
import types
from collections.abc import Awaitable, Callable
from typing import Any, TypedDict

from jackfield.engine.engine import Engine
from jackfield.graphs.model import Edge, Graph, Node
from jackfield.nodes.base import Context, Inputs, NoConfiguration, Outputs, Port, node
from jackfield.nodes.output import output_node

MOST_INLINED = 25
LEAST_HAMILTON = 15
Shape = dict[str, tuple[str, ...]]  # each node and what it adds up
Runner = Callable[[], Awaitable[Any]]


def chain(length: int) -> Shape:
    return {f"n{place}": (f"n{place - 1}",) if place else () for place in range(length)}


def fan(width: int) -> Shape:
    arms: Shape = {f"a{place}": ("root",) for place in range(width)}
    return {"root": (), **arms, "end": tuple(arms)}


def layered(layers: int, width: int) -> Shape:
    shape: Shape = {f"n0_{place}": () for place in range(width)}
    for layer in range(1, layers):
        for place in range(width):
            shape[f"n{layer}_{place}"] = (f"n{layer - 1}_{place}", f"n{layer - 1}_{(place + 1) % width}")
    return {**shape, "end": tuple(f"n{layers - 1}_{place}" for place in range(width))}


@node("add", description="Adds one.", configuration=NoConfiguration, outputs=(Port("v"),), open_inputs=True)
async def add(config: NoConfiguration, inputs: Inputs, context: Context) -> Outputs:
    return {"v": sum(inputs.values()) + 1}


@node("one", description="Adds one to one.", configuration=NoConfiguration, inputs=(Port("v"),), outputs=(Port("v"),))
async def one(config: NoConfiguration, inputs: Inputs, context: Context) -> Outputs:
    return {"v": inputs["v"] + 1}


def ours(shape: Shape, engine: Engine) -> Runner:
    nodes = [Node(name, "one" if len(above) == 1 else "add") for name, above in shape.items()]
    edges = [
        Edge(other, name, "v", "v" if len(above) == 1 else other) for name, above in shape.items() for other in above
    ]
    last = next(reversed(shape))
    graph = Graph((*nodes, Node("out", "output")), (*edges, Edge(last, "out", "v", "v")))
    engine.plan(graph)

    async def run() -> Any:
        finished = await engine.run(graph, {})
        return finished.values["v"]

    return run


async def step(*values: int) -> int:
    return sum(values) + 1


async def next_of(value: int) -> int:
    return value + 1


def inlined(shape: Shape) -> Runner:
    """The nodes awaited one after another by a loop; for a chain it is just `v = await f(v)`."""
    if all(len(above) < 2 for above in shape.values()) and len(shape) > 5:

        async def run_chain() -> int:
            value = 0
            for _ in shape:
                value = await next_of(value)
            return value

        return run_chain
    last = next(reversed(shape))

    async def run() -> int:
        values: dict[str, int] = {}
        for name, above in shape.items():
            values[name] = await step(*[values[other] for other in above])
        return values[last]

    return run


async def hamilton(shape: Shape) -> Runner:
    from hamilton import async_driver

    module = types.ModuleType("bench_hamilton")
    sys.modules[module.__name__] = module
    for name, above in shape.items():
        parameters = ", ".join(f"{other}: int" for other in above)
        exec(f"async def {name}({parameters}) -> int:\n    return {' + '.join((*above, '1'))}\n", module.__dict__)
    driver = await async_driver.Builder().with_modules(module).build()
    last = next(reversed(shape))

    async def run() -> Any:
        return (await driver.execute([last]))[last]

    return run


def dask(shape: Shape) -> Runner:
    from dask import get

    def work(*values: int) -> int:
        return sum(values) + 1

    graph = {name: (work, *above) for name, above in shape.items()}
    last = next(reversed(shape))

    async def run() -> Any:
        return get(graph, last)

    return run


def langgraph(shape: Shape) -> Runner:
    from langgraph.graph import END, START, StateGraph

    state = TypedDict("state", dict.fromkeys(shape, int))

    def maker(name: str, above: tuple[str, ...]) -> Any:
        async def work(values: dict[str, int]) -> dict[str, int]:
            return {name: sum([values[other] for other in above]) + 1}

        return work

    builder = StateGraph(state)
    for name, above in shape.items():
        builder.add_node(f"do_{name}", maker(name, above))
        builder.add_edge([f"do_{other}" for other in above] if above else START, f"do_{name}")
    last = next(reversed(shape))
    builder.add_edge(f"do_{last}", END)
    compiled = builder.compile()

    async def run() -> Any:
        result = await compiled.ainvoke({}, {"recursion_limit": len(shape) + 5})
        return result[last]

    return run


def installed(peers: dict[str, str]) -> set[str]:
    found = {name for name, module in peers.items() if importlib.util.find_spec(module)}
    for name in peers.keys() - found:
        print(f"SKIPPED: {name} is not installed (pip install -r benchmarks/requirements.in)", file=sys.stderr)
    return found


async def timed(run: Runner, times: int) -> float:
    gc.collect()
    await run()  # what the others left in the processor's caches is not ours to measure
    began = time.process_time()
    for _ in range(times):
        await run()
    return (time.process_time() - began) / times


async def measure(
    name: str, shape: Shape, engine: Engine, peers: set[str], rounds: int, times: int = 1
) -> dict[str, float]:
    """Median µs a node; peers run in every fifth round only, they need the longer part of the time."""
    runners: dict[str, Runner] = {"inlined await": inlined(shape), "jackfield": ours(shape, engine)}
    if "hamilton" in peers:
        runners["hamilton"] = await hamilton(shape)
    if "dask" in peers:
        runners["dask"] = dask(shape)
    if "langgraph" in peers:
        runners["langgraph"] = langgraph(shape)
    answers = {who: await run() for who, run in runners.items()}
    assert len(set(answers.values())) == 1, f"the answers differ: {answers}"
    seconds: dict[str, list[float]] = {who: [] for who in runners}
    for turn in range(rounds):
        for who, run in runners.items():
            if who in ("inlined await", "jackfield") or turn % 5 == 0 or (who == "hamilton" and name == "chain"):
                seconds[who].append(await timed(run, times))
    micros = {who: statistics.median(found) / len(shape) * 1e6 for who, found in seconds.items()}
    print(f"\n{name}: {len(shape):,} nodes{f', {times} runs a round' if times > 1 else ''}; median of {rounds} rounds")
    for who, cost in micros.items():
        print(f"  {who:14} {cost:9.2f} µs/node   {cost / micros['jackfield']:8.2f} x jackfield")
    return micros


async def main() -> int:
    peers = installed({"hamilton": "hamilton", "dask": "dask", "langgraph": "langgraph"})
    async with Engine((add, one, output_node)) as engine:
        costs = await measure("chain", chain(500), engine, peers, 60)
        await measure("fan", fan(500), engine, peers, 20)
        await measure("layered", layered(50, 40), engine, peers, 10)
        small: Shape = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c"), "e": ("d",)}
        await measure("small graphs", small, engine, peers, 10, times=100)
    ratio = costs["jackfield"] / costs["inlined await"]
    print(f"\nchain node: {ratio:.1f} x an inlined await (at most {MOST_INLINED})")
    failed = ratio > MOST_INLINED
    if "hamilton" in costs:
        cheaper = costs["hamilton"] / costs["jackfield"]
        print(f"chain node: {cheaper:.1f} x cheaper than in Hamilton's async driver (at least {LEAST_HAMILTON})")
        failed = failed or cheaper < LEAST_HAMILTON
    return int(failed)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
