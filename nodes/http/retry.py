"""Sending with patience: statuses and faults that pass are tried again, at most twice, inside the deadline."""

from __future__ import annotations

import datetime as dt
import math
import random
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Final

import anyio

from ...graphs.errors import JackfieldError
from ..base import Context, Request, Response
from .ratelimit import Limiter

RETRIES: Final = 2
PASSING: Final = frozenset({429, 500, 502, 503, 504})
PATIENCE_S: Final = 30.0  # longest single wait that we take upon us; longer ones are the caller's to plan
_BASE_S: Final = 0.5


async def send(request: Request, context: Context, limiter: Limiter | None = None) -> Response:
    """The last answer, whatever its status. An error of egress that outlived its retries is no longer `transient`."""
    for attempt in range(RETRIES + 1):
        if limiter is not None:
            await limiter.turn()
        last = attempt == RETRIES
        try:
            response = await context.egress.send(request)
        except JackfieldError as error:
            if not error.transient:
                raise
            wait = backoff(attempt)
            if last or not _in_time(wait, context):
                raise replace(error, transient=False) from None
        else:
            if response.status not in PASSING or last:
                return response
            asked = retry_after(response.headers.get("retry-after"))
            wait = backoff(attempt) if asked is None else asked + random.uniform(0, 0.1)
            if not _in_time(wait, context):
                return response
        await anyio.sleep(wait)
    raise AssertionError("the last attempt returns or raises")


def backoff(attempt: int) -> float:
    """Full jitter: anything up to a bound that doubles, so that many callers do not come back together."""
    return random.uniform(0, _BASE_S * 2**attempt)


def retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or a date; None when it says nothing usable."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit() and len(value) <= 9:
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return max(0.0, (moment - dt.datetime.now(dt.UTC)).total_seconds())


def _in_time(wait: float, context: Context) -> bool:
    left = context.deadline - anyio.current_time() if context.deadline != math.inf else math.inf
    return wait <= PATIENCE_S and wait < left
