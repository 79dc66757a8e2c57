"""A write on a pooled connection: checked to be alive first, made once, and honest about what is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio

from ...graphs.errors import Code, JackfieldError
from ..base import Context, Lease
from ..blocking import in_thread
from .columns import TableChangedError
from .pull import Database, leased
from .session import ConnectionLostError, Session

T = TypeVar("T")


async def write_once(database: Database, context: Context, write: Callable[[Session], T], *, timeout_s: float) -> T:
    """What `write` gives, called in a worker thread, once.

    Raises OUTCOME_UNKNOWN when the connection broke, or time ran out, after it began; and what the session raises.
    """
    begun = answered = False

    def work(session: Session) -> T:
        nonlocal begun, answered
        session.check()
        begun = True
        try:
            result = write(session)
        except (ConnectionLostError, TableChangedError) as error:
            if isinstance(error, TableChangedError):
                answered = True  # the server refused it
                raise error.error from None
            raise unknown(database) from None
        except JackfieldError as error:
            answered = error.code is not Code.CANCELLED
            raise
        answered = True
        return result

    async def use(lease: Lease[Session]) -> T:
        return await in_thread(lambda: work(lease.value), cancel=lease.value.cancel)

    try:
        with anyio.fail_after(timeout_s):
            return await leased(database, context, use, timeout_s=float("inf"))
    except TimeoutError:
        if begun and not answered:
            raise unknown(database) from None
        raise JackfieldError(
            Code.SOURCE_TIMEOUT,
            f"The {database.dsn.place} gave no answer within {timeout_s:g} s; nothing was written.",
            "Try again, or raise `timeout_s`.",
            {"timeout_s": timeout_s},
        ) from None


def unknown(database: Database) -> JackfieldError:
    return JackfieldError(
        Code.OUTCOME_UNKNOWN,
        f"The connection to the {database.dsn.place} ended before it answered: the write may or may not have happened.",
        "Look whether it did before you write again.",
    )
