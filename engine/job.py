"""A run in a task of the engine's own: its caller waits for it, may cancel it, and is never kept waiting for ever."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress

import anyio

from ..graphs.errors import Code, JackfieldError
from .answer import Answer
from .execution import Execution
from .outcomes import as_failure
from .runs import Fired

UNWIND_S = 0.5  # what nodes get to stop when they are cancelled; then they are left to themselves


class Job:
    """One run. `drive` is its task; `result` is for its caller.

    With `streams` among what comes out the run goes on until they are read or closed, and `read` is told how that went.
    """

    def __init__(self, execution: Execution, *, component: bool, read: Callable[[JackfieldError | None], None]) -> None:
        self._execution = execution
        self._component = component
        self._read = read
        self._answer: Answer | None = None
        self._over = False
        self._waiter: asyncio.Future[None] | None = None
        self._abandoned = False
        self._fired: Fired | None = None
        self._error: Exception | None = None

    def abandon(self) -> None:
        """The engine is closed: end the run, if nothing ends it already."""
        scope = self._execution.run.scope
        self._abandoned = not scope.cancel_called
        scope.cancel()

    async def drive(self) -> None:
        run = self._execution.run
        run.scope.deadline = run.deadline
        try:
            with run.scope:
                self._fired = await self._execution.perform(component=self._component)
                if run.streams:
                    await self._hold_open(self._fired)
        except Exception as error:
            self._error = error
        finally:
            try:
                self._close()
            finally:
                self._end()
                self._execution.let_go()

    @property
    def is_read(self) -> bool:
        """Whether its caller reads what came out, so that it is not over with its result."""
        return self._answer is not None

    async def result(self) -> Fired:
        """What came out. Raises what ended the run; a caller that is cancelled ends it, and gives it time to unwind."""
        run = self._execution.run
        try:
            if run.deadline == math.inf:
                await self._wait()
            else:
                timer = asyncio.get_running_loop().call_at(run.deadline + UNWIND_S, self._wake)
                try:
                    await self._wait()
                finally:
                    timer.cancel()
        except anyio.get_cancelled_exc_class():
            run.scope.cancel()
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + UNWIND_S):
                await self._wait()
            raise
        if self._error is not None:
            raise self._with_unknown_writes(self._error)
        if self._fired is not None:
            return [*run.bubbled, *self._fired]
        raise self._cut_off()

    async def _wait(self) -> None:
        if not self._over:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _end(self) -> None:
        self._over = True
        self._wake()

    async def _hold_open(self, fired: Fired) -> None:
        """Until the answer is read or closed. What ends the run before that ends the reading."""
        answer = Answer(fired)
        if not answer.is_open:
            return
        self._answer, self._fired = answer, answer.fired
        self._end()
        try:
            await answer.ended()
        except anyio.get_cancelled_exc_class():
            answer.stop(self._cut_off())
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + UNWIND_S):
                await answer.ended()
            raise
        finally:
            with suppress(Exception):  # a listener's, which nobody is there to hear
                self._read(answer.error)

    def _with_unknown_writes(self, error: Exception) -> Exception:
        """The failure of one node may cut off another that was writing: then its caller must know of both."""
        unknown = self._execution.run.unknown_writes
        if not unknown:
            return error
        failure = as_failure(error)
        failure.details = {**failure.details, "outcome_unknown": list(unknown)}
        return failure

    def _cut_off(self) -> JackfieldError:
        run = self._execution.run
        if self._abandoned or (self._over and not run.scope.cancel_called):
            return JackfieldError(Code.CANCELLED, "The engine was closed while this run was going on.")
        if run.unknown_writes:
            node = run.unknown_writes[0]
            return JackfieldError(
                Code.OUTCOME_UNKNOWN,
                f"Time was up while node '{node}' was writing: it may or may not have happened.",
                "Look at the target before you repeat it, or repeat it with the same idempotency key.",
                {"node": node, "cause": Code.QUERY_TIMEOUT.value},
            )
        if run.last_word is not None:
            return run.last_word
        return JackfieldError(
            Code.QUERY_TIMEOUT,
            f"The run did not end within {run.timeout_s:g} s.",
            "Raise `timeout_s`, or ask for less.",
        )

    def _close(self) -> None:
        """Streams that nobody read, each before those that it reads; then the session whose cursors they may hold."""
        run = self._execution.run
        for table in run.unread:
            table.cancel()
        if self._answer is not None and self._answer.is_open:
            return  # a reader did not hear that it was ended: it will close what it reads when it does
        for table in reversed(run.unread):
            table.close()
        session, run.session = run.session, None
        if session is not None:
            session.close()
