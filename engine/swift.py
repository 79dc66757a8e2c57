"""Running a simple plan, where order can not matter: nodes run when their inputs are there.

A task fires one ready node after another. Only when one really suspends is another task started to go on with the rest:
tasks cost more than most nodes, and what only computes needs none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Generator
from types import CoroutineType, coroutine
from typing import TYPE_CHECKING, Any

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
    """`ready` holds what may fire now, with its inputs; every task of the run takes from it."""

    __slots__ = ("_arrivals", "_errors", "_execution", "_free", "_group", "_last", "_outputs", "_ready")

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._arrivals = Arrivals(execution.plan)
        self._ready: deque[tuple[int, Inputs]] = deque([(entry, {}) for entry in execution.plan.entries])
        self._free = execution.run.max_concurrency - 1
        self._group: TaskGroup | None = None
        self._outputs: Fired = []
        self._last: tuple[int, int, Outputs] = (-1, -1, {})  # rank, node, outputs of the last in order to end a branch
        self._errors: list[tuple[int, JackfieldError]] = []

    async def run(self) -> Fired:
        plan = self._execution.plan
        if plan.linear:
            await self._work()
        else:
            async with anyio.create_task_group() as self._group:
                await self._work()
        if self._errors:
            raise min(self._errors, key=lambda found: found[0])[1]
        if not self._outputs:
            self._execution.stuck = self._arrivals.stuck()
            _, node, outputs = self._last
            if outputs:
                self._outputs.append((plan.ids[node], outputs))
        return self._outputs

    def _share(self) -> None:
        """A node suspends: another task goes on with the rest."""
        if self._ready and self._free > 0 and self._group is not None:
            self._free -= 1
            self._group.start_soon(self._work)

    async def _work(self) -> None:
        """Fire until nothing is ready. What a node costs is spent here, so all of it is in one loop."""
        execution, plan, ready, share = self._execution, self._execution.plan, self._ready, self._share
        steps, contexts, fired = plan.steps, execution.contexts, self._arrivals.fired
        enter, record = CURRENT.set, execution.run.trail.firings.append
        quiet = execution.run.trail.listener is None
        turn = FIRINGS_A_TURN
        node = -1
        try:
            while ready:
                node, inputs = ready.popleft()
                began = clock()
                while node >= 0:
                    fired[node] = 1
                    step = steps[node] if quiet else None
                    if step is None:
                        firing = execution.fire(node, inputs)
                        outputs = await (until_suspended(firing, share) if ready else firing)
                        node, inputs = self._next(node, outputs)
                        began = clock()
                    else:
                        fire, gives, link = step
                        context = contexts[node] = NodeContext(execution, node)
                        enter(context)
                        try:
                            computing = fire(inputs, context)
                            if ready and type(computing) is CoroutineType:
                                outputs = await until_suspended(computing, share)
                            else:
                                outputs = await computing
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
                        if link is not None and (value := outputs.get(link[0])) is not None:
                            _, node, port = link
                            inputs = {port: value}
                        else:
                            node, inputs = self._next(node, outputs)
                    turn -= 1
                    if not turn:
                        turn = FIRINGS_A_TURN
                        await anyio.lowlevel.checkpoint()
                        began = clock()
        except JackfieldError as error:
            self._errors.append((plan.ranks[node], error))
            ready.clear()
            if self._group is not None:
                self._group.cancel_scope.cancel()
        self._free += 1

    def _next(self, node: int, outputs: Outputs) -> tuple[int, Inputs]:
        """Hand the outputs on. The first node that is thereby ready, -1 if none; others go to `ready`."""
        plan = self._execution.plan
        if plan.is_output[node]:
            self._outputs.append((plan.ids[node], outputs))
        elif plan.ranks[node] > self._last[0]:
            self._last = (plan.ranks[node], node, outputs)
        able = self._arrivals.deliver(node, outputs)
        if not able:
            return -1, EMPTY
        self._ready.extend(able[1:])
        return able[0]


@coroutine
def until_suspended(
    firing: Coroutine[Any, Any, Outputs], suspended: Callable[[], None]
) -> Generator[Any, Any, Outputs]:
    """Await `firing`, and call `suspended` when it first gives up control. It stays in the task it began in."""
    try:
        waits_for = firing.send(None)
    except StopIteration as end:
        result: Outputs = end.value
        return result
    suspended()
    while True:
        try:
            sent = yield waits_for
        except GeneratorExit:
            firing.close()
            raise
        except BaseException as error:
            try:
                waits_for = firing.throw(error)
            except StopIteration as end:
                result = end.value
                return result
        else:
            try:
                waits_for = firing.send(sent)
            except StopIteration as end:
                result = end.value
                return result
