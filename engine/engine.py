"""Engine: runs graphs. It owns what runs share: plans, tables, connections, the way out, cached rows.

Each run is a task of the engine's own, so that a caller is never kept waiting by a node that does not stop.
"""

from __future__ import annotations

import asyncio
import math
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio.abc import TaskGroup

from ..graphs.errors import Code, JackfieldError
from ..graphs.model import Graph
from ..nodes import base
from ..nodes.base import Budget, Client, Inputs, NodeType
from .budget import CountedBudget
from .cache import TableCache
from .environment import Environment
from .events import Listener, Trail, clock
from .execution import Execution
from .job import Job
from .outcomes import as_failure
from .plan import Plan, compiled
from .pools import KeyedPools, PoolSettings
from .runs import InputProvider, Run, RunState, Session

if TYPE_CHECKING:
    from .dialer import DialPolicy
    from .egress import Egress, EgressSettings
    from .tables import Database, TableSettings


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of an engine. `egress` and `tables` are handed to those rooms; None is their default."""

    max_rows: int | None = 50_000_000
    max_bytes: int | None = 16 << 30
    max_concurrency: int | None = None
    max_firings: int = 100_000
    timeout_s: float | None = None
    backoff_s: float = 0.2
    plans: int = 256
    cache_bytes: int = 256 << 20
    pools: PoolSettings = field(default_factory=PoolSettings)
    egress: EgressSettings | None = None
    tables: TableSettings | None = None
    dial_policy: DialPolicy | None = None


class Engine:
    """An async context. `registry` is every kind of node that graphs may use."""

    def __init__(self, registry: Iterable[NodeType[Any]], settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.kinds = {kind.name: kind for kind in registry}
        self.cache = TableCache(self.settings.cache_bytes)
        self.pools = KeyedPools(self.settings.pools)
        self._jobs: dict[asyncio.Task[None], Job] = {}
        self._plans: OrderedDict[tuple[str, str], Plan] = OrderedDict()
        self._group: TaskGroup
        self._egress: Egress | None = None
        self._around_egress: Callable[[base.Egress], base.Egress] | None = None
        self._database: Database | None = None

    async def __aenter__(self) -> Self:
        self._group = await anyio.create_task_group().__aenter__()
        self._group.start_soon(self.pools.reap)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._group.cancel_scope.cancel()
        try:
            await self._group.__aexit__(None, None, None)
        finally:
            with anyio.CancelScope(shield=True):
                while self._jobs:
                    for job in self._jobs.values():
                        job.abandon()
                    await asyncio.wait(list(self._jobs))
                await self.pools.aclose()
                if self._egress is not None:
                    await self._egress.aclose()
                if self._database is not None:
                    self._database.close()

    async def run(
        self,
        graph: Graph,
        inputs: Inputs,
        *,
        environment: Environment | None = None,
        principal: str = "local",
        timeout_s: float | None = None,
        listener: Listener | None = None,
        max_concurrency: int | None = None,
        fresh: bool = False,
        reads_only: bool = False,
        idempotency_key: str = "",
        stream: bool = False,
        component: bool = True,
        max_firings: int | None = None,
        max_rows: int | None = None,
        max_bytes: int | None = None,
        start: str = "",
        input_provider: InputProvider | None = None,
        client: Client | None = None,
        trail: Trail | None = None,
    ) -> Run:
        """Run `graph`: as a component to its first output, else until nothing can fire.

        `trail` is where its events go, for one who wants those of a run that fails too; it names the run then.

        `listener` hears every event as it happens, also those of a run that fails. `input_provider` is asked for
        required inputs that are missing, and `client` what nodes ask. With `stream` a table that comes out may be a
        stream: the run, with its deadline, then goes on until that is read to its end or closed, or the engine is.

        With `reads_only` a node that writes is refused (ACCESS_DENIED), also in the tools that the graph calls.

        Raises JackfieldError: a node's own, QUERY_TIMEOUT when `timeout_s` is over, OUTCOME_UNKNOWN when that cut off a
        node that writes, BUDGET_EXCEEDED, CONFIG_INVALID, INTERNAL_ERROR. Reading a stream raises the same.
        """
        settings = self.settings
        timeout_s = settings.timeout_s if timeout_s is None else timeout_s
        now = asyncio.get_running_loop().time()
        run = RunState(
            id=(trail.run if trail is not None else "") or secrets.token_hex(8),
            services=self,
            trail=(trail := trail or Trail("", listener)),
            budget=CountedBudget(max_rows or settings.max_rows, max_bytes or settings.max_bytes),
            principal=principal,
            idempotency_key=idempotency_key,
            fresh=fresh,
            reads_only=reads_only,
            max_concurrency=max_concurrency or settings.max_concurrency or math.inf,
            max_firings=max_firings or settings.max_firings,
            streams=stream,
            timeout_s=math.inf if timeout_s is None else timeout_s,
            deadline=math.inf if timeout_s is None else now + timeout_s,
            backoff_s=settings.backoff_s,
            input_provider=input_provider,
            client=client,
        )
        trail.run = run.id
        began = clock()
        try:
            trail.tell("", "run_started", {"principal": principal}, at=began)
            execution = Execution(run, self.plan(graph, start), environment or Environment(), inputs)
            job = Job(execution, component=component, read=lambda error: _tell_end(trail, began, error))
            # No task of the group: that costs three times as much, and what ends a job is its own scope in any case.
            task = asyncio.create_task(job.drive(), name="jackfield-run")
            self._jobs[task] = job
            task.add_done_callback(self._jobs.pop)
            outputs = await job.result()
        except anyio.get_cancelled_exc_class():
            _tell_failure(trail, {"code": Code.CANCELLED.value})
            raise
        except Exception as error:
            failure = as_failure(error)
            _tell_failure(trail, failure.as_json())
            raise failure from failure.__cause__
        if not job.is_read:
            _tell_end(trail, began, None)
        return Run(run.id, graph, tuple(outputs), execution.stuck, clock() - began, trail)

    def plan(self, graph: Graph, start: str = "") -> Plan:
        """The compiled graph, kept by its hash. Raises CONFIG_INVALID."""
        key = (graph.hash, start)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = compiled(graph, self.kinds, start)
            if len(self._plans) > self.settings.plans:
                self._plans.popitem(last=False)
        else:
            self._plans.move_to_end(key)
        return plan

    @property
    def egress(self) -> base.Egress:
        if self._egress is None:
            from .egress import Egress

            self._egress = Egress(self.settings.egress, self.settings.dial_policy)
        return self._egress if self._around_egress is None else self._around_egress(self._egress)

    def send_through(self, around: Callable[[base.Egress], base.Egress]) -> None:
        """From now on nodes send their requests by what `around` makes of the way out."""
        self._around_egress = around

    def open_tables(self, budget: Budget, deadline: float) -> Session:
        if self._database is None:
            from .tables import Database

            self._database = Database(self.settings.tables)
        return self._database.session(budget, deadline)


def _tell_end(trail: Trail, began: float, error: JackfieldError | None) -> None:
    ended = clock()
    if error is None:
        trail.tell("", "run_finished", {"seconds": ended - began}, at=ended)
    else:
        _tell_failure(trail, error.as_json())


def _tell_failure(trail: Trail, facts: dict[str, Any]) -> None:
    """A listener that fails here would hide the failure it is told of."""
    with suppress(Exception):
        trail.tell("", "run_failed", facts)
