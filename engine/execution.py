"""Execution: one graph while it runs, as the run's own graph or nested in another; and the firing of one node of it."""

from __future__ import annotations

import anyio
import anyio.lowlevel

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Graph
from ..nodes.base import Effect, Inputs, Outputs
from ..nodes.table import Table
from .context import CURRENT, NodeContext
from .environment import Environment
from .events import clock
from .firing import Stuck
from .idempotency import scoped
from .outcomes import guarded, recovered, settled, still_cancelled
from .plan import Plan
from .runs import DEEPEST, MOST_OPEN, Fired, RunState
from .scheduler import Ordered
from .swift import Swift


class Execution:
    """One graph while it runs: the run's own, or a sub-graph, which then has a `parent` or a depth."""

    __slots__ = ("contexts", "depth", "environment", "inputs", "parent", "plan", "prefix", "run", "stuck")

    def __init__(
        self,
        run: RunState,
        plan: Plan,
        environment: Environment,
        inputs: Inputs,
        prefix: str = "",
        parent: Execution | None = None,
        depth: int = 0,
    ) -> None:
        bound = plan.graph.rest.get("args")
        self.run = run
        self.plan = plan
        self.environment = environment
        self.inputs: Inputs = {**inputs, **bound} if isinstance(bound, dict) else inputs
        self.prefix = prefix
        self.parent = parent
        self.depth = depth
        self.contexts: list[NodeContext | None] = [None] * len(plan.ids)
        self.stuck: tuple[Stuck, ...] = ()

    @property
    def idempotency_key(self) -> str:
        """The run's; within a nested graph one of its own, so that two calls of one tool are two writes."""
        key = self.run.idempotency_key
        return scoped(key, self.prefix, self.inputs) if key and self.depth else key

    def path(self, place: int) -> str:
        return self.prefix + self.plan.ids[place]

    def let_go(self) -> None:
        """Drop what came in. Timers that were cancelled hold this for as long as they were set, by their context."""
        self.inputs = {}

    async def perform(self, *, component: bool) -> Fired:
        """Run to the first output (component), or until nothing can fire. Raises JackfieldError."""
        if self.plan.simple and self.run.max_concurrency > 1:
            return await Swift(self).run()
        return await Ordered(self, component).run()

    async def nested(
        self, path: str, graph: Graph, inputs: Inputs, environment: Environment, *, own: bool = True
    ) -> Outputs:
        """Run another graph as a component. `own`: it is part of this graph, and may fall back on its inputs."""
        await anyio.lowlevel.checkpoint_if_cancelled()
        if self.depth >= DEEPEST:
            raise _endless(f"Graphs call one another more than {DEEPEST} deep, at node '{path[-200:]}'.")
        if self.run.open_graphs >= MOST_OPEN:
            raise _endless(f"More than {MOST_OPEN:,} graphs run at once within one run, at node '{path[-200:]}'.")
        plan = self.run.services.plan(graph)
        parent = self if own else None
        child = Execution(self.run, plan, environment, inputs, path + "/", parent, self.depth + 1)
        token = CURRENT.set(CURRENT.get())
        self.run.open_graphs += 1
        try:
            outputs = await child.perform(component=True)
        finally:
            self.run.open_graphs -= 1
            CURRENT.reset(token)
            child.let_go()
        return outputs[0][1] if outputs else {}

    async def fire(self, place: int, inputs: Inputs) -> Outputs:
        """Fire one node: its context, arguments, retries and checks, and the events of it. Raises JackfieldError."""
        plan = self.plan
        context = self.contexts[place]
        if context is None:
            context = self.contexts[place] = NodeContext(self, place)
        CURRENT.set(context)
        trail = self.run.trail
        began = clock()
        if trail.listener is not None:
            trail.tell(context.node, "started", at=began)
        try:
            if plan.is_input[place]:
                inputs = await self._arguments(place, inputs)
            if plan.kinds[place].effect is Effect.WRITES:
                outputs = await guarded(self, place, inputs, context)
            else:
                outputs = await plan.fires[place](inputs, context)
            if type(outputs) is not dict or outputs.keys() != plan.gives[place]:
                outputs = settled(self, place, inputs, outputs)
        except Exception as error:
            outputs = await recovered(self, place, inputs, context, error)
        except anyio.get_cancelled_exc_class() as error:
            await still_cancelled(context, error)
            raise
        facts = self._sizes(outputs) if plan.tabular[place] else {}
        trail.fired(began, self, place, facts)
        return outputs

    async def _arguments(self, place: int, wired: Inputs) -> Inputs:
        """What an input node fires with: the run's inputs. Required ones that are missing are asked of the callers."""
        given = {**wired, **self.inputs}
        schema = self.plan.nodes[place].configuration.get("schema")
        if not isinstance(schema, dict):
            return given
        properties = schema.get("properties") or {}
        missing = [
            name
            for name in schema.get("required") or ()
            if given.get(name) is None and "default" not in (properties.get(name) or {})
        ]
        outer = self.parent
        while missing and outer is not None:
            given.update({name: outer.inputs[name] for name in missing if name in outer.inputs})
            missing = [name for name in missing if name not in given]
            outer = outer.parent
        if missing and self.run.input_provider is not None:
            given.update(await self.run.input_provider(self.path(place), schema, tuple(missing)))
        return given

    def _sizes(self, outputs: Outputs) -> dict[str, dict[str, int | None]]:
        """Rows of the tables among the outputs, as facts. Streams are remembered, to be closed if nobody reads them."""
        rows = {}
        for port, value in outputs.items():
            if isinstance(value, Table):
                rows[port] = value.num_rows
                if value.is_stream:
                    self.run.unread.append(value)
        return {"rows": rows} if rows else {}


def _endless(message: str) -> JackfieldError:
    return JackfieldError(Code.BUDGET_EXCEEDED, message, "A graph that calls itself must have a way to end.")
