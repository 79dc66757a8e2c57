"""Running a simple plan, where order can not matter: nodes run when their inputs are there.

A finished node hands its values on, goes on with the first node that is ready, and starts a task for each other one.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from ..graphs.errors import JackfieldError
from ..graphs.model import EMPTY
from ..nodes.base import Inputs, Outputs
from .context import CURRENT, NodeContext
from .events import clock
from .firing import Arrivals
from .outcomes import recovered, settled, still_cancelled
from .runs import FIRINGS_A_TURN, Fired

if TYPE_CHECKING:
    from .execution import Execution


class Swift:
    """A simple plan: nodes run when their inputs are there, the first that is ready in the same task."""

    __slots__ = ("_arrivals", "_backlog", "_errors", "_execution", "_free", "_group", "_last", "_outputs")

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._arrivals = Arrivals(execution.plan)
        self._free = execution.run.max_concurrency
        self._backlog: deque[tuple[int, Inputs]] = deque()
        self._group: TaskGroup | None = None
        self._outputs: Fired = []
        self._last: tuple[int, int, Outputs] = (-1, -1, {})  # rank, node, outputs of the last in order to end a branch
        self._errors: list[tuple[int, JackfieldError]] = []

    async def run(self) -> Fired:
        plan = self._execution.plan
        self._free -= 1
        if plan.linear:
            await self._drive(plan.entries[0], {})
        else:
            async with anyio.create_task_group() as self._group:
                for entry in plan.entries[1:]:
                    self._start(entry, {})
                await self._drive(plan.entries[0], {})
        if self._errors:
            raise min(self._errors, key=lambda found: found[0])[1]
        if not self._outputs:
            self._execution.stuck = self._arrivals.stuck()
            _, node, outputs = self._last
            if outputs:
                self._outputs.append((plan.ids[node], outputs))
        return self._outputs

    def _start(self, node: int, inputs: Inputs) -> None:
        if self._free > 0:
            assert self._group is not None
            self._free -= 1
            self._group.start_soon(self._drive, node, inputs)
        else:
            self._backlog.append((node, inputs))

    async def _drive(self, node: int, inputs: Inputs) -> None:
        try:
            await self._fire_on(node, inputs)
        except JackfieldError as error:
            self._errors.append((self._execution.plan.ranks[node], error))
            if self._group is not None:
                self._group.cancel_scope.cancel()

    async def _fire_on(self, node: int, inputs: Inputs) -> None:
        """Fire, and go on with what that makes ready. What a node costs is spent here, so all of it is in one loop."""
        execution, plan, arrivals = self._execution, self._execution.plan, self._arrivals
        steps, contexts, fired = plan.steps, execution.contexts, arrivals.fired
        enter, record = CURRENT.set, execution.run.trail.firings.append
        quiet = execution.run.trail.listener is None
        turn = FIRINGS_A_TURN
        began = clock()
        while True:
            fired[node] = 1
            step = steps[node] if quiet else None
            if step is None:
                outputs = await execution.fire(node, inputs)
            else:
                fire, gives, link = step
                context = contexts[node] = NodeContext(execution, node)
                enter(context)
                try:
                    outputs = await fire(inputs, context)
                    if type(outputs) is not dict or outputs.keys() != gives:
                        outputs = settled(execution, node, inputs, outputs)
                except Exception as error:
                    outputs = await recovered(execution, node, inputs, context, error)
                except anyio.get_cancelled_exc_class() as error:
                    await still_cancelled(context, error)
                    raise
                ended = clock()
                record((began, ended, execution, node, EMPTY))
                began = ended
            turn -= 1
            if not turn:
                turn = FIRINGS_A_TURN
                await anyio.lowlevel.checkpoint()
                began = clock()
            if step is not None and link is not None:
                out, to, port = link
                value = outputs.get(out)
                if value is not None:
                    node, inputs = to, {port: value}
                    continue
            if plan.is_output[node]:
                self._outputs.append((plan.ids[node], outputs))
            elif plan.ranks[node] > self._last[0]:
                self._last = (plan.ranks[node], node, outputs)
            ready = arrivals.deliver(node, outputs)
            for other in ready[1:]:
                self._start(*other)
            if ready:
                node, inputs = ready[0]
            elif self._backlog:
                node, inputs = self._backlog.popleft()
            else:
                self._free += 1
                return
            began = clock()
