"""A layered layout: each node gets a column (its layer) and a place in it, each edge the points it goes through.

Layers by longest path, with edges that close a cycle turned round for the while; barycentres order each layer; long
edges get stops in the layers between. Sizes are in the units of the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

SWEEPS: Final = 6  # more of them hardly lessen the crossings of graphs that people read
STRAIGHTENINGS: Final = 8

Pair = tuple[str, str]
Key = str | int  # a node, or a stop of a long edge
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Sizes:
    width: float = 200
    height: float = 64
    column_gap: float = 64
    row_gap: float = 22


@dataclass(frozen=True, slots=True)
class Layout:
    """`nodes`: the top left corner of each; `edges`: points from start to end, one list for each pair given."""

    nodes: Mapping[str, Point]
    edges: Sequence[Sequence[Point]]
    width: float
    height: float


def layout(nodes: Sequence[str], edges: Sequence[Pair], sizes: Sizes = Sizes()) -> Layout:
    """Place `nodes` so that most edges go from left to right. Edges of a node to itself get no points."""
    if not nodes:
        return Layout({}, [[] for _ in edges], 0, 0)
    forward = _acyclic(nodes, edges)
    ranks = _ranks(nodes, set(forward))
    layers, chains = _layers(nodes, forward, ranks)
    before, after = _neighbours(chains)
    _order(layers, before, after)
    middles = _middles(layers, before, after, sizes)
    return _placed(nodes, edges, forward, chains, ranks, middles, sizes)


def _acyclic(nodes: Sequence[str], edges: Iterable[Pair]) -> list[Pair]:
    """The edges, those that close a cycle on a depth-first walk turned round; loops of one node stay as they are."""
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for start, end in edges:
        if start != end:
            after[start].append(end)
    done: set[str] = set()
    open_: set[str] = set()
    closing: set[Pair] = set()
    for root in nodes:
        stack = [] if root in done else [(root, iter(after[root]))]
        open_.update(node for node, _ in stack)
        while stack:
            node, rest = stack[-1]
            for other in rest:
                if other in open_:
                    closing.add((node, other))
                elif other not in done:
                    open_.add(other)
                    stack.append((other, iter(after[other])))
                    break
            else:
                stack.pop()
                open_.discard(node)
                done.add(node)
    return [(end, start) if (start, end) in closing else (start, end) for start, end in edges]


def _ranks(nodes: Sequence[str], edges: Iterable[Pair]) -> dict[str, int]:
    """The layer of each node: after all it follows; a node that nothing leads to stands beside its first consumer."""
    before: dict[str, list[str]] = {node: [] for node in nodes}
    after: dict[str, list[str]] = {node: [] for node in nodes}
    for start, end in edges:
        if start != end:
            before[end].append(start)
            after[start].append(end)
    ranks: dict[str, int] = {}
    waiting = {node: len(previous) for node, previous in before.items()}
    ready = [node for node in nodes if not waiting[node]]
    for node in ready:
        ranks[node] = max((ranks[other] + 1 for other in before[node]), default=0)
        for other in after[node]:
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    for node in reversed(ready):
        if after[node] and not before[node]:
            ranks[node] = min(ranks[other] for other in after[node]) - 1
    return ranks


def _layers(
    nodes: Sequence[str], edges: Sequence[Pair], ranks: Mapping[str, int]
) -> tuple[list[list[Key]], list[list[Key]]]:
    """The nodes and stops of each layer, and for each edge the chain of them that it goes through."""
    layers: list[list[Key]] = [[] for _ in range(max(ranks.values()) + 1)]
    for node in nodes:
        layers[ranks[node]].append(node)
    chains: list[list[Key]] = []
    shared: dict[Pair, list[Key]] = {}
    stops = 0
    for start, end in edges:
        chain = shared.get((start, end))
        if chain is None:
            between = range(ranks[start] + 1, ranks[end])
            chain = shared[start, end] = [start, *range(stops, stops + len(between)), end]
            for layer in between:
                layers[layer].append(stops)
                stops += 1
        chains.append(chain)
    return layers, chains


def _neighbours(chains: Iterable[Sequence[Key]]) -> tuple[dict[Key, list[Key]], dict[Key, list[Key]]]:
    before: dict[Key, list[Key]] = {}
    after: dict[Key, list[Key]] = {}
    for chain in chains:
        for left, right in pairwise(chain):
            before.setdefault(right, []).append(left)
            after.setdefault(left, []).append(right)
    return before, after


def _order(layers: list[list[Key]], before: Mapping[Key, list[Key]], after: Mapping[Key, list[Key]]) -> None:
    """Sort each layer by where its neighbours stand, to and fro, so that fewer edges cross."""
    place: dict[Key, float] = {key: index for layer in layers for index, key in enumerate(layer)}
    for sweep in range(SWEEPS):
        neighbours, turn = (before, layers) if sweep % 2 == 0 else (after, layers[::-1])
        for layer in turn:
            wanted = {key: _mean([place[other] for other in neighbours.get(key, ())], place[key]) for key in layer}
            layer.sort(key=wanted.__getitem__)
            place.update((key, index) for index, key in enumerate(layer))


def _middles(
    layers: list[list[Key]], before: Mapping[Key, list[Key]], after: Mapping[Key, list[Key]], sizes: Sizes
) -> dict[Key, float]:
    """How far down the middle of each key is: near its neighbours, in the layer's order, without overlap."""
    middles: dict[Key, float] = {}
    for turn in range(STRAIGHTENINGS):
        for layer in layers if turn % 2 == 0 else layers[::-1]:
            bottom = float("-inf")
            for key in layer:
                half = 0 if isinstance(key, int) else sizes.height / 2  # a stop is only a line that passes
                near = [middles[other] for other in (*before.get(key, ()), *after.get(key, ())) if other in middles]
                free = bottom + sizes.row_gap + half
                middles[key] = max(_mean(near, middles.get(key, 0)), free)
                bottom = middles[key] + half
    highest = min(middles[key] - (0 if isinstance(key, int) else sizes.height / 2) for key in middles)
    return {key: middle - highest for key, middle in middles.items()}


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _placed(
    nodes: Sequence[str],
    edges: Sequence[Pair],
    forward: Sequence[Pair],
    chains: Sequence[Sequence[Key]],
    ranks: Mapping[str, int],
    middles: Mapping[Key, float],
    sizes: Sizes,
) -> Layout:
    step = sizes.width + sizes.column_gap
    corners = {node: (ranks[node] * step, middles[node] - sizes.height / 2) for node in nodes}
    paths: list[list[Point]] = []
    for edge, turned, chain in zip(edges, forward, chains, strict=True):
        if edge[0] == edge[1]:
            paths.append([])
            continue
        left = ranks[turned[0]] * step
        points: list[Point] = []
        for offset, key in enumerate(chain):
            sides = (left + offset * step, left + offset * step + sizes.width)
            # Level through a column, so that no line crosses a node beside it.
            through = sides[1:] if offset == 0 else sides[:1] if offset == len(chain) - 1 else sides
            points.extend((x, middles[key]) for x in through)
        paths.append(points if edge == turned else points[::-1])
    right = max(x for x, _ in corners.values()) + sizes.width
    bottom = max(middle + (0 if isinstance(key, int) else sizes.height / 2) for key, middle in middles.items())
    return Layout(corners, paths, right, bottom)
