"""A run in a task of the engine's own: its caller waits for it, may cancel it, and is never kept waiting for ever."""

from __future__ import annotations

import math
import secrets

import anyio

from ..graphs.errors import Code, JackfieldError
from .execution import Execution
from .runs import Fired

UNWIND_S = 0.5  # what nodes get to stop when they are cancelled; then they are left to themselves


class Job:
    """One run. `drive` is its task; `result` is for its caller."""

    def __init__(self, execution: Execution, *, component: bool) -> None:
        self._execution = execution
        self._component = component
        self._over = anyio.Event()
        self._fired: Fired | None = None
        self._error: Exception | None = None

    async def drive(self) -> None:
        run = self._execution.run
        run.scope.deadline = run.deadline
        try:
            with run.scope:
                self._fired = await self._execution.perform(component=self._component)
        except Exception as error:
            self._error = error
        finally:
            try:
                self._close()
            finally:
                self._over.set()

    async def result(self) -> Fired:
        """What came out. Raises what ended the run; a caller that is cancelled ends it, and gives it time to unwind."""
        run = self._execution.run
        try:
            if run.deadline == math.inf:
                await self._over.wait()
            else:
                with anyio.CancelScope(deadline=run.deadline + UNWIND_S):
                    await self._over.wait()
        except anyio.get_cancelled_exc_class():
            run.scope.cancel()
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + UNWIND_S):
                await self._over.wait()
            raise
        if self._error is not None:
            raise self._with_unknown_writes(self._error)
        if self._fired is not None:
            return [*run.bubbled, *self._fired]
        if run.scope.cancelled_caught or not self._over.is_set():
            raise self._cut_off()
        raise JackfieldError(Code.CANCELLED, "The engine was closed while this run was going on.")

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
        """Streams that nobody read, then the session whose cursors they may hold."""
        run = self._execution.run
        for table in run.unread:
            table.cancel()
            table.close()
        session, run.session = run.session, None
        if session is not None:
            session.close()


def as_failure(error: Exception) -> JackfieldError:
    """The one error that a caller sees, out of whatever groups tasks wrapped it in."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, JackfieldError):
        return error
    name = secrets.token_hex(4)
    failure = JackfieldError(
        Code.INTERNAL_ERROR,
        f"The run failed by a bug: {type(error).__name__} [{name}].",
        "Please report it with this id; what it was is in the cause of this error.",
        {"id": name, "type": type(error).__name__},
    )
    failure.__cause__ = error
    return failure
