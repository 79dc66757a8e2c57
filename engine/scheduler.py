"""Running any plan in Breadboard's order: firings side by side, with the values that one at a time would give.

Opportunities wait in a FIFO. One is taken, and its node tested for readiness, only when no firing is under way that
could still send it something; results are delivered in the order of the firings. What is eager runs ahead of its turn,
and its result waits there. A node that writes starts when all before it is delivered.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from ..graphs.errors import Code, JackfieldError
from ..nodes.base import Effect, Inputs, Outputs
from .firing import Arrivals, PortQueues
from .runs import FIRINGS_A_TURN, Fired

if TYPE_CHECKING:
    from .execution import Execution


class Flight:
    """One firing on its way: started, or waiting to be; its outcome is delivered in its turn."""

    __slots__ = ("done", "error", "inputs", "node", "outputs")

    def __init__(self, node: int, inputs: Inputs) -> None:
        self.node = node
        self.inputs = inputs
        self.outputs: Outputs = {}
        self.error: JackfieldError | None = None
        self.done = False


class Ordered:
    """Any plan, in Breadboard's order.

    `window` holds the firings issued and not yet delivered, oldest first; `senders[n]` counts those with an edge to n.
    `ahead` holds eager firings that were started before their turn to be issued.
    """

    def __init__(self, execution: Execution, component: bool) -> None:
        self._execution = execution
        self._plan = plan = execution.plan
        self._component = component
        self._queues = PortQueues(plan)
        self._fifo: deque[int] = deque(plan.entries)
        self._forced = set(plan.entries)  # a start node fires whatever it needs
        self._window: deque[Flight] = deque()
        self._senders = [0] * len(plan.ids)
        self._parallel = execution.run.max_concurrency > 1
        self._free = execution.run.max_concurrency
        self._backlog: deque[Flight] = deque()
        self._arrivals = Arrivals(plan)
        self._ahead: dict[int, Flight] = {}
        self._group: TaskGroup | None = None
        self._firings = 0
        self._writing = 0
        self._outputs: Fired = []
        self._last: Flight | None = None
        self._over = False
        self._error: JackfieldError | None = None

    async def run(self) -> Fired:
        if self._parallel:
            async with anyio.create_task_group() as self._group:
                opening = [self._run_ahead(entry, {}) for entry in self._plan.entries if self._plan.eager[entry]]
                self._start([*opening, *self._issue()])
        else:
            await self._one_by_one()
        if self._error is not None:
            raise self._error
        if not self._over:
            self._execution.stuck = self._queues.stuck()
            last = self._last
            if last is not None and last.outputs and not self._plan.is_output[last.node]:
                self._outputs.append((self._plan.ids[last.node], last.outputs))
        return self._outputs

    async def _one_by_one(self) -> None:
        turn = FIRINGS_A_TURN
        while flights := self._issue():
            await self._fly(flights[0])
            self._deliver()
            turn -= 1
            if not turn:
                turn = FIRINGS_A_TURN
                await anyio.lowlevel.checkpoint()
        self._deliver()  # of a firing that was refused

    def _start(self, flights: list[Flight]) -> None:
        assert self._group is not None
        for flight in flights:
            if self._free > 0:
                self._free -= 1
                self._group.start_soon(self._drive, flight)
            else:
                self._backlog.append(flight)

    async def _drive(self, flight: Flight) -> None:
        """Fire, see what has become possible, go on with the first of it."""
        assert self._group is not None
        turn = FIRINGS_A_TURN
        while True:
            await self._fly(flight)
            flights = self._landed(flight)
            if self._over:
                self._group.cancel_scope.cancel()
                return
            self._start(flights[1:])
            if flights:
                flight = flights[0]
            elif self._backlog:
                flight = self._backlog.popleft()
            else:
                self._free += 1
                return
            turn -= 1
            if not turn:
                turn = FIRINGS_A_TURN
                await anyio.lowlevel.checkpoint()

    async def _fly(self, flight: Flight) -> None:
        try:
            flight.outputs = await self._execution.fire(flight.node, flight.inputs)
        except JackfieldError as error:
            flight.error = error
        flight.done = True

    def _landed(self, flight: Flight) -> list[Flight]:
        """What can start now that `flight` is done."""
        plan, node = self._plan, flight.node
        flights: list[Flight] = []
        if plan.effects[node] is Effect.WRITES:
            self._writing -= 1
        if plan.eager[node]:
            if flight.error is None:
                flights = [self._run_ahead(to, inputs) for to, inputs in self._arrivals.deliver(node, flight.outputs)]
            elif not self._writing and (not self._component or self._is_needed(node)):
                self._end(flight.error)  # its turn would come, and fail the run: nothing is gained by waiting for it
                return []
        while not self._over:
            self._deliver()
            issued = self._issue()
            flights.extend(issued)
            if not (self._window and self._window[0].done):
                break
        return flights

    def _run_ahead(self, node: int, inputs: Inputs) -> Flight:
        flight = self._ahead[node] = Flight(node, inputs)
        return flight

    def _issue(self) -> list[Flight]:
        """Take opportunities while that is safe; the flights to start."""
        plan, queues, fifo, window, senders = self._plan, self._queues, self._fifo, self._window, self._senders
        flights = []
        while fifo and not self._over:
            node = fifo[0]
            if senders[node] or (window and (not self._parallel or plan.effects[node] is Effect.WRITES)):
                break
            fifo.popleft()
            if not queues.ready(node) and node not in self._forced:
                continue  # the opportunity is lost, the values stay
            self._forced.discard(node)
            inputs = queues.take(node)
            self._firings += 1
            for target in plan.successors[node]:
                senders[target] += 1
            flight = self._ahead.pop(node, None)
            if self._firings > self._execution.run.max_firings:
                flight = self._refused(node)
            elif flight is None:
                flight = Flight(node, inputs)
                flights.append(flight)
                if plan.effects[node] is Effect.WRITES:
                    self._writing += 1
            window.append(flight)
        return flights

    def _deliver(self) -> None:
        plan, window = self._plan, self._window
        while window and window[0].done and not self._over:
            flight = window.popleft()
            node = flight.node
            if flight.error is not None:
                self._end(flight.error)
                return
            for target in plan.successors[node]:
                self._senders[target] -= 1
            self._last = flight
            if plan.is_output[node]:
                self._output(node, flight.outputs)
            self._fifo.extend(self._queues.deliver(node, flight.outputs))

    def _output(self, node: int, outputs: Outputs) -> None:
        if self._plan.bubbles[node] and self._execution.depth:
            self._execution.run.bubbled.append((self._execution.path(node), outputs))
            return
        self._outputs.append((self._plan.ids[node], outputs))
        self._over = self._component and not self._plan.bubbles[node]

    def _end(self, error: JackfieldError) -> None:
        self._over = True
        self._error = error

    def _is_needed(self, node: int) -> bool:
        """Whether no output can fire once `node` has failed: what hangs on it by its needs hangs, and so on."""
        plan = self._plan
        if not any(plan.is_output):
            return True
        possible = bytearray(len(plan.ids))
        stack = [entry for entry in plan.entries if entry != node]
        fed: list[set[str]] = [set() for _ in plan.ids]
        while stack:
            current = stack.pop()
            if possible[current]:
                continue
            possible[current] = 1
            for out, to, port, _ in plan.wires[current]:
                if to == node or possible[to]:
                    continue
                if out == "*":
                    fed[to].update(plan.needs[to])
                elif out:
                    fed[to].add(port)
                if plan.needs[to] <= fed[to]:
                    stack.append(to)
        return not any(is_output and possible[place] for place, is_output in enumerate(plan.is_output))

    def _refused(self, node: int) -> Flight:
        """A firing too many: an error that comes in its turn."""
        limit = self._execution.run.max_firings
        path = self._execution.path(node)
        flight = Flight(node, {})
        flight.done = True
        flight.error = JackfieldError(
            Code.BUDGET_EXCEEDED,
            f"The graph fired {limit:,} times and was still going, at node '{path}'.",
            "A loop must have a way to end; raise the limit of firings if it has.",
            {"node": path, "limit": limit},
        )
        return flight
