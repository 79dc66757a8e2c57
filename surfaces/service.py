"""Service: connectors while they are served. Every call of an agent or of the API goes one way, `Service.call`.

It finds the tool in the offer of the moment, takes a slot of the connector, runs the call, writes its audit line, and
tells whoever observes. The files are followed: an edit is a new catalog, served whole from the next call on.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any, Protocol, Self

import anyio

from ..connectors.catalog import Catalog
from ..connectors.model import Connector, Runnable, Tool
from ..connectors.offer import Offer
from ..connectors.watch import Watcher
from ..graphs.errors import Code, JackfieldError
from ..nodes.base import Client
from ..nodes.blocking import crowd, in_thread
from .app import App
from .bulkheads import RETRY_AFTER_S, Bulkheads
from .faults import internal_error, not_found
from .lookup import workspace_paths
from .served import Answer, Caller, Listener, Observer, ServedCall, told

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

CURSOR = "cursor"


class Journal(Protocol):
    """Where each call is recorded. Raises AUDIT_UNAVAILABLE."""

    def require(self) -> None:
        """Before a call that changes something: raises when it could not be recorded."""

    def record(self, call: ServedCall) -> None: ...


class Service:
    """An async context: the app, its followed files and its journal while they are served."""

    def __init__(self, app: App, journal: Journal, *, observers: tuple[Observer, ...] = ()) -> None:
        self.app = app
        self.journal = journal
        self.observers = observers
        self.unrecorded = 0  # calls that were refused because they could not be recorded
        self.bulkheads = Bulkheads(app.settings["serve.calls"], app.settings["serve.waiting"])
        self._watcher = Watcher(app.paths, later=() if app.paths else workspace_paths(app.settings))
        self._followers: list[Callable[[Catalog], Awaitable[None]]] = []
        self._under_way: set[anyio.CancelScope] = set()
        self._stack = AsyncExitStack()
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self.app)
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._tasks.start_soon(self._watcher.run, self._adopt)
        return self

    async def __aexit__(self, *failure: Any) -> None:
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()
        await self._stack.aclose()

    @property
    def offer(self) -> Offer:
        return self.app.catalog.offer

    def follow(self, follower: Callable[[Catalog], Awaitable[None]]) -> None:
        """Call `follower` with each new catalog, after it is served."""
        self._followers.append(follower)

    def stop_calls(self) -> None:
        """End what is under way: each call is answered CANCELLED, or OUTCOME_UNKNOWN where it was writing."""
        for stopped in self._under_way:
            stopped.cancel()

    async def refresh(self) -> None:
        """Look at the files now: what was just written is served when this returns."""
        await in_thread(self._watcher.refresh)
        await self._adopt(self._watcher.catalog)  # also where the follower saw the change first, and is yet to adopt it

    async def _adopt(self, catalog: Catalog) -> None:
        if catalog is self.app.catalog:
            return
        self.app.adopt(catalog)
        for follower in self._followers:
            await follower(catalog)

    async def call(
        self,
        caller: Caller,
        name: str,
        arguments: Mapping[str, Any],
        *,
        listener: Listener | None = None,
        idempotency_key: str = "",
        whole: bool = False,
        fresh: bool = False,
        client: Client | None = None,
    ) -> Answer:
        """Call the offered tool `name`. `whole`: all rows in the result, and no JSON of them. `client` can be asked.

        Raises JackfieldError: TOOL_NOT_FOUND, OVERLOADED, AUDIT_UNAVAILABLE, and what `App.call` does.
        """
        call = ServedCall(caller, name, arguments, secrets.token_hex(8))
        offered = self.offer.tools.get(name)
        if offered is None:
            return await self.recorded(call, self._unknown(name))
        return await self.perform(
            call,
            offered.connector,
            offered.tool,
            listener=listener,
            idempotency_key=idempotency_key,
            whole=whole,
            fresh=fresh,
            client=client,
        )

    async def perform(
        self,
        call: ServedCall,
        owner: Connector,
        found: Runnable,
        *,
        listener: Listener | None = None,
        idempotency_key: str = "",
        whole: bool = False,
        fresh: bool = False,
        client: Client | None = None,
    ) -> Answer:
        """The served call of a tool, a skill or a resource that was found. Raises what `call` does."""
        call.connector, call.tool = owner.slug, found.id
        call.category = found.category
        call.sensitive = _sensitive(found)
        work = self._answer(call, owner, found, listener, idempotency_key, whole, fresh, client)
        return await self.recorded(call, work, writes=found.writes)

    async def recorded(self, call: ServedCall, work: Awaitable[Answer], *, writes: bool = False) -> Answer:
        """What `work` gives, with its audit line written before anybody is answered. Raises what `work` does."""
        for observer in self.observers:
            observer.call_began(call)
        stopped = anyio.CancelScope()
        self._under_way.add(stopped)
        try:
            with stopped:
                if writes:
                    self.journal.require()
                answer = await work
            if stopped.cancelled_caught:
                raise _ended_early(call, "This server was shut down")
        except JackfieldError as error:
            if error.code is Code.OVERLOADED:
                error.details = {"retry_after_s": RETRY_AFTER_S, **error.details}
            call.error = error
            self._end(call)
            raise
        except anyio.get_cancelled_exc_class():
            call.error = _ended_early(call, "The caller went away")
            with suppress(JackfieldError):  # nobody is there to be told that it was not recorded
                self._end(call)
            raise
        except Exception as bug:
            call.error = internal_error(bug, f"the call of {call.name}")
            self._end(call)
            raise call.error from bug
        finally:
            self._under_way.discard(stopped)
            if isinstance(work, Coroutine):
                work.close()  # where it was never begun
        if call.bytes is None:
            call.bytes = len(answer.text)
        self._end(call)
        return answer

    async def _unknown(self, name: str) -> Answer:
        raise not_found("tool", name, self.offer.tools)

    async def _answer(
        self,
        call: ServedCall,
        owner: Connector,
        found: Runnable,
        listener: Listener | None,
        idempotency_key: str,
        whole: bool,
        fresh: bool,
        client: Client | None,
    ) -> Answer:
        arguments = dict(call.arguments)
        cursor = None
        page = None
        if isinstance(found, Tool) and found.category == "READ" and not whole:
            page = found.result.page_size
            if pages(found) and CURSOR in arguments:
                cursor = arguments.pop(CURSOR)
        call.follow(listener)
        async with self.bulkheads.slot(owner.slug) as slot:
            with crowd(owner.slug):  # a sick upstream must not use up the threads of others
                result = await self.app.perform(
                    owner,
                    found,
                    arguments,
                    principal=call.caller.principal,
                    page=page,
                    cursor=None if cursor is None else str(cursor),
                    bounded=not whole,
                    fresh=fresh,
                    idempotency_key=idempotency_key,
                    trail=call.trail,
                    client=slot.lent(client),
                )
        if whole and (rows := result.rows) is not None:
            call.rows, call.bytes = rows.num_rows, rows.nbytes
            return Answer("", result)
        call.rows = result.row_count
        return Answer(result.as_text(), result)

    def _end(self, call: ServedCall) -> None:
        call.seconds = time.perf_counter() - call.began
        if call.trail is not None:
            call.cached, call.pushed = told(call.trail)
        for observer in self.observers:
            observer.call_ended(call)
        try:
            self.journal.record(call)
        except JackfieldError:
            self.unrecorded += 1
            raise


def _ended_early(call: ServedCall, why: str) -> JackfieldError:
    writing = [event.node for event in call.trail.told if event.kind == "outcome_unknown"] if call.trail else []
    if not writing:
        return JackfieldError(Code.CANCELLED, f"{why} before the call had ended.", "Call again.", transient=True)
    return JackfieldError(
        Code.OUTCOME_UNKNOWN,
        f"{why} while node '{writing[0]}' was writing: it may or may not have happened.",
        "Look at the target before you repeat it, or repeat it with the same idempotency key.",
        {"node": writing[0], "cause": Code.CANCELLED.value},
    )


def pages(tool: Tool) -> bool:
    """Whether an answer of this tool may go on at a cursor that the caller gives as an argument of that name."""
    return tool.category == "READ" and CURSOR not in (tool.input_schema.get("properties") or {})


def _sensitive(found: Runnable) -> frozenset[str]:
    properties: Mapping[str, Any] = found.input_schema.get("properties") or {}
    return frozenset(name for name, schema in properties.items() if schema.get("x-sensitive"))
