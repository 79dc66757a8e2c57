"""Breadboard's firing rule: what waits at the ports, which node may fire, what a firing takes and what it sends on.

State, a node: `heads`, the value at the head of each port's queue; `behind`, the rest of those queues; `constants`;
`missing`, how many needed ports hold nothing. Nothing here runs a node or knows of time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ..graphs.model import ERROR_PORT, WILDCARD
from ..nodes.base import Inputs, Outputs, Value
from .plan import Plan


@dataclass(frozen=True, slots=True)
class Stuck:
    """A node that never fired: the ports that were missing, and those where values wait for them."""

    node: str
    missing: tuple[str, ...]
    waiting: tuple[str, ...]

    def __str__(self) -> str:
        if not self.missing:
            return f"Node '{self.node}' never fired: nothing that leads to it fired."
        ports = ", ".join(f"'{port}'" for port in self.missing)
        rest = f"; waiting: {', '.join(repr(port) for port in self.waiting)}" if self.waiting else ""
        return f"Node '{self.node}' never fired: no value came to {ports}{rest}."


class PortQueues:
    """The ports of all nodes of one running graph."""

    __slots__ = ("_behind", "_constants", "_heads", "_missing", "_plan", "fired")

    def __init__(self, plan: Plan) -> None:
        count = len(plan.ids)
        self._plan = plan
        self._heads: list[dict[str, Value]] = [{} for _ in range(count)]
        self._behind: dict[int, dict[str, deque[Value]]] = {}
        self._constants: dict[int, dict[str, Value]] = {}
        self._missing = [len(needs) for needs in plan.needs]
        self.fired = bytearray(count)

    def ready(self, node: int) -> bool:
        return not self._missing[node]

    def take(self, node: int) -> dict[str, Value]:
        """What the node fires with: one value from each queue; constants stay."""
        self.fired[node] = 1
        taken = self._heads[node]
        constants = self._constants.get(node)
        behind = self._behind.get(node)
        self._heads[node] = heads = {port: queue.popleft() for port, queue in behind.items()} if behind else {}
        if behind:
            self._behind[node] = {port: queue for port, queue in behind.items() if queue}
        self._missing[node] = sum(
            [port not in heads and not (constants and port in constants) for port in self._plan.needs[node]]
        )
        return {**constants, **taken} if constants else taken

    def deliver(self, node: int, outputs: Outputs) -> Sequence[int]:
        """Put the values of a firing where its edges lead; the nodes that thereby get an opportunity, in edge order.

        Each edge is an opportunity, also when its value is absent. After an error only the edges from `$error` count.
        """
        failed = ERROR_PORT in outputs
        opportunities = []
        for out, to, port, constant in self._plan.wires[node]:
            if failed and out != ERROR_PORT:
                continue
            if out == WILDCARD:
                for name, value in outputs.items():
                    if value is not None and not name.startswith("$"):
                        self._put(to, name, value, constant)
            elif out:
                value = outputs.get(out)
                if value is not None:
                    self._put(to, port, value, constant)
            opportunities.append(to)
        return opportunities

    def stuck(self) -> tuple[Stuck, ...]:
        """What never fired, and why. Nodes that stand alone beside an entry are not meant to fire."""
        held = [{*heads, *self._constants.get(node, {})} for node, heads in enumerate(self._heads)]
        return _stuck(self._plan, self.fired, held)

    def _put(self, node: int, port: str, value: Value, constant: bool) -> None:
        heads = self._heads[node]
        constants = self._constants.get(node)
        held = port in heads or (constants is not None and port in constants)
        if constant:
            self._constants.setdefault(node, {})[port] = value
        elif port in heads:
            self._behind.setdefault(node, {}).setdefault(port, deque()).append(value)
        else:
            heads[port] = value
        if not held and port in self._plan.needs[node]:
            self._missing[node] -= 1


class Arrivals:
    """The eager nodes' ports: each takes one value and its node fires once, so counting arrivals is enough."""

    __slots__ = ("_inputs", "_left", "_plan", "fired")

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._left = list(plan.waits)
        self._inputs: list[dict[str, Value] | None] = [None] * len(plan.ids)
        self.fired = bytearray(len(plan.ids))

    def deliver(self, node: int, outputs: Outputs) -> list[tuple[int, Inputs]]:
        """The eager nodes that are now ready, with what they fire with."""
        plan, left, inputs = self._plan, self._left, self._inputs
        failed = ERROR_PORT in outputs
        ready: list[tuple[int, Inputs]] = []
        for out, to, port, _ in plan.wires[node]:
            if not plan.eager[to] or (failed and out != ERROR_PORT):
                continue
            if out:
                value = outputs.get(out)
                if value is None:
                    continue
                waiting = inputs[to]
                if waiting is None:
                    waiting = inputs[to] = {}
                waiting[port] = value
            elif plan.needs[to]:
                continue  # values alone decide when it fires
            left[to] -= 1
            if not left[to]:
                ready.append((to, inputs[to] or {}))
                inputs[to] = None
        return ready

    def stuck(self) -> tuple[Stuck, ...]:
        return _stuck(self._plan, self.fired, [set(inputs or ()) for inputs in self._inputs])


def _stuck(plan: Plan, fired: Sequence[int], held: Sequence[set[str]]) -> tuple[Stuck, ...]:
    return tuple(
        [
            Stuck(plan.ids[node], tuple(sorted(plan.needs[node] - ports)), tuple(sorted(ports)))
            for node, ports in enumerate(held)
            if not fired[node]
        ]
    )
